/** Snapshot files: a file with its final name is durable, and a failed write leaves nothing. */
import assert from 'node:assert/strict';
import fs, { readdirSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { JournalHead } from '../../../../engine/journal/row.ts';
import { listSnapshots, loadSnapshot, saveSnapshot } from '../../../../engine/snapshot/snapshot.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { engineWith, MemoryJournal } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { watchFiles } from '../../../support/watchFiles.ts';

const SHARD = 2;
const NOW_MS = 1_800_000_000_000;

function save(directory: string, sequence = 7): ReturnType<typeof saveSnapshot> {
  const rig = new EngineRig();
  rig.market(0);
  rig.fund(1, 1_000_000);
  const content = { state: rig.engine.state, nowMs: NOW_MS, head: new JournalHead(sequence, 1, 2) };
  return saveSnapshot(directory, SHARD, content, TEST_KEY);
}

test('a snapshot is synced before it gets its name, and its name before journals may be trimmed', (t) => {
  const directory = temporaryDirectory();
  const calls = watchFiles(t);
  const { path } = save(directory);
  assert.deepEqual(calls, [`sync ${path}.part`, `rename ${path}.part ${path}`, `sync ${directory}`]);
});

test('a snapshot that cannot be written leaves neither a file nor a part of one', (t) => {
  const directory = temporaryDirectory();
  t.mock.method(fs, 'fsyncSync', () => {
    throw new Error('no space left');
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.throws(() => save(directory), /no space left/);
  assert.deepEqual(readdirSync(directory), []);
});

test('the snapshots of a shard are listed newest first, without parts and those of other shards', () => {
  const directory = temporaryDirectory();
  for (const sequence of [9, 10, 100]) save(directory, sequence);
  for (const name of [`snapshot-${SHARD}-50.bin.part`, 'snapshot-1-60.bin', `snapshot-${SHARD}-x.bin`]) {
    fs.writeFileSync(join(directory, name), '');
  }
  assert.deepEqual(
    listSnapshots(directory, SHARD).map(({ sequence }) => sequence),
    [100, 10, 9],
  );
});

test("reading back gives the saved position and state, and never another shard's", () => {
  const directory = temporaryDirectory();
  const file = save(directory);
  const engine = engineWith(new MemoryJournal());
  const { head, nowMs } = loadSnapshot(file, SHARD, engine.state, TEST_KEY);
  assert.deepEqual([head.sequence, head.chainLow, head.chainHigh, nowMs], [7, 1, 2, NOW_MS]);
  assert.equal(engine.state.ledger.netMicro[1], 1_000_000);
  assert.throws(
    () => loadSnapshot(file, SHARD + 1, engineWith(new MemoryJournal()).state, TEST_KEY),
    /of another shard/,
  );
});

test('a state that differs from the digest of its snapshot in one lane alone is refused (SNAPSHOT-2)', (t) => {
  for (const lane of [0, 1]) {
    const rig = new EngineRig();
    rig.market(0);
    const { state } = rig.engine;
    const written = state.writeDigest.bind(state);
    t.mock.method(state, 'writeDigest', (into: Uint32Array, word: number) => {
      written(into, word);
      into[word + lane] ^= 1;
    });
    const content = { state, nowMs: NOW_MS, head: new JournalHead(7, 1, 2) };
    const file = saveSnapshot(temporaryDirectory(), SHARD, content, TEST_KEY);
    const fresh = engineWith(new MemoryJournal()).state;
    assert.throws(() => loadSnapshot(file, SHARD, fresh, TEST_KEY), /digest mismatch/, `lane ${lane}`);
  }
});
