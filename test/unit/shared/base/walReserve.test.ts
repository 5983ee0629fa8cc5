/** Room in a write-ahead log: taken ahead of time, used by commits on a full disk, and never seen by a reader. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { WalReserve } from '../../../../shared/base/walReserve.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import type { Scope } from '../../../support/server.ts';
import { SmallDisk } from '../../../support/smallDisk.ts';

const MB = 1 << 20;
const ROW = Buffer.alloc(300, 1);

function open(t: Scope, path: string, isExclusive = false) {
  const db = new Database(path);
  t.after(() => void db.close());
  if (isExclusive) db.pragma('locking_mode = EXCLUSIVE');
  db.pragma('journal_mode = WAL');
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, bytes BLOB)');
  const insert = db.prepare('INSERT INTO rows (bytes) VALUES (?)');
  const count = () => db.prepare<[], number>('SELECT count(*) FROM rows').pluck().get();
  return { db, count, add: () => insert.run(ROW) };
}

test('space is reserved once, kept while commits do not use it, and reserved again once half is gone', (t) => {
  const path = join(temporaryDirectory(), 'a.db');
  const { db, add } = open(t, path);
  const reader = open(t, path);
  const reserve = new WalReserve(db, path, { reserveBytes: MB, cycleBytes: MB });
  assert.ok(reserve.leftBytes() === 0);
  reserve.refill();
  const taken = reserve.leftBytes();
  assert.ok(taken >= 2 * MB - 8 * 4096 && taken < 2.1 * MB, String(taken));
  const length = statSync(`${path}-wal`).size;
  assert.equal(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'wal_room'").pluck().get(), 0);
  assert.equal(db.pragma('cache_size', { simple: true }), reader.db.pragma('cache_size', { simple: true }));
  for (let i = 0; i < 100; i++) add();
  assert.equal(reader.count(), 100);
  assert.ok(reserve.leftBytes() < taken && reserve.leftBytes() > MB);
  reserve.refill();
  assert.equal(statSync(`${path}-wal`).size, length);
  while (reserve.leftBytes() >= MB / 2) add();
  assert.equal(statSync(`${path}-wal`).size, length);
  reserve.refill();
  assert.ok(reserve.leftBytes() >= MB - 8 * 4096);
  // Copied to its end, the log starts again from the front.
  db.pragma('wal_checkpoint(RESTART)');
  add();
  assert.ok(reserve.leftBytes() > length - MB / 2);
});

test('none is reserved if none is wanted, or if it would be the last of the disk', (t) => {
  const path = join(temporaryDirectory(), 'a.db');
  const { db } = open(t, path);
  const length = statSync(`${path}-wal`).size;
  for (const reserveBytes of [0, 2 ** 50]) new WalReserve(db, path, { reserveBytes, cycleBytes: 0 }).refill();
  assert.equal(statSync(`${path}-wal`).size, length);
});

test('on a full disk commits go on as far as the room reaches, and a reopened file has every one', (t) => {
  const disk = SmallDisk.mount(t, 16);
  if (disk === null) {
    t.skip('needs the right to mount a file system');
    return;
  }
  for (const isExclusive of [false, true]) {
    const path = join(disk.path, `${isExclusive}.db`);
    const { db, add } = open(t, path, isExclusive);
    const reserve = new WalReserve(db, path, { reserveBytes: 2 * MB, cycleBytes: 0 });
    reserve.refill();
    const frames = reserve.leftBytes() / 4096;
    disk.fill();
    let added = 0;
    assert.throws(() => {
      for (; added < 100_000; added++) add();
    }, /full/);
    // One commit writes the page it fills, and one or two above it when a page is full.
    assert.ok(added > frames / 2 && reserve.leftBytes() < 4 * 4096, `${added} commits in ${frames} frames`);
    reserve.refill();
    disk.clear();
    db.close();
    assert.equal(open(t, path).count(), added);
  }
});

test('a disk that others fill in the meantime is no error, whichever file does not fit', (t) => {
  const wanted = 20 * MB;
  // The log takes its frames of 4120 bytes as far as they fit; its index grows before frame 4063.
  for (let pages = 0; pages <= 8; pages += 2) {
    const disk = SmallDisk.mount(t, 64);
    if (disk === null) return t.skip('needs the rights to mount');
    const { db, count, add } = open(t, join(disk.path, 'a.db'));
    add();
    const others = () => disk.fill(4062 * 4120 + (pages - 6) * 4096);
    const raced = {
      get inTransaction() {
        return db.inTransaction;
      },
      exec: (sql: string) => void [sql.startsWith('INSERT') && others(), db.exec(sql)],
      pragma: db.pragma.bind(db),
      prepare: db.prepare.bind(db),
    };
    const reserve = new WalReserve(raced, join(disk.path, 'a.db'), { reserveBytes: wanted, cycleBytes: 0 });
    reserve.refill();
    assert.ok(reserve.leftBytes() > 10 * MB && reserve.leftBytes() < wanted, `${pages}: ${reserve.leftBytes()}`);
    add();
    assert.equal(count(), 2);
    db.close();
  }
});
