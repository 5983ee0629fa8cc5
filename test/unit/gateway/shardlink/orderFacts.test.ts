/** The facts of an open order: what every answer about it is made of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OrderCopies } from '../../../../gateway/shardlink/orderCopies.ts';
import { openOrderFacts } from '../../../../gateway/shardlink/orderFacts.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';

test('each order has its own hash and amounts, from the open orders and from copies of them', async (t) => {
  const rig = new ClientRig(t, { shards: 1 });
  await rig.start();
  const slots: number[] = [];
  for (const ticks of [40, 41, 42]) slots.push((await rig.run(rig.place(rig.record(SIDE.BUY, ticks)))).slot);
  await rig.run(rig.place(rig.record(SIDE.BUY, 58, OUTCOME.NO)));
  const [orders] = rig.views.orders;
  // The last one, at the best price, is gone.
  const open = slots.slice(0, 2);
  const copies = new OrderCopies(orders, 0, open);
  for (const [row, slot] of open.entries()) {
    const facts = openOrderFacts(rig.views, orders, slot);
    const { buffer, byteOffset, byteLength } = rig.hashOf(slot);
    assert.deepEqual(Buffer.from(facts.hash), Buffer.from(buffer, byteOffset, byteLength));
    const limitTicks = 40 + row;
    assert.deepEqual(
      [facts.limitTicks, facts.makerAmount, facts.takerAmount, facts.quantityLots, facts.remainingLots],
      [limitTicks, 1_000_000 * limitTicks, 100_000_000, 1_000_000, 1_000_000],
    );
    assert.deepEqual(openOrderFacts(rig.views, copies, row), facts);
  }
});
