import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sumOfMultiples } from '../../../../engine/verify/pointSum.ts';
import { makeTable, type PackedTable, packTable, pointOf, unpackTable } from '../../../../engine/verify/pointTable.ts';
import { SharedTables } from '../../../../engine/verify/sharedTables.ts';
import { ADDRESS_BYTES } from '../../../../shared/base/hex.ts';
import * as layout from '../../../../shared/wire/tableLayout.ts';
import { Random } from '../../../support/random.ts';
import { addressOf, type TableWriting, VERSIONS } from '../../../support/tableWriter.ts';

const { BASE_ENTRY, SIGNER_TABLES, TABLE_ENTRY, TABLES, tableWord } = layout;
const SEED = 20261121;
const random = new Random(SEED);
const { Point } = secp256k1;

/** Any content will do where only memory is asked about. */
function content(words: number, seed: number): PackedTable {
  const one = new Random(seed);
  return new BigUint64Array(new Uint32Array(words).map(() => one.next()).buffer);
}
const tableOf = (seed: number): PackedTable => content(layout.SIGNER_TABLE_WORDS, seed);

function rig(): { memory: SharedArrayBuffer; words: Int32Array; writer: SharedTables; reader: SharedTables } {
  const memory = layout.createTableMemory();
  const words = new Int32Array(memory);
  return { memory, words, writer: new SharedTables(memory), reader: new SharedTables(memory) };
}

const entryWord = (entry: number): number => TABLES.WORDS + entry * TABLE_ENTRY.WORDS;
const ANN = addressOf(1);

