import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grown, NONE } from '../../../../gateway/shardlink/growingColumn.ts';
import { PairIndex } from '../../../../gateway/shardlink/pairIndex.ts';
import { HASH_WORDS, OpenOrderIndex } from '../../../../shared/base/openOrderIndex.ts';
import { seededRandom } from '../../../support/random.ts';

test('a column keeps its cells when it grows and has zeros behind them', () => {
  const column = Uint32Array.of(7, 8);
  assert.equal(grown(column, 2), column);
  assert.deepEqual(grown(column, 3), Uint32Array.of(7, 8, 0, 0));
  assert.equal(grown(column, 9).length, 16);
});

test('the hash index finds what was inserted and not removed, through growth and collisions', () => {
  const random = seededRandom(11);
  const slots = 5000;
  const hashes = new Uint32Array(slots * HASH_WORDS);
  // First words collide often, so runs of cells form and removals have to shift.
  for (let i = 0; i < hashes.length; i++)
    hashes[i] = i % HASH_WORDS === 0 ? Math.floor(random() * 600) : random() * 2 ** 32;
  const index = new OpenOrderIndex();
  const present = new Set<number>();
  for (let step = 0; step < 30_000; step++) {
    const slot = Math.floor(random() * slots);
    if (present.delete(slot)) {
      index.remove(hashes, slot);
    } else {
      present.add(slot);
      index.insert(hashes, slot);
    }
    if (step % 3000 !== 0) continue;
    assert.equal(index.count, present.size);
    for (let other = 0; other < slots; other++) {
      assert.equal(index.find(hashes, hashes, other * HASH_WORDS), present.has(other) ? other : NONE);
    }
  }
});

test('a hash that differs in its last word only is another hash', () => {
  const hashes = new Uint32Array(2 * HASH_WORDS).fill(5);
  hashes[2 * HASH_WORDS - 1] = 6;
  const index = new OpenOrderIndex();
  index.insert(hashes, 0);
  assert.equal(index.find(hashes, hashes, 0), 0);
  assert.equal(index.find(hashes, hashes, HASH_WORDS), NONE);
  index.insert(hashes, 1);
  index.remove(hashes, 0);
  assert.equal(index.find(hashes, hashes, HASH_WORDS), 1);
});

test('removing a slot that is not in the index is a bug', () => {
  const index = new OpenOrderIndex();
  assert.throws(() => index.remove(new Uint32Array(HASH_WORDS), 0), /OPENINDEX-1/);
});

test('pairs get dense rows once each, and the rows of an account form a chain', () => {
  const pairs = new PairIndex();
  const rows = new Map<string, number>();
  for (let account = 0; account < 300; account++) {
    for (let market = 0; market < 20; market += 1 + (account % 3)) {
      rows.set(`${account}/${market}`, pairs.rowOf(account, market));
    }
  }
  assert.deepEqual(
    [...rows.values()],
    Array.from(rows.keys(), (_, row) => row),
  );
  for (const [pair, row] of rows) {
    const [account, market] = pair.split('/').map(Number);
    assert.equal(pairs.find(account!, market!), row);
    assert.equal(pairs.rowOf(account!, market!), row);
  }
  assert.equal(pairs.find(299, 1), NONE);
  // Also at the end of the column of accounts.
  for (let account = 300; account < 5000; account++) assert.equal(pairs.newestRow(account), NONE);

  const markets: number[] = [];
  for (let row = pairs.newestRow(2); row !== NONE; row = pairs.nextRow(row)) markets.push(pairs.markets[row]);
  assert.deepEqual(markets, [18, 15, 12, 9, 6, 3, 0]);
});
