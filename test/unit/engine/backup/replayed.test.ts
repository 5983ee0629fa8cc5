/** Records that a backup has copied are replayed, each once, from the parts of the point. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../../../../engine/backup/pace.ts';
import { POINT_VERSION, type Point, pointName } from '../../../../engine/backup/point.ts';
import { replayed } from '../../../../engine/backup/replayed.ts';
import { JournalBackup } from '../../../../engine/backup/segments.ts';
import { BackupStore } from '../../../../engine/backup/store.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';

const pace = (): Pace => new Pace({ bytesPerSecond: Infinity, onProgress: () => {} });
let points = 0;

function backUp(store: BackupStore, { file }: JournaledShard): { point: Point; before: Point | null } {
  const before = store.newest();
  const journal = new JournalBackup(file, store, pace(), before?.journals[0] ?? null);
  journal.take();
  const takenMs = ++points * 1000;
  const empty = { wasRunning: true, shards: 1, leftOut: [], files: [] };
  const point = { version: POINT_VERSION, name: pointName(takenMs), takenMs, ...empty, journals: [journal.done()] };
  store.addPoint(point);
  return { point, before };
}

test('the first point is replayed whole, and a later one from the snapshot before its first new record', (t) => {
  const shard = new JournaledShard(3, 4);
  const store = BackupStore.open(temporaryDirectory());
  t.after(() => store.close());
  shard.trade(200);
  const first = shard.last;
  assert.equal(replayed(store, backUp(store, shard), shard.file), `shard 0: records 1 to ${first} are replayed`);
  const { sequence } = shard.snapshot();
  shard.trade(100);
  shard.snapshot();
  const said = `shard 0: records ${sequence + 1} to ${shard.last} are replayed`;
  assert.equal(replayed(store, backUp(store, shard), shard.file), said);
  assert.equal(replayed(store, backUp(store, shard), shard.file), 'shard 0: no new records');
});

test('a trimmed journal is replayed from its oldest snapshot on', (t) => {
  const shard = new JournaledShard(4, 1);
  const store = BackupStore.open(temporaryDirectory());
  t.after(() => store.close());
  shard.trade(200);
  const { sequence } = shard.snapshot();
  shard.trade(50);
  shard.trim(sequence - 20);
  const said = `shard 0: records ${sequence + 1} to ${shard.last} are replayed`;
  assert.equal(replayed(store, backUp(store, shard), shard.file), said);
});

test('a record that gives other events than stand beside it fails the backup, with its number', (t) => {
  const shard = new JournaledShard();
  const store = BackupStore.open(temporaryDirectory());
  t.after(() => store.close());
  shard.trade(50);
  shard.rig.fund(1, 1_000_000);
  const { events } = shard.rig.journal.rows.at(-1)!;
  events.words[events.end - 1]! ^= 1;
  shard.commit();
  const made = backUp(store, shard);
  const message = new RegExp(
    `^point ${made.point.name} is kept, but shard 0: record ${shard.last}: the replay gives other`,
  );
  assert.throws(() => replayed(store, made, shard.file), { name: 'BackupError', message });
});
