/** The sync of a commit: in the thread of the shard, or in another one while the shard does something beside it. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HELPER, HelperCell } from '../../../../engine/journal/helperCell.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { syncerFor } from '../../../../engine/journal/syncer.ts';
import type { Beside } from '../../../../engine/journal/walSync.ts';
import type { JournalSync } from '../../../../shared/wire/threads.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const folder = temporaryDirectory();
let files = 0;

class Writer {
  readonly path = join(folder, `journal-${files++}.db`);
  readonly journal: Journal;

  constructor(t: TestContext, journalSync: JournalSync = 'full') {
    this.journal = Journal.open({ journalPath: this.path, journalSync, shard: 0, shards: 1, key: TEST_KEY });
    t.after(() => this.journal.close());
  }

  /** The first commit, which measures the disk, is made. @param leastMs 0: it is slow enough, however fast it is. */
  syncsBy(cell: HelperCell, leastMs = 0): void {
    this.journal.syncsBy(cell, leastMs);
    this.commit();
  }

  commit(beside?: Beside): void {
    const row = new JournalRecord();
    row.sequence = this.journal.lastSequence + 1;
    row.timeMs = 1;
    row.command.set(new Uint32Array([8, 8]), 0, 8);
    this.journal.append(row);
    this.journal.commit(beside);
  }
}

test('a commit with something beside it returns when the syncer is done, and not before (WALSYNC-1)', (t) => {
  const writer = new Writer(t);
  const cell = new HelperCell();
  writer.syncsBy(cell);
  let calls = 0;
  writer.commit(() => {
    assert.equal(cell.state, HELPER.DUE);
    if (++calls === 3) cell.finish(false);
    return true;
  });
  assert.deepEqual([calls, cell.state, writer.journal.heldSequence], [3, HELPER.IDLE, 2]);
});

test('a commit with nothing beside it asks no other thread', (t) => {
  const writer = new Writer(t);
  const cell = new HelperCell();
  writer.syncsBy(cell);
  writer.commit();
  assert.equal(cell.state, HELPER.IDLE);
});

test('on a disk that is faster than waking a thread every sync is made at once', (t) => {
  const writer = new Writer(t);
  const cell = new HelperCell();
  writer.syncsBy(cell, Number.POSITIVE_INFINITY);
  writer.commit(() => assert.fail('the sync is over before that'));
  assert.equal(cell.state, HELPER.IDLE);
});

test('of 65 commits with something beside them one is synced at once, to see how long that takes', (t) => {
  const writer = new Writer(t);
  const cell = new HelperCell();
  writer.syncsBy(cell);
  const beside = new Set<number>();
  for (let commit = 0; commit < 130; commit++) {
    writer.commit(() => {
      beside.add(commit);
      cell.finish(false);
      return true;
    });
  }
  assert.deepEqual([beside.size, beside.has(64), beside.has(129)], [128, false, false]);
});

test('without syncs nothing is done beside a commit', (t) => {
  const writer = new Writer(t, 'normal');
  const cell = new HelperCell();
  writer.syncsBy(cell);
  writer.commit(() => assert.fail('there is no sync'));
  assert.equal(cell.state, HELPER.IDLE);
});

test('a syncer that never answers is left alone, and commits are synced without it', (t) => {
  const writer = new Writer(t);
  const cell = new HelperCell();
  writer.syncsBy(cell);
  const sync = t.mock.method(fs, 'fdatasyncSync');
  syncBuiltinESMExports();
  t.after(() => {
    sync.mock.restore();
    syncBuiltinESMExports();
  });
  writer.commit(() => false);
  writer.commit(() => assert.fail('the syncer is still at the first request'));
  assert.deepEqual([cell.state, writer.journal.heldSequence], [HELPER.DUE, 3]);
  assert.equal(sync.mock.callCount(), 2);
});

test('after a failed sync the journal refuses everything (JOURNAL-3)', (t) => {
  const writer = new Writer(t);
  const cell = new HelperCell();
  writer.syncsBy(cell);
  const fails = (): boolean => {
    cell.fail('EIO: i/o error, fdatasync');
    return true;
  };
  assert.throws(() => writer.commit(fails), /its sync failed: EIO: i\/o error/);
  assert.throws(() => writer.journal.commit(), /JOURNAL-3/);
});

test('a failure that the syncer found after the commit had returned ends the next one', (t) => {
  const writer = new Writer(t);
  const cell = new HelperCell();
  writer.syncsBy(cell);
  writer.commit(() => false);
  cell.fail('EIO: i/o error, fdatasync');
  assert.throws(() => writer.commit(), /its sync failed/);
});

test('the first request starts the syncer and does not wait for it; the next ones are answered', async (t) => {
  const writer = new Writer(t);
  const syncer = syncerFor(writer.path);
  t.after(() => syncer.end());
  writer.syncsBy(syncer.cell);
  writer.commit(() => assert.fail('its thread is only starting'));
  await eventually('the syncer runs', async () => syncer.cell.state === HELPER.IDLE);
  let calls = 0;
  for (let commit = 0; commit < 20; commit++) writer.commit(() => ++calls > 0);
  assert.equal(syncer.cell.state, HELPER.IDLE);
  assert.ok(calls >= 20, `${calls} calls`);
});
