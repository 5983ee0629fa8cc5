/** The answers to orders: to an amend, what became of the place in the queue (RULES.md 7.10), and to others as text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardReply } from '../../../../gateway/shardlink/reply.ts';
import { JsonOrder } from '../../../../gateway/trading/orderTerms.ts';
import {
  amendResponse,
  placedNow,
  placedRowText,
  placementResponse,
  placementText,
} from '../../../../gateway/trading/placementResponse.ts';
import type { PlacedRow, PlacementBody, PlacementResponse } from '../../../../shared/api/orders.ts';
import { ORDER_STATUS, SIDE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';

const REPLACED = { order_hash: '0x', remaining: '1', filled_amount: '2', filled_token_quantity_atomic: '3' };

test('an amend says whether the order kept its time priority, and whether its price changed', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  const body = { maker_amount: '40000000', taker_amount: '100000000' } as PlacementBody;
  const seen: unknown[] = [];
  // The views show a record's effect only until the handler of its reply returns.
  const handler = (reply: ShardReply): void => {
    for (const [a, b] of [
      [1, 0],
      [0, 1],
      [0, 0],
    ]) {
      const placed = placedNow(rig.views, { ...reply, a: a!, b: b! }, new JsonOrder(body), true);
      const { time_priority, price_changed, price } = amendResponse(placed, new JsonOrder(body), REPLACED);
      seen.push([time_priority, price_changed, price]);
    }
    seen.push(placedNow(rig.views, reply, new JsonOrder(body), false).replaced);
  };
  rig.client.place(0, 1, 0, rig.record(SIDE.BUY, 40), handler, null);
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
  const amounts = { maker_amount: '40000000', taker_amount: '100000000' } as PlacementBody;
  const fill = { tradeId: 'a trade', makerOrderId: 'an order', matchType: 1, lots: 5, ownTicks: 40 };
  let seen = 0;
  const handler = (reply: ShardReply): void => {
    const resting = placedNow(rig.views, reply, new JsonOrder(amounts), false);
    const filled = {
      ...resting,
      status: ORDER_STATUS.FILLED,
      facts: { ...resting.facts, status: ORDER_STATUS.FILLED, remainingLots: 0 },
      fills: [fill, fill],
    };
    const cancelled = { ...resting, facts: { ...resting.facts, status: ORDER_STATUS.CANCELLED } };
    for (const placed of [resting, filled, cancelled]) {
      for (const tags of [{}, { client_order_id: 'mine-1' }, { order_group: 'g' }]) {
        const terms = new JsonOrder({ ...amounts, ...tags });
        const answer = placementResponse(placed, terms);
        assert.equal(placementText(placed, terms), JSON.stringify(answer));
        assert.equal(placedRowText(7, placed, terms), JSON.stringify(rowOf(7, answer)));
        seen++;
      }
    }
    const both = new JsonOrder({ ...amounts, client_order_id: 'mine-1', order_group: 'of "quotes"' });
    assert.equal(placementText(resting, both), JSON.stringify(placementResponse(resting, both)));
  };
  rig.client.place(0, 1, 0, rig.record(SIDE.BUY, 40), handler, null);
  rig.step();
  await rig.run(rig.client.catchUp(0));
  assert.equal(seen, 9);
});

/** The row of a batch. */
function rowOf(index: number, { fills, ...response }: PlacementResponse): PlacedRow {
  const { order_hash, order_id } = response;
  return { index, status: 'success', order_hash, order_id, response: { ...response, matches: fills } };
}