describe('shared tables', () => {
  it('gives back what was published, by address, wherever the address lies', () => {
    const { writer, reader } = rig();
    assert.equal(reader.read(ANN, 0), undefined);
    writer.publish(ANN, 0, tableOf(1));
    writer.publish(addressOf(2), 0, tableOf(2));
    assert.deepEqual(reader.read(ANN, 0), tableOf(1));
    const record = new Uint8Array(new SharedArrayBuffer(64));
    record.set(addressOf(2), 7);
    assert.deepEqual(reader.read(record, 7), tableOf(2));
    assert.equal(reader.read(addressOf(3), 0), undefined);
    assert.equal(reader.readBase(), undefined);
  });

  it('finds nobody under the zero address that unwritten entries hold', () => {
    const { writer, reader } = rig();
    writer.publish(ANN, 0, tableOf(1));
    assert.equal(reader.read(new Uint8Array(ADDRESS_BYTES), 0), undefined);
  });

  it('keeps the generator apart, also when it is written twice or by one that ended in the middle', () => {
    const { words, writer, reader } = rig();
    const base = content(layout.BASE_TABLE_WORDS, 9);
    words[tableWord(BASE_ENTRY)] = 1;
    assert.equal(reader.readBase(), undefined);
    for (let i = 0; i < 2; i++) {
      writer.publishBase(base);
      assert.deepEqual(reader.readBase(), base);
    }
  });

  it('holds the newest tables when there are more signers than entries', () => {
    const { writer, reader } = rig();
    const all = SIGNER_TABLES + 10;
    for (let signer = 0; signer < all; signer++) writer.publish(addressOf(signer), 0, tableOf(signer));
    for (let signer = 0; signer < all; signer += signer < 12 ? 1 : 41) {
      const expected = signer < all - SIGNER_TABLES ? undefined : tableOf(signer);
      assert.deepEqual(reader.read(addressOf(signer), 0), expected, `signer ${signer}`);
    }
  });

  it('goes on in the round when the count of tables passes 2^31 and 2^32', () => {
    for (const next of [0x7fff_ffff, -1]) {
      const { words, writer, reader } = rig();
      words[layout.TABLES.next] = next;
      for (let signer = 0; signer < 3; signer++) writer.publish(addressOf(signer), 0, tableOf(signer));
      for (let signer = 0; signer < 3; signer++) assert.deepEqual(reader.read(addressOf(signer), 0), tableOf(signer));
    }
  });

  it('writes a signer who is there already where it is', () => {
    const { words, writer, reader } = rig();
    for (let seed = 0; seed < 5; seed++) writer.publish(ANN, 0, tableOf(seed));
    assert.deepEqual(reader.read(ANN, 0), tableOf(4));
    assert.equal(words[layout.TABLES.next], 1);
  });

  it(`ignores a table with any bit flipped in it or in its checksum, seed ${SEED}`, () => {
    const { words, writer, reader } = rig();
    writer.publish(ANN, 0, tableOf(1));
    const at = Array.from({ length: 300 }, () => tableWord(1) + random.below(layout.SIGNER_TABLE_WORDS));
    for (const word of [entryWord(1) + TABLE_ENTRY.checksum, tableWord(1), tableWord(2) - 1, ...at]) {
      const bit = 1 << random.below(32);
      words[word] ^= bit;
      assert.equal(reader.read(ANN, 0), undefined, `word ${word}`);
      words[word] ^= bit;
    }
    assert.deepEqual(reader.read(ANN, 0), tableOf(1));
  });

  it('TABLES-1: ignores a table that is half written, and leaves it to the one who writes it', () => {
    const { words, writer, reader } = rig();
    writer.publish(ANN, 0, tableOf(1));
    const state = words[entryWord(1) + TABLE_ENTRY.state];
    words[entryWord(1) + TABLE_ENTRY.state] = state + 1;
    assert.equal(reader.read(ANN, 0), undefined);
    writer.publish(ANN, 0, tableOf(2));
    assert.equal(words[entryWord(1) + TABLE_ENTRY.state], state + 1);
    assert.equal(words[tableWord(1)], new Int32Array(tableOf(1).buffer)[0], 'not a word of it was written');
    assert.deepEqual(reader.read(ANN, 0), tableOf(2), 'the second one went elsewhere');
  });

  it('TABLES-2: ignores a table of which only a part was there when it was copied', () => {
    const { words, writer, reader } = rig();
    writer.publish(ANN, 0, tableOf(1));
    const newer = new Int32Array(tableOf(2).buffer);
    // The late words of a newer table, on a processor that showed its state first.
    for (const part of [1, 100, newer.length - 1]) {
      words.set(newer.subarray(0, part), tableWord(1));
      assert.equal(reader.read(ANN, 0), undefined, `${part} words`);
    }
    words.set(newer, tableWord(1));
    assert.equal(reader.read(ANN, 0), undefined, 'the checksum is the older one');
  });

  it("TABLES-2: a damaged table does not hide the same signer's good one behind it", () => {
    const { words, writer, reader } = rig();
    writer.publish(ANN, 0, tableOf(1));
    words[entryWord(1) + TABLE_ENTRY.state] += 1;
    writer.publish(ANN, 0, tableOf(2));
    words[entryWord(1) + TABLE_ENTRY.state] += 1;
    words[tableWord(1)] ^= 1;
    assert.deepEqual(reader.read(ANN, 0), tableOf(2));
  });

  it('TABLES-1: of two writers at one entry the second takes another', () => {
    const { memory, words, writer, reader } = rig();
    const second = new SharedTables(memory);
    const bob = addressOf(2);
    // The first stands in the middle of entry 1 when the round comes to it again.
    words[entryWord(1) + TABLE_ENTRY.state] = 1;
    second.publish(bob, 0, tableOf(2));
    assert.equal(words[entryWord(1) + TABLE_ENTRY.state], 1);
    assert.deepEqual([...words.subarray(entryWord(1) + TABLE_ENTRY.signer, entryWord(2))], [0, 0, 0, 0, 0, 0]);
    assert.deepEqual(reader.read(bob, 0), tableOf(2));
    writer.publish(ANN, 0, tableOf(1));
    assert.deepEqual(reader.read(ANN, 0), tableOf(1));
    assert.deepEqual(reader.read(bob, 0), tableOf(2));
  });

  it('TABLES-3: gives a table up rather than wait when every entry is being written', () => {
    const { words, writer, reader } = rig();
    for (let entry = 1; entry <= SIGNER_TABLES; entry++) words[entryWord(entry) + TABLE_ENTRY.state] = 1;
    writer.publish(ANN, 0, tableOf(1));
    assert.equal(reader.read(ANN, 0), undefined);
  });
});

