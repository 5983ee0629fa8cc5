/** The thread that makes snapshots: when it makes the next one. */
import assert from 'node:assert/strict';
import { truncateSync } from 'node:fs';
import { test } from 'node:test';
import { SnapshotMaker } from '../../../../engine/snapshot/maker.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const EVERY_RECORDS = 10;

/** A thread as an exchange starts it: it knows what is in the directory. */
function startMaker({ file }: JournaledShard, progress: SharedArrayBuffer): SnapshotMaker {
  return new SnapshotMaker(
    {
      keys: [TEST_KEY],
      journalPaths: [file.journalPath],
      directory: file.directory,
      progress,
      everyRecords: EVERY_RECORDS,
      keepRecords: 1_000_000,
      hashesInMemory: 1_000_000,
    },
    () => undefined,
  );
}

test('behind a snapshot of 6 MB the next one is due after three times as many records, also after a start', () => {
  const shard = new JournaledShard();
  const progress = Progress.create(1);
  const makeDue = (maker: SnapshotMaker): void => {
    new Progress(progress).setCommitted(0, shard.last);
    maker.makeDue(false);
  };
  makeDue(startMaker(shard, progress));
  const [first] = shard.snapshots;
  assert.equal(first?.sequence, shard.last);
  truncateSync(first.path, 6_000_000);
  const maker = startMaker(shard, progress);
  while (shard.snapshots.length === 1) {
    shard.trade(1);
    makeDue(maker);
  }
  const [second] = shard.snapshots;
  const records = second!.sequence - first.sequence;
  assert.ok(records >= 3 * EVERY_RECORDS && records < 4 * EVERY_RECORDS, `${records} records`);
  assert.equal(second!.sequence, shard.last, 'it is made as soon as it is due');
  shard.close();
});
