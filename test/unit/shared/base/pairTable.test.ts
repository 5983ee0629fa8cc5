import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_ROW, PairTable } from '../../../../shared/base/pairTable.ts';

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