describe('shared tables between threads', () => {
  it('TABLES-1, TABLES-2: beside two writers that overwrite each other a reader sees whole tables', async (t) => {
    const memory = layout.createTableMemory();
    const reader = new SharedTables(memory);
    const signers = SIGNER_TABLES + 8;
    const ended: Promise<unknown>[] = [];
    for (const version of [0, 1]) {
      const workerData: TableWriting = { memory, signers, version, tables: 4000, seed: SEED + version };
      const worker = new Worker(new URL('../../../support/tableWriter.ts', import.meta.url), { workerData });
      t.after(() => worker.terminate());
      ended.push(once(worker, 'exit'));
    }
    let isOver = false;
    const over = Promise.all(ended).then(() => {
      isOver = true;
    });
    let taken = 0;
    const read = (signer: number): void => {
      const table = reader.read(addressOf(signer), 0);
      if (table === undefined) return;
      taken++;
      const [first] = table;
      assert.equal(Math.floor(Number(first) / VERSIONS), signer);
      assert.ok(
        table.every((element) => element === first),
        `signer ${signer}`,
      );
    };
    while (!isOver) {
      for (let i = 0; i < 50; i++) read(random.below(signers));
      await setImmediate();
    }
    await over;
    for (let signer = 0; signer < signers; signer++) read(signer);
    assert.ok(taken > SIGNER_TABLES / 2, `${taken} tables`);
  });
});

describe('a table as memory', () => {
  it('comes back coordinate by coordinate, and knows its point', () => {
    const point = Point.BASE.multiplyUnsafe(BigInt(SEED));
    const table = makeTable(point, layout.SIGNER_WINDOW_BITS);
    const packed = packTable(table);
    assert.equal(packed.length * 2, layout.SIGNER_TABLE_WORDS);
    const back = unpackTable(packed, layout.SIGNER_WINDOW_BITS);
    assert.deepEqual(back, table);
    assert.ok(pointOf(back)!.equals(point));
    const { x, y } = point.multiplyUnsafe(2n * 32n).toAffine();
    assert.deepEqual(back.coordinates.slice(34, 36), [x, y], 'window 1, twice');
    assert.throws(() => unpackTable(packed.slice(8), layout.SIGNER_WINDOW_BITS), /as long as its windows say/);
  });

  it('is of no point when the first is not on the curve, or its coordinates are not below p', () => {
    const packed = packTable(makeTable(Point.BASE, layout.SIGNER_WINDOW_BITS));
    packed[0] ^= 1n;
    assert.equal(pointOf(unpackTable(packed, layout.SIGNER_WINDOW_BITS)), undefined);
    packed.fill(2n ** 64n - 1n, 0, 4);
    assert.equal(pointOf(unpackTable(packed, layout.SIGNER_WINDOW_BITS)), undefined);
  });
});

describe('a sum of two multiples', () => {
  const order = Point.Fn.ORDER;
  const base = makeTable(Point.BASE, layout.BASE_WINDOW_BITS);
  const key = Point.BASE.multiplyUnsafe(BigInt(SEED));
  const ofKey = makeTable(key, layout.SIGNER_WINDOW_BITS);
  const scalar = (): bigint =>
    Array.from({ length: 8 }).reduce((all: bigint) => (all << 32n) | BigInt(random.next()), 0n);

  it(`is the library's, for scalars of every kind, seed ${SEED}`, () => {
    const some = [0n, 1n, 15n, 16n, 17n, 31n, 32n, 127n, 128n, 129n, 255n, 256n, order / 2n, order - 1n, order - 16n];
    for (let round = 0; round < 300; round++) {
      const [u, v] = [0, 1].map(() => (random.chance(60) ? scalar() % order : random.pick(some))) as [bigint, bigint];
      if (u === 0n && v === 0n) continue;
      const expected = Point.BASE.multiplyUnsafe(u).add(key.multiplyUnsafe(v)).toAffine();
      assert.deepEqual(sumOfMultiples(base, u, ofKey, v), expected, `${u} ${v}`);
    }
  });

  it('is left to others where a point meets itself or its opposite, and where there is nothing to add', () => {
    const ofBase = makeTable(Point.BASE, layout.SIGNER_WINDOW_BITS);
    for (const digit of [1n, 7n, 15n]) {
      assert.equal(sumOfMultiples(base, digit, ofBase, digit), undefined);
      assert.equal(sumOfMultiples(base, order - digit, ofBase, digit), undefined);
    }
    assert.equal(sumOfMultiples(base, 0n, ofBase, 0n), undefined);
  });
});
