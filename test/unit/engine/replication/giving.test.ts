/** The parts of a copy for a member that joins, over a table whose other side a test moves (GIVING-1 to GIVING-3). */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import type { Part } from '../../../../engine/replication/copyTable.ts';
import { Giving, NotWantedError } from '../../../../engine/replication/giving.ts';
import { END } from '../../../../engine/replication/joiningFiles.ts';
import { STREAM } from '../../../../shared/wire/replication.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const MOST_WAITING = 16;
const ATTEMPT = { holder: 'b', attempt: '1' };
/** A giver that waits for what never comes does so for a minute. */
const SOON = { timeout: 30_000 };

/** The other side takes what is there at each look of the giver, once `onLook` has run. */
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

  /** All parts of a file. */
  file(name: string): Buffer {
    const parts = [...this.taken, ...this.#waiting].filter((part) => part.name === name);
    return Buffer.concat(parts.map(({ bytes }) => bytes));
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

function give(directory: string, taker: Taker, ends: ReadonlyMap<number, number> = new Map()): Promise<void> {
  const copyControl = async (path: string): Promise<void> => writeFileSync(path, 'control');
  return new Giving({ table: taker.table, attempt: ATTEMPT, directory, shards: 0, ends, copyControl }).run();
}

/** Where the records of a copied database end. */
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

test(
  'GIVING-3: the giver waits for the other side while many parts wait, and leaves nothing behind',
  SOON,
  async () => {
    const directory = memberWith({ 'idempotency.db': null });
    mkdirSync(join(directory, 'private'));
    const names = Array.from({ length: 5 * MOST_WAITING }, (_, index) => `private/${String(index).padStart(3, '0')}`);
    for (const name of names) writeFileSync(join(directory, name), name);
    const taker = new Taker();
    await give(directory, taker);
    assert.equal(taker.mostWaiting, MOST_WAITING);
    assert.deepEqual(taker.names, ['journal.key', 'idempotency.db', ...names, 'control.db', END]);
    for (const name of names) assert.equal(String(taker.file(name)), name);
    assert.ok(!readdirSync(directory).includes('giving'));
  },
);

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
  taker.onLook = () => {
    if (taker.looks !== 3) return;
    assert.deepEqual(taker.names, ['journal.key'], 'the next file waits');
    const database = new Database(join(directory, 'idempotency.db'));
    database.exec('UPDATE record_end SET sequence = 5');
    database.close();
  };
  await give(directory, taker, new Map([[STREAM.ANSWERS, 5]]));
  assert.equal(endOf(taker.file('idempotency.db')), 5);
  assert.equal(endOf(taker.file('settlement.db')), 7, 'of which the log held nothing');
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
