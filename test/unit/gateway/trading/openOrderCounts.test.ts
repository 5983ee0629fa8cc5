/** The orders of an account that are open or on their way, over the loss of a shard too (RULES.md 2.11). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Views } from '../../../../gateway/shardlink/views.ts';
import { OpenOrderCounts } from '../../../../gateway/trading/openOrderCounts.ts';
import { SIDE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { ClientRig } from '../../../support/clientRig.ts';

const [ANN, BOB] = [1, 2];
const [RAIN, SNOW, WIND] = [10, 11, 12];
const [EAST, WEST] = [0, 1];

function rig(inAll: number, inMarket: number) {
  const ready = new Set([EAST, WEST]);
  const bounds = { inAll, inMarket };
  const engine = { isReady: (shard: number) => ready.has(shard) };
  const counts = new OpenOrderCounts(new Views(2), engine, { of: () => bounds });
  const claim = (account: number, market: number): boolean =>
    counts.tryClaim(account, market, market === WIND ? WEST : EAST, null);
  return { bounds, claim, counts, ready };
}

test('orders on their way count in their market and in all of them, until they are answered', () => {
  const { claim, counts } = rig(3, 2);
  assert.deepEqual([claim(ANN, RAIN), claim(ANN, RAIN), claim(ANN, RAIN)], [true, true, false]);
  assert.deepEqual([claim(ANN, SNOW), claim(ANN, WIND)], [true, false]);
  assert.ok(claim(BOB, RAIN), 'another account has bounds of its own');
  counts.release(ANN, RAIN, E.INVALID_TICK, EAST);
  assert.deepEqual([claim(ANN, WIND), claim(ANN, RAIN)], [true, false]);
  counts.release(ANN, SNOW, OK, EAST);
  assert.deepEqual([claim(ANN, RAIN), claim(ANN, RAIN)], [true, false]);
});

test('a bound that is lowered takes nothing away and lets nothing more in', () => {
  const { bounds, claim, counts } = rig(3, 3);
  for (const market of [RAIN, RAIN, SNOW]) assert.ok(claim(ANN, market));
  Object.assign(bounds, { inAll: 2 });
  counts.release(ANN, RAIN, OK, EAST);
  assert.equal(claim(ANN, RAIN), false);
  counts.release(ANN, RAIN, OK, EAST);
  assert.equal(claim(ANN, RAIN), true);
});

test('an order that was lost with its shard counts until that shard is back, whatever the others do', () => {
  const { claim, counts, ready } = rig(2, 2);
  assert.deepEqual([claim(ANN, RAIN), claim(ANN, WIND)], [true, true]);
  ready.delete(EAST);
  counts.release(ANN, RAIN, E.OUTCOME_UNKNOWN, EAST);
  assert.equal(claim(ANN, WIND), false);
  counts.release(ANN, WIND, OK, WEST);
  assert.deepEqual([claim(ANN, WIND), claim(ANN, WIND)], [true, false]);
  ready.add(EAST);
  assert.deepEqual([claim(ANN, SNOW), claim(ANN, SNOW)], [true, false]);
});

test('an order that is replaced makes room for the one that replaces it, if it is open, and theirs', async (t) => {
  const client = new ClientRig(t);
  await client.start();
  const { slot } = await client.run(client.place(client.record(SIDE.BUY, 40)));
  const hash = client.hashOf(slot);
  const bounds = { inAll: 1, inMarket: 1 };
  const counts = new OpenOrderCounts(client.views, { isReady: () => true }, { of: () => bounds });
  const claims = (account: number, market: number, replaced: Uint32Array | null): boolean => {
    const isClaimed = counts.tryClaim(account, market, market, replaced);
    if (isClaimed) counts.release(account, market, OK, market);
    return isClaimed;
  };
  assert.equal(claims(1, 0, null), false);
  assert.equal(claims(1, 0, hash), true);
  assert.equal(claims(1, 0, new Uint32Array(8).fill(9)), false, 'an order that is not open');
  assert.equal(claims(1, 1, hash), false, 'an order of another market');
  assert.ok(counts.tryClaim(1, 0, 0, hash));
  assert.equal(counts.tryClaim(1, 0, 0, hash), false, 'one order makes room for one');
  counts.release(1, 0, OK, 0);
  Object.assign(bounds, { inAll: 2 });
  assert.equal(claims(1, 0, null), false, 'the bound of the market');
  assert.equal(claims(1, 1, null), true);
  assert.ok(counts.tryClaim(2, 0, 0, hash));
  assert.equal(counts.tryClaim(2, 0, 0, hash), false, 'an order of another account');
});
