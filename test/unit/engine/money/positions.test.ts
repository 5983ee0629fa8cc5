/** The rows of holders: one for each account in a market, for ever, and all of a market in a list (POSITIONS-3). */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Positions } from '../../../../engine/money/positions.ts';

it('an account that never held anything in a market has no row, and looking makes none', () => {
  const positions = new Positions();
  assert.equal(positions.find(1, 0), -1);
  assert.equal(positions.count, 0);
});

it('a row belongs to one account in one market, for ever', () => {
  const positions = new Positions();
  const row = positions.rowOf(3, 5);
  assert.equal(positions.rowOf(3, 5), row);
  assert.notEqual(positions.rowOf(5, 3), row);
  assert.equal(positions.find(3, 5), row);
  assert.equal(positions.find(3, 6), -1);
  assert.equal(positions.find(0xffff, 5), -1);
});

it('keeps what rows hold through every growth', () => {
  const positions = new Positions();
  const accounts = 60;
  const markets = 60;
  for (let account = 0; account < accounts; account++) {
    for (let market = 0; market < markets; market++) {
      const row = positions.rowOf(account, market);
      positions.available[row * 2] = account * 1000 + market;
      positions.reserved[row * 2 + 1] = market * 1000 + account;
    }
  }
  assert.equal(positions.count, accounts * markets);
  for (let account = 0; account < accounts; account++) {
    for (let market = 0; market < markets; market++) {
      const row = positions.find(account, market);
      assert.deepEqual([positions.pairs.accounts[row], positions.pairs.markets[row]], [account, market]);
      assert.equal(positions.available[row * 2], account * 1000 + market);
      assert.equal(positions.available[row * 2 + 1], 0);
      assert.equal(positions.reserved[row * 2 + 1], market * 1000 + account);
    }
  }
});

/** The rows of a market, as its end walks them. */
function holdersOf(positions: Positions, market: number): number[] {
  const rows: number[] = [];
  for (let row = positions.firstOf(market); row !== -1; row = positions.nextOf(row)) rows.push(row);
  return rows;
}

// The columns by market begin with 64 and are doubled.
for (const market of [0, 63, 64, 65, 127, 128, 129, 1000]) {
  it(`POSITIONS-3: market ${market} leads to all its holders in order, whichever number came before it`, () => {
    const positions = new Positions();
    assert.deepEqual(holdersOf(positions, market), [], 'nobody holds anything there');
    const rows: number[] = [];
    for (const account of [7, 3, 9]) {
      rows.push(positions.rowOf(account, market));
      positions.rowOf(account, market + 1);
    }
    assert.deepEqual(holdersOf(positions, market), rows);
    positions.validate();
  });
}

it('POSITIONS-3: a market leads to all its holders through every growth of rows and of markets', () => {
  const positions = new Positions();
  const rows: number[][] = Array.from({ length: 300 }, () => []);
  for (let account = 1; account <= 20; account++) {
    for (let market = 0; market < rows.length; market++) {
      const row = positions.rowOf(account, market);
      rows[market]!.push(row);
      positions.reserved[row * 2] = account;
      positions.touched[row] = market;
    }
  }
  positions.validate();
  for (const [market, expected] of rows.entries()) {
    assert.deepEqual(holdersOf(positions, market), expected, `market ${market}`);
    const held = expected.map((row) => [positions.reserved[row * 2], positions.touched[row]]);
    assert.deepEqual(
      held,
      expected.map((_, index) => [index + 1, market]),
    );
  }
});
