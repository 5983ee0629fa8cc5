import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_ROW, PairTable } from '../../../../shared/base/pairTable.ts';
import { Random } from '../../../support/random.ts';

test('a missing pair is not found, whichever row holds its slot', () => {
  const table = new PairTable();
  const isThere = new Set<string>();
  for (let row = 0; row < 40; row++) {
    // Each row in turn is the one that others meet on their way.
    for (let account = 0; account < 400; account++) {
      for (let market = 0; market < 64; market++) {
        const found = table.find(account, market);
        if (isThere.has(`${account}/${market}`)) {
          assert.deepEqual([table.accounts[found], table.markets[found]], [account, market]);
        } else assert.equal(found, NO_ROW, `${account}/${market} beside ${row} rows`);
      }
    }
    const [account, market] = [(row * 7) % 64, (row * 13 + (row >> 5)) % 64];
    if (isThere.has(`${account}/${market}`)) continue;
    const { count } = table;
    assert.equal(table.rowOf(account, market), count);
    assert.equal(table.rowOf(account, market), count, 'once');
    isThere.add(`${account}/${market}`);
    assert.equal(table.count, isThere.size);
  }
});

test('PAIRS-1, -2: rows are those of a Map, before and after each division has got new cells, and when loaded', () => {
  const random = new Random(26);
  const table = new PairTable();
  const twin = new Map<string, number>();
  // Accounts up to the last there may be, many with the same market, and the largest number of a market.
  const accountOf = [() => 1 + random.below(3000), () => 2 ** 26 - 1 - random.below(3000), () => random.below(2 ** 26)];
  for (let step = 0; step < 40_000; step++) {
    const account = accountOf[random.below(3)]!();
    const market = random.below(4) === 0 ? 2 ** 32 - 1 : random.below(5);
    const key = `${account}/${market}`;
    const known = twin.get(key);
    assert.equal(table.find(account, market), known ?? NO_ROW, `${key} at ${step}`);
    assert.equal(table.rowOf(account, market), known ?? twin.size, `${key} at ${step}`);
    if (known === undefined) twin.set(key, twin.size);
  }
  assert.equal(table.count, twin.size);
  table.validate();
  const loaded = new PairTable();
  loaded.rowOf(1, 1);
  loaded.load(table.count, table.accounts, table.markets);
  loaded.validate();
  for (const [key, row] of twin) {
    const [account, market] = key.split('/').map(Number);
    assert.deepEqual([table.find(account!, market!), loaded.find(account!, market!)], [row, row], key);
  }
});
