/** The answers to orders: to an amend, what became of the place in the queue (RULES.md 7.10), and to others as text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardReply } from '../../../../gateway/shardlink/reply.ts';
import {
  amendResponse,
  placedNow,
  placedRowText,
  placementResponse,
  placementText,
} from '../../../../gateway/trading/placementResponse.ts';
import type { PlacedRow, PlacementResponse } from '../../../../shared/api/orders.ts';
import { ORDER_STATUS, SIDE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';

const REPLACED = { order_hash: '0x', remaining: '1', filled_amount: '2', filled_token_quantity_atomic: '3' };

const ORDER = { makerAmount: 40_000_000, takerAmount: 100_000_000, clientId: undefined, groupName: undefined };

test('an amend says whether the order kept its time priority, and whether its price changed', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  const seen: unknown[] = [];
  // The views show a record's effect only until the handler of its reply returns.
  const handler = (reply: ShardReply): void => {
    for (const [a, b] of [
      [1, 0],
      [0, 1],
      [0, 0],
    ]) {
      const placed = placedNow(rig.views, { ...reply, a: a!, b: b! }, ORDER, true);
      const { time_priority, price_changed, price } = amendResponse(placed, ORDER, REPLACED);
      seen.push([time_priority, price_changed, price]);
    }
    seen.push(placedNow(rig.views, reply, ORDER, false).replaced);
  };
  rig.client.place(0, 1, 0, rig.writer(SIDE.BUY, 40), handler, null);
  rig.step();
  await rig.run(rig.client.catchUp(0));
  assert.deepEqual(seen, [
    [true, false, '0.40000000'],
    [false, true, '0.40000000'],
    [false, false, '0.40000000'],
    null,
  ]);
});

test('the text of an answer is the JSON of its members, with and without tags and fills', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  const fill = { tradeId: 'a trade', makerOrderId: 'an order', matchType: 1, lots: 5, ownTicks: 40 };
  let seen = 0;
  const handler = (reply: ShardReply): void => {
    const resting = placedNow(rig.views, reply, ORDER, false);
    const filled = {
      ...resting,
      status: ORDER_STATUS.FILLED,
      facts: { ...resting.facts, status: ORDER_STATUS.FILLED, remainingLots: 0 },
      fills: [fill, fill],
    };
    const cancelled = { ...resting, facts: { ...resting.facts, status: ORDER_STATUS.CANCELLED } };
    for (const placed of [resting, filled, cancelled]) {
      for (const tags of [{}, { clientId: 'mine-1' }, { groupName: 'g' }]) {
        const order = { ...ORDER, ...tags };
        const answer = placementResponse(placed, order);
        assert.equal(placementText(placed, order), JSON.stringify(answer));
        assert.equal(placedRowText(7, placed, order), JSON.stringify(rowOf(7, answer)));
        seen++;
      }
    }
    const both = { ...ORDER, clientId: 'mine-1', groupName: 'of "quotes"' };
    assert.equal(placementText(resting, both), JSON.stringify(placementResponse(resting, both)));
  };
  rig.client.place(0, 1, 0, rig.writer(SIDE.BUY, 40), handler, null);
  rig.step();
  await rig.run(rig.client.catchUp(0));
  assert.equal(seen, 9);
});

/** The row of a batch. */
function rowOf(index: number, { fills, ...response }: PlacementResponse): PlacedRow {
  const { order_hash, order_id } = response;
  return { index, status: 'success', order_hash, order_id, response: { ...response, matches: fills } };
}
