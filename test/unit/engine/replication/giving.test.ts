/** The parts of a copy for a member that joins, over a table whose other side a test moves (GIVING-1 to GIVING-3). */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import type { Part } from '../../../../engine/replication/copyTable.ts';
import { Giving, NotWantedError } from '../../../../engine/replication/giving.ts';
import { END } from '../../../../engine/replication/joiningFiles.ts';
import { ByteReader } from '../../../../shared/records/bytes.ts';
import { STREAM } from '../../../../shared/wire/replication.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const MOST_WAITING = 16;
const PART_BYTES = 512 << 10;
const ATTEMPT = { holder: 'b', attempt: '1' };
/** A giver that waits for what never comes does so for a minute. */
const PATIENCE_MS = 60_000;
const SOON = { timeout: 30_000 };

/** The other side takes everything at each check of the giver, once `onLook` has run. */
class Taker {
  /** True: it is gone. */
  isGone = false;
  looks = 0;
  mostWaiting = 0;
  readonly taken: Part[] = [];
  onLook: () => void = () => {};
  #waiting: Part[] = [];

  readonly table = {
    put: async (_attempt: unknown, part: Part): Promise<void> => {
      this.#waiting.push({ ...part, bytes: part.bytes.slice() });
      this.mostWaiting = Math.max(this.mostWaiting, this.#waiting.length);
    },
    giving: async (): Promise<number | null> => {
      this.looks++;
      this.onLook();
      if (this.isGone) return null;
      this.taken.push(...this.#waiting.splice(0));
      return this.#waiting.length;
    },
  };

  parts(name: string): Uint8Array[] {
    return [...this.taken, ...this.#waiting].filter((part) => part.name === name).map(({ bytes }) => bytes);
  }

  /** All parts of a file. */
  file(name: string): Buffer {
    return Buffer.concat(this.parts(name));
  }

  get names(): string[] {
    return [...new Set([...this.taken, ...this.#waiting].map(({ name }) => name))];
  }
}

/** A member's files whose records end there. */
function memberWith(ends: Readonly<Record<string, number | null>>): string {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'journal.key'), 'key');
  for (const [name, end] of Object.entries(ends)) {
    const database = new Database(join(directory, name));
    database.exec('CREATE TABLE record_end (sequence INTEGER NOT NULL)');
    if (end !== null) database.prepare('INSERT INTO record_end VALUES (?)').run(end);
    database.close();
  }
  return directory;
}

function give(
  directory: string,
  taker: Taker,
  ends: ReadonlyMap<number, number> = new Map(),
  shards = 0,
): Promise<void> {
  const copyControl = async (path: string): Promise<void> => writeFileSync(path, 'control');
  return new Giving({ table: taker.table, attempt: ATTEMPT, directory, shards, ends, copyControl }).run();
}

/** The end of the records of a copied database. */
function endOf(bytes: Buffer): unknown {
  const path = join(temporaryDirectory(), 'copy.db');
  writeFileSync(path, bytes);
  const database = new Database(path, { readonly: true });
  try {
    return database.prepare('SELECT sequence FROM record_end').pluck().get();
  } finally {
    database.close();
  }
}

test('GIVING-3: the giver waits while many parts do, and leaves nothing behind', SOON, async () => {
  const directory = memberWith({ 'idempotency.db': null });
  mkdirSync(join(directory, 'private'));
  const names = Array.from({ length: 5 * MOST_WAITING }, (_, index) => `private/${String(index).padStart(3, '0')}`);
  for (const name of names) writeFileSync(join(directory, name), name);
  const taker = new Taker();
  // A file that is gone when its turn comes is left out.
  const gone = names.pop()!;
  taker.onLook = () => {
    if (taker.names.includes(names[0]!)) rmSync(join(directory, gone), { force: true });
  };
  await give(directory, taker);
  assert.equal(taker.mostWaiting, MOST_WAITING);
  assert.deepEqual(taker.names, ['journal.key', 'idempotency.db', ...names, 'control.db', END]);
  for (const name of names) assert.equal(String(taker.file(name)), name);
  assert.ok(!readdirSync(directory).includes('giving'));
});

test('a giver whose other side is gone ends, and leaves nothing behind', SOON, async () => {
  const directory = memberWith({ 'idempotency.db': null });
  const taker = new Taker();
  taker.isGone = true;
  await assert.rejects(give(directory, taker), NotWantedError);
  assert.ok(!readdirSync(directory).includes('giving'));
});

test('GIVING-1: a database is copied once it has the records that the log held, and no sooner', SOON, async () => {
  const directory = memberWith({ 'idempotency.db': 3, 'settlement.db': 7 });
  const taker = new Taker();
  const setEnd = (name: string, end: number): void => {
    const database = new Database(join(directory, name));
    database.prepare('UPDATE record_end SET sequence = ?').run(end);
    database.close();
  };
  taker.onLook = () => {
    if (taker.looks === 3) {
      assert.deepEqual(taker.names, ['journal.key'], 'the next file waits');
      setEnd('idempotency.db', 5);
    }
    if (taker.looks === 10) setEnd('settlement.db', 8);
  };
  await give(
    directory,
    taker,
    new Map([
      [STREAM.ANSWERS, 5],
      [STREAM.SETTLEMENT, 8],
    ]),
  );
  assert.equal(endOf(taker.file('idempotency.db')), 5);
  assert.equal(endOf(taker.file('settlement.db')), 8);
  assert.deepEqual(taker.names, ['journal.key', 'idempotency.db', 'settlement.db', 'control.db', END]);
});

test('a database without records is given at once where the log held none of it, or never does', SOON, async () => {
  const directory = memberWith({ 'idempotency.db': null, 'settlement.db': null });
  const history = new Database(join(directory, 'read.db'));
  history.exec('CREATE TABLE trades (id INTEGER)');
  history.close();
  const taker = new Taker();
  await give(directory, taker);
  assert.deepEqual(taker.names, ['journal.key', 'read.db', 'idempotency.db', 'settlement.db', 'control.db', END]);
});

test('a file longer than a part is given in parts, and an empty one in one', SOON, async () => {
  const directory = memberWith({ 'idempotency.db': null });
  mkdirSync(join(directory, 'private'));
  const long = Buffer.from(Array.from({ length: 2 * PART_BYTES + 1 }, (_, at) => (at * 7) & 255));
  const exact = long.subarray(0, PART_BYTES);
  for (const [name, bytes] of Object.entries({ empty: '', exact, long })) {
    writeFileSync(join(directory, 'private', name), bytes);
  }
  const taker = new Taker();
  await give(directory, taker);
  const lengths = (name: string): number[] => taker.parts(`private/${name}`).map(({ length }) => length);
  assert.deepEqual(['empty', 'exact', 'long'].map(lengths), [[0], [PART_BYTES], [PART_BYTES, PART_BYTES, 1]]);
  assert.ok(taker.file('private/long').equals(long) && taker.file('private/exact').equals(exact));
});

test('GIVING-1: a journal is given row by row in order, with every row that the log held', SOON, async () => {
  const directory = memberWith({ 'idempotency.db': null });
  const journal = new Database(join(directory, 'journal-0.db'));
  journal.exec('CREATE TABLE journal (sequence INTEGER PRIMARY KEY, bytes BLOB NOT NULL)');
  const insert = journal.prepare('INSERT INTO journal VALUES (?, ?)');
  const rows: { sequence: number; bytes: Buffer }[] = [];
  const add = (sequence: number): void => {
    const bytes = Buffer.alloc(300 << 10, sequence);
    insert.run(sequence, bytes);
    rows.push({ sequence, bytes });
  };
  for (const sequence of [2, 3, 7, 8, 9]) add(sequence);
  const taker = new Taker();
  let looks = 0;
  taker.onLook = () => {
    // The last row that is there was given.
    if (taker.parts('rows 0').length === 3 && ++looks === 2) for (const sequence of [12, 15]) add(sequence);
  };
  await give(directory, taker, new Map([[0, 15]]), 1);
  const given = taker.parts('rows 0').map((bytes) => {
    const ofPart: typeof rows = [];
    for (const reader = new ByteReader(Buffer.from(bytes)); !reader.isAtEnd; ) {
      ofPart.push({ sequence: reader.number(), bytes: Buffer.from(reader.bytes()) });
    }
    return ofPart;
  });
  assert.deepEqual(
    given.slice(0, 3).map((ofPart) => ofPart.length),
    [2, 2, 1],
    'a part ends once it is large enough',
  );
  assert.deepEqual(given.flat(), rows);
  assert.equal(rows.at(-1)!.sequence, 15);
  journal.close();
});

/** A file that never gets the last record of its stream. */
const BEHIND: readonly (readonly [string, number])[] = [
  ['idempotency.db', STREAM.ANSWERS],
  ['settlement.db', STREAM.SETTLEMENT],
  ['audit.log', STREAM.AUDIT],
  ['journal-0.db', 0],
];

for (const [name, stream] of BEHIND) {
  test(`GIVING-1: a giver that does not get what the log held of ${name} says so`, SOON, async (t) => {
    const directory = memberWith({ 'idempotency.db': 3, 'settlement.db': 3 });
    writeFileSync(join(directory, 'audit.log'), '{"sequence":3}\n');
    const journal = new Database(join(directory, 'journal-0.db'));
    journal.exec('CREATE TABLE journal (sequence INTEGER PRIMARY KEY, bytes BLOB NOT NULL)');
    journal.close();
    const taker = new Taker();
    let passedMs = 0;
    const realMs = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => realMs() + passedMs);
    taker.onLook = () => {
      passedMs += PATIENCE_MS / 10;
      if (passedMs > 2 * PATIENCE_MS) throw new Error('it still waits');
    };
    await assert.rejects(give(directory, taker, new Map([[stream, 4]]), 1), { message: `${name} is behind the log` });
    assert.ok(!readdirSync(directory).includes('giving'));
  });
}

test('the audit log is given to the end of its last whole line, once that is there', SOON, async () => {
  const directory = memberWith({ 'idempotency.db': null });
  const path = join(directory, 'audit.log');
  const line = (sequence: number, text = ''): string => `${JSON.stringify({ sequence, text })}\n`;
  // The start of the last line is further back than a part reaches.
  const first = line(1) + line(2, 'x'.repeat(PART_BYTES));
  writeFileSync(path, first);
  const taker = new Taker();
  taker.onLook = () => {
    if (taker.looks === 3) appendFileSync(path, `${line(3)}{"sequence":4,`);
  };
  await give(directory, taker, new Map([[STREAM.AUDIT, 3]]));
  assert.equal(String(taker.file('audit.log')), first + line(3));
});
