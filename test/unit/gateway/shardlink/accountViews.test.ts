/** Balances as the views show them (RULES.md 3.3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountViews } from '../../../../gateway/shardlink/accountViews.ts';
import { PairIndex } from '../../../../gateway/shardlink/pairIndex.ts';
import { MOVEMENT, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';

const [ALL, HALF] = [100_000_000, 50_000_000];

test('tokens are in the balances while some are available or reserved', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const convert = (movement: typeof MOVEMENT.SPLIT | typeof MOVEMENT.MERGE, amount: number) =>
    rig.run(rig.ask((handler) => rig.client.convert(0, 1, 0, movement, amount, handler, null)));
  const tokens = (): unknown[] =>
    rig.views.accounts
      .allTokens(1)
      .map(({ market, outcome, availableAtomic, reservedAtomic }) => [
        market,
        outcome,
        availableAtomic,
        reservedAtomic,
      ]);
  assert.deepEqual(tokens(), []);
  await convert(MOVEMENT.SPLIT, ALL);
  const noTokens = [0, OUTCOME.NO, ALL, 0];
  assert.deepEqual(tokens(), [[0, OUTCOME.YES, ALL, 0], noTokens]);
  const { slot } = await rig.run(rig.place(rig.record(SIDE.SELL, 60)));
  assert.deepEqual(tokens(), [[0, OUTCOME.YES, 0, ALL], noTokens], 'all of them reserved');
  const hash = rig.hashOf(slot);
  await rig.run(rig.ask((handler) => rig.client.cancel(0, 1, hash, handler, null)));
  await convert(MOVEMENT.MERGE, HALF);
  assert.deepEqual(tokens(), [
    [0, OUTCOME.YES, HALF, 0],
    [0, OUTCOME.NO, HALF, 0],
  ]);
  await convert(MOVEMENT.MERGE, HALF);
  assert.deepEqual(tokens(), []);
});

test('tokens are listed in the order of markets, Yes before No, whichever came first', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  for (const market of [1, 0]) {
    await rig.run(rig.ask((handler) => rig.client.convert(market, 1, market, MOVEMENT.SPLIT, ALL, handler, null)));
  }
  assert.deepEqual(
    rig.views.accounts.allTokens(1).map(({ market, outcome }) => [market, outcome]),
    [
      [0, OUTCOME.YES],
      [0, OUTCOME.NO],
      [1, OUTCOME.YES],
      [1, OUTCOME.NO],
    ],
  );
});

test('an account that no event has named has nothing, wherever the columns end', () => {
  const views = new AccountViews(2, new PairIndex());
  for (const account of [0, 1, 255, 256, 257, 100_000]) {
    assert.equal(views.availableMicro(account), 0);
    assert.equal(views.reservedMicro(account), 0);
    assert.equal(views.lastSequence(account, 1), 0);
    assert.deepEqual(views.allTokens(account), []);
  }
});

test('markets in which an account only had orders are none of its balances, however many', () => {
  const pairs = new PairIndex();
  for (let market = 0; market < 1000; market++) pairs.rowOf(1, market);
  assert.deepEqual(new AccountViews(1, pairs).allTokens(1), []);
});
