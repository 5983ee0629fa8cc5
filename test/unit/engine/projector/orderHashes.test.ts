/** Orders are found by their hashes wherever the entries are: the projector writes them and the queries read them. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { MERGED_ENTRIES, OrderHashes } from '../../../../engine/projector/orderHashes.ts';
import { Projector } from '../../../../engine/projector/projector.ts';
import { OrderQueries } from '../../../../gateway/account/orderQueries.ts';
import { CLOSE_REASON } from '../../../../shared/base/codes.ts';
import { toHex } from '../../../../shared/base/hex.ts';
import {
  ENTRY_BYTES,
  idsIn,
  ORDER_HASH_TAIL,
  ORDER_HASHES,
  PREFIX_BYTES,
} from '../../../../shared/tables/orderHashes.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { JournalScript } from '../../../support/records.ts';

const folder = temporaryDirectory();

const T0 = Date.UTC(2026, 0, 1);
const ANN = 1;
const BOB = 2;

/** A journal of one shard and its read model; the orders of a record are closed in it. */
class Model {
  readonly #script = new JournalScript(join(folder, 'journal-0.db'));
  readonly #progress = Progress.create(1);
  readonly #readDbPath = join(folder, 'read.db');
  readonly hashes: Uint8Array[] = [];

  constructor() {
    this.#script.record(T0, (events) => events.market(0, '11111111-1111-4111-8111-111111111111'));
  }

  /** Follows `orders` more, as one batch of a projector that has just started. */
  place(orders: number): void {
    this.#script.record(T0 + this.hashes.length, (events) => {
      for (let order = 0; order < orders; order++) {
        const spec = { slot: this.hashes.length, account: ANN, market: 0, limitTicks: 50, lots: 10_000 };
        this.hashes.push(events.place(spec));
        events.closed(spec.slot, CLOSE_REASON.USER);
      }
    });
    const projector = new Projector({
      journalPaths: [join(folder, 'journal-0.db')],
      keys: [TEST_KEY],
      readDbPath: this.#readDbPath,
      progress: this.#progress,
    });
    projector.progress.setCommitted(0, this.#script.journal.lastSequence);
    while (projector.step(true));
    projector.close();
  }

  read<T>(read: (db: Database.Database) => T): T {
    const db = new Database(this.#readDbPath, { readonly: true });
    try {
      return read(db);
    } finally {
      db.close();
    }
  }

  write(sql: string): void {
    const db = new Database(this.#readDbPath);
    db.exec(sql);
    db.close();
  }

  /** Entries in the index, and rows and entries in the tail. */
  places(): number[] {
    return this.read((db) => [
      db.prepare<[], number>('SELECT count(*) FROM order_hashes').pluck().get()!,
      db.prepare<[], number>('SELECT count(*) FROM order_hash_tail').pluck().get()!,
      db.prepare<[], number>('SELECT total(length(entries)) FROM order_hash_tail').pluck().get()! / ENTRY_BYTES,
    ]);
  }

  close(): void {
    this.#script.journal.close();
  }
}

test('ORDERHASHES-1, -2: an order is found in the tail, in the index, and after a restart at any batch', () => {
  const model = new Model();
  const assertFound = (...numbers: number[]): void =>
    model.read((db) => {
      const queries = new OrderQueries(db);
      for (const number of numbers) {
        const hash = model.hashes[number];
        const { id, order_hash } = queries.byHash(ANN, hash)!.record;
        assert.deepEqual([order_hash, Number.parseInt(id.slice(-12), 16)], [toHex(hash), number + 1]);
        assert.equal(queries.byHash(BOB, hash), null, 'nobody is told of the orders of others');
      }
      const unknown = model.hashes[0].slice();
      unknown[31]++;
      unknown[20] = 255;
      assert.equal(queries.byHash(ANN, unknown), null, 'a hash that begins like others');
    });
  model.place(3);
  model.place(20);
  assert.deepEqual(model.places(), [0, 2, 23]);
  assertFound(0, 2, 3, 22);
  model.place(MERGED_ENTRIES - 24);
  assert.deepEqual(model.places(), [0, 3, MERGED_ENTRIES - 1]);
  model.place(1);
  assert.deepEqual(model.places(), [MERGED_ENTRIES, 0, 0]);
  assertFound(0, 22, 23, 300, MERGED_ENTRIES - 1);
  model.place(2);
  assert.deepEqual(model.places(), [MERGED_ENTRIES, 1, 2]);
  assertFound(0, MERGED_ENTRIES - 1, MERGED_ENTRIES, MERGED_ENTRIES + 1);
  model.write(`UPDATE order_hashes SET generation = 1 WHERE entry >= X'80'`);
  assertFound(0, 1, 2, 3, 22, 23, 300, MERGED_ENTRIES - 1, MERGED_ENTRIES + 1);
  const [orders, lots] = model.read(
    (db) => db.prepare('SELECT count(*), total(lots) FROM orders').raw().get() as number[],
  );
  assert.deepEqual([orders, lots], [model.hashes.length, model.hashes.length * 10_000]);
  model.close();
});

test('ORDERHASHES-3: a merge goes into the newest generation until that is full, also after a restart', () => {
  const db = new Database(':memory:');
  db.exec(ORDER_HASHES.schema + ORDER_HASH_TAIL.schema);
  const most = 2 * MERGED_ENTRIES;
  for (let merge = 0; merge < 5; merge++) {
    const hashes = new OrderHashes(db, most);
    const hash = new Uint8Array(PREFIX_BYTES);
    for (let entry = 0; entry < MERGED_ENTRIES; entry++) {
      new DataView(hash.buffer).setUint32(0, Math.imul(merge * MERGED_ENTRIES + entry, 0x9e3779b1));
      hashes.add(hash, new Uint8Array(ENTRY_BYTES - PREFIX_BYTES).fill(merge));
    }
    hashes.flush();
  }
  assert.deepEqual(db.prepare('SELECT generation, count(*) FROM order_hashes GROUP BY generation').raw().all(), [
    [0, most],
    [1, most],
    [2, MERGED_ENTRIES],
  ]);
});

test('an entry says which orders begin as a hash does, to its last byte', () => {
  const hash = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
  const entries = new Uint8Array(3 * ENTRY_BYTES);
  for (const entry of [0, 1, 2]) {
    entries.set(hash.subarray(0, PREFIX_BYTES), entry * ENTRY_BYTES);
    entries.fill(100 + entry, entry * ENTRY_BYTES + PREFIX_BYTES, (entry + 1) * ENTRY_BYTES);
  }
  entries[ENTRY_BYTES + PREFIX_BYTES - 1] = 0;
  assert.deepEqual(
    idsIn(entries, hash).map((id) => [...new Set(id)]),
    [[100], [102]],
  );
});
