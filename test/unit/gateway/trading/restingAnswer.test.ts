/** The answer to an order that rests whole has the bytes of placementText, which writes every other answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardReply } from '../../../../gateway/shardlink/reply.ts';
import { placedNow, placementText } from '../../../../gateway/trading/placementResponse.ts';
import { restingAnswer } from '../../../../gateway/trading/restingAnswer.ts';
import { MAX_ORDER_AMOUNT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';
import { Random } from '../../../support/random.ts';
import type { RecordWriter } from '../../../support/recordWriter.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

type Check = (rig: ClientRig, reply: ShardReply) => void;

const ORDERS = timesOf({ suite: 200, soak: 20_000 });

/** Places the order; the views show its record's effect only until the handler of its reply returns. */
async function place(rig: ClientRig, record: RecordWriter, check: Check): Promise<void> {
  let seen = 0;
  const handler = (reply: ShardReply): void => {
    assert.equal(reply.code, 0);
    check(rig, reply);
    seen++;
  };
  rig.client.place(0, 1, 0, record, handler, null);
  rig.step();
  await rig.run(rig.client.catchUp(0));
  assert.equal(seen, 1);
}

function amountsOf(makerAmount: number) {
  return { makerAmount, takerAmount: 100_000_000, clientId: undefined, groupName: undefined };
}

test('the answer to an order that rests whole has the bytes of placementText, for amounts of any length', async (t) => {
  const seed = seedOr(1);
  t.diagnostic(`SEED=${seed}`);
  const random = new Random(seed);
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  const amounts = [1, 9, 10, MAX_ORDER_AMOUNT - 1, MAX_ORDER_AMOUNT];
  for (let count = 0; count < ORDERS; count++) {
    // Up to MAX_ORDER_AMOUNT, with as many digits as chance will have it.
    const amount = amounts[count] ?? Math.ceil(((random.next() + 1) / 2 ** 32) * 10 ** random.between(0, 15));
    const order = amountsOf(amount);
    await place(rig, rig.writer(SIDE.BUY, random.between(1, 3)), ({ views }, reply) => {
      const answer = restingAnswer(views, reply, order);
      assert.equal(answer?.toString(), placementText(placedNow(views, reply, order, false), order));
    });
  }
});

test('an order with a tag, a fill or an end has no resting answer', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  const amounts = amountsOf(40_000_000);
  await place(rig, rig.writer(SIDE.BUY, 40), ({ views }, reply) => {
    assert.notEqual(restingAnswer(views, reply, amounts), null);
    for (const tag of [{ clientId: 'mine' }, { groupName: 'quotes' }]) {
      assert.equal(restingAnswer(views, reply, { ...amounts, ...tag }), null);
    }
  });
  // Bids for both outcomes meet where their prices add up to a whole.
  for (const timeInForce of [TIME_IN_FORCE.FAK, TIME_IN_FORCE.GTC]) {
    await place(rig, rig.writer(SIDE.BUY, 60, OUTCOME.NO, timeInForce), ({ views }, reply) => {
      assert.equal(reply.result.fills, 1);
      assert.equal(restingAnswer(views, reply, amounts), null);
    });
    await place(rig, rig.writer(SIDE.BUY, 40), () => undefined);
  }
});
