/** Balances as the views show them (RULES.md 3.3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
