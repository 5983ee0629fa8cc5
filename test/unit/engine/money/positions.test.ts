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
