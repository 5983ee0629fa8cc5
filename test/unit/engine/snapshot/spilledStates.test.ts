/** All that read a data directory know the runs of hashes: verify, adopt, backups, copies for joining members. */
import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { adopt } from '../../../../engine/admin/adopt.ts';
import { listShards } from '../../../../engine/admin/directory.ts';
import { inspectShard } from '../../../../engine/admin/inspect.ts';
import { isSound } from '../../../../engine/admin/verify.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { recover } from '../../../../engine/shard/recovery.ts';
import { RunAdoption } from '../../../../engine/snapshot/adoption.ts';
import { snapshotFiles } from '../../../../engine/snapshot/filesOf.ts';
import { engineWith } from '../../../support/engine.ts';
import { flipByte, JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const RUN_PAGE = 4096;

/** A shard of which all but the last orders are in runs, and the hashes of all. */
function spilled(): { shard: JournaledShard; accepted: Uint32Array[] } {
  const shard = new JournaledShard();
  shard.trade(40);
  shard.snapshot(true);
  shard.trade(10);
  return { shard, accepted: acceptedOf(shard) };
}

function acceptedOf({ rig }: JournaledShard): Uint32Array[] {
  const accepted: Uint32Array[] = [];
  rig.engine.state.hashes.visit((words, word) => accepted.push(words.slice(word, word + 4)));
  return accepted;
}

function runsIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.run'));
}

test('verify reads every run, and names the one with a flipped bit', () => {
  const { shard } = spilled();
  shard.close();
  assert.ok(isSound(inspectShard(shard.file)));
  const { directory } = shard.file;
  const [run] = runsIn(directory);
  flipByte(join(directory, run!), RUN_PAGE + 20);
  const { snapshots } = inspectShard(shard.file);
  assert.match(snapshots[0]!.damage!, new RegExp(`^snapshot .*${run}: page 1 is damaged`));
});

test('adopt seals the runs under the new key, and removes those under the old one', async () => {
  const { shard, accepted } = spilled();
  shard.trim(shard.snapshots[0]!.sequence);
  shard.close();
  const { directory } = shard.file;
  const before = runsIn(directory);
  rmSync(join(directory, 'journal.key'));
  const { files } = await adopt(directory);
  const after = runsIn(directory);
  assert.equal(after.length, before.length);
  assert.deepEqual(
    after.filter((name) => before.includes(name)),
    [],
  );
  const [file] = await listShards(directory);
  assert.ok(isSound(inspectShard(file!)), 'verified under the new key');
  const journal = Journal.open({ ...files[0]!, journalSync: 'normal' });
  const { engine } = recover(journal, directory, 0, () => engineWith(journal));
  for (const hash of accepted) assert.ok(engine.state.hashes.has(hash, 0));
  engine.state.hashes.spilled.close();
  journal.close();
});

test('who copies snapshots gets the names of their runs, those first', () => {
  const { shard } = spilled();
  shard.snapshot(true);
  shard.close();
  const { directory } = shard.file;
  const files = snapshotFiles(directory, 0);
  assert.equal(files.length, 2);
  for (const { names, path } of files) assert.equal(join(directory, names.at(-1)!), path);
  const runs = files.flatMap(({ names }) => names.slice(0, -1));
  assert.deepEqual(runs.sort(), runsIn(directory).sort());
  flipByte(files[0]!.path, 10);
  assert.deepEqual(
    snapshotFiles(directory, 0).map(({ names }) => names.length > 1),
    [false, true],
    'a damaged one is copied alone',
  );
});

test('a shard gives up memory for runs that have all of it, and for no others', () => {
  const shard = new JournaledShard();
  const { hashes } = shard.rig.engine.state;
  const { directory } = shard.file;
  const adoption = new RunAdoption({ directory, shard: 0, key: TEST_KEY, hashes, most: 5 });
  let nowMs = 0;
  const step = (): boolean => {
    nowMs += 1000;
    adoption.step(shard.last, nowMs);
    return hashes.isWaiting;
  };
  shard.trade(30);
  shard.snapshot(true);
  shard.trade(10);
  const accepted = acceptedOf(shard);
  const everyOne = (): void => {
    for (const hash of accepted) assert.ok(hashes.has(hash, 0));
    assert.equal(hashes.has(new Uint32Array([9, 9, 9, 9]), 0), false);
  };
  assert.ok(step() && step(), 'the snapshot is older than what waits');
  shard.trade(1);
  shard.snapshot();
  assert.ok(step() && step(), 'a snapshot without runs has nothing to take over');
  everyOne();
  shard.trade(1);
  shard.snapshot(true);
  const gone = runsIn(directory).map((name) => join(directory, name));
  for (let tries = 0; step(); tries++) assert.ok(tries < 5);
  assert.ok(hashes.size < accepted.length);
  for (const path of gone) rmSync(path);
  everyOne();
  adoption.close();
  shard.close();
});
