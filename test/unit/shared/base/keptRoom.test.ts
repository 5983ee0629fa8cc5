/** The room of a SQLite file over a stop that is broken off anywhere, on real files. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, linkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { keepRoom, takeRoomsBack } from '../../../../shared/base/keptRoom.ts';
import { WalReserve } from '../../../../shared/base/walReserve.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { SmallDisk } from '../../../support/smallDisk.ts';

const MB = 1 << 20;
const ROOM_BYTES = 4 * MB;

class File {
  readonly path: string;
  db: Database.Database;
  reserve: WalReserve;

  constructor(directory: string) {
    this.path = join(directory, 'a.db');
    this.db = this.#opened();
    this.db.exec('CREATE TABLE rows (n INTEGER) STRICT');
    this.reserve = this.#reserved();
    this.reserve.refill();
    this.add();
  }

  add(): void {
    this.db.prepare('INSERT INTO rows SELECT 1 + count(*) FROM rows').run();
  }

  stop(): void {
    keepRoom(this.path);
    this.db.close();
  }

  start(): number {
    takeRoomsBack(dirname(this.path));
    this.db = this.#opened();
    this.reserve = this.#reserved();
    assert.equal(this.db.pragma('integrity_check', { simple: true }), 'ok');
    assert.ok(!existsSync(`${this.path}-room`) && !existsSync(`${this.path}-room-shm`));
    return this.db.prepare('SELECT count(*) FROM rows').pluck().get() as number;
  }

  bytes(suffix: string): number {
    return statSync(this.path + suffix, { throwIfNoEntry: false })?.size ?? -1;
  }

  #opened(): Database.Database {
    const db = new Database(this.path);
    db.pragma('journal_mode = WAL');
    return db;
  }

  #reserved(): WalReserve {
    return new WalReserve(this.db, this.path, { reserveBytes: ROOM_BYTES, cycleBytes: 0 });
  }
}

function onDisk(t: TestContext): { disk: SmallDisk; file: File } | null {
  const disk = SmallDisk.mount(t, 16);
  if (disk === null) t.skip('needs the right to mount a file system');
  return disk && { disk, file: new File(disk.path) };
}

test('the room of a file is there after a stop, whoever takes the last byte meanwhile', (t) => {
  const { disk, file } = onDisk(t) ?? {};
  if (disk === undefined || file === undefined) return;
  for (let rows = 1; rows < 5; rows++) {
    const walBytes: number = file.bytes('-wal');
    file.stop();
    disk.fill();
    assert.deepEqual([file.bytes('-wal'), file.bytes('-room')], [-1, walBytes]);
    assert.equal(file.start(), rows);
    assert.equal(file.bytes('-wal'), walBytes);
    assert.ok(file.reserve.leftBytes() >= ROOM_BYTES - 16 * 4096, String(file.reserve.leftBytes()));
    disk.fill();
    file.add();
  }
  // All of it can be used, on a disk without a free byte.
  for (let rows = 5; rows < 500; rows++) file.add();
  file.db.close();
});

test('with another connection open, a stop leaves both names of one file, and the next start has it', () => {
  const file = new File(temporaryDirectory());
  const reader = new Database(file.path, { readonly: true });
  reader.prepare('SELECT count(*) FROM rows').get();
  file.stop();
  assert.equal(statSync(`${file.path}-wal`).ino, statSync(`${file.path}-room`).ino);
  reader.close();
  assert.equal(file.start(), 1);
  file.db.close();
});

test('a program that only reads the stopped file does not cost the room', (t) => {
  const { disk, file } = onDisk(t) ?? {};
  if (disk === undefined || file === undefined) return;
  const walBytes = file.bytes('-wal');
  file.stop();
  const reader = new Database(file.path, { readonly: true });
  assert.equal(reader.prepare('SELECT count(*) FROM rows').pluck().get(), 1);
  reader.close();
  assert.equal(file.bytes('-wal'), 0, 'SQLite leaves an empty log then');
  disk.fill();
  assert.equal(file.start(), 1);
  assert.equal(file.bytes('-wal'), walBytes);
  file.db.close();
});

/** The files that a stop or a start leaves which ends at some moment. */
const ENDS: Readonly<Record<string, (file: File) => void>> = {
  'a kill before the connection is closed': ({ path, db }) => {
    for (const end of ['', '-wal', '-shm']) copyFileSync(path + end, `${path}.killed${end}`);
    db.close();
    for (const end of ['', '-wal', '-shm']) copyFileSync(`${path}.killed${end}`, path + end);
    rmSync(`${path}-room`);
    linkSync(`${path}-wal`, `${path}-room`);
  },
  'a kill after it, and a program that writes before the start': (file) => {
    file.db.close();
    const other = new Database(file.path);
    other.exec('INSERT INTO rows SELECT 1 + count(*) FROM rows; INSERT INTO rows SELECT 1 + count(*) FROM rows');
    other.pragma('wal_checkpoint(TRUNCATE)');
    other.close();
    // Their frames would undo the program's writes.
    assert.ok(file.bytes('-room') > ROOM_BYTES);
  },
  'a program that was killed before the start, with frames of its own': ({ path, db }) => {
    db.close();
    const other = new Database(path);
    other.exec('INSERT INTO rows SELECT 1 + count(*) FROM rows; INSERT INTO rows SELECT 1 + count(*) FROM rows');
    for (const end of ['', '-wal']) copyFileSync(path + end, `${path}.killed${end}`);
    other.close();
    for (const end of ['', '-wal']) copyFileSync(`${path}.killed${end}`, path + end);
  },
  'a start that was killed between two names': ({ path, db }) => {
    db.close();
    linkSync(`${path}-room`, `${path}-wal`);
    writeFileSync(`${path}-wal`, new Uint8Array(32), { flag: 'r+' });
  },
};

for (const [name, end] of Object.entries(ENDS)) {
  test(`nothing is lost and nothing comes back after ${name}`, () => {
    const file = new File(temporaryDirectory());
    keepRoom(file.path);
    end(file);
    const written = name.includes('program') ? 2 : 0;
    assert.equal(file.start(), 1 + written);
    file.add();
    file.stop();
    assert.equal(file.start(), 2 + written);
    file.db.close();
  });
}
