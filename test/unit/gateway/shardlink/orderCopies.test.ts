/** Copies of open orders, which an answer is written from while the orders change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OrderCopies } from '../../../../gateway/shardlink/orderCopies.ts';
import { SIDE } from '../../../../shared/base/codes.ts';
import { ClientRig } from '../../../support/clientRig.ts';

test('a copy has every column of its order, row by row, and keeps it when the order is gone', async (t) => {
  const rig = new ClientRig(t);
  await rig.start();
  const slots: number[] = [];
  for (const ticks of [40, 41, 42, 39]) slots.push((await rig.run(rig.place(rig.record(SIDE.BUY, ticks)))).slot);
  await rig.run(rig.place(rig.record(SIDE.SELL, 42), 1));
  const [orders] = rig.views.orders;
  const chosen = [slots[3], slots[1]];
  const copies = new OrderCopies(orders, 0, chosen);
  const shown = (from: OrderCopies | typeof orders, row: number): unknown[] => [
    [...from.hash.subarray(row * 8, row * 8 + 8)],
    from.kind[row],
    from.limitTicks[row],
    from.quantityLots[row],
    from.remainingLots[row],
    from.filledNotionalMicro[row],
    from.orderSequence[row],
    from.createdMs[row],
    from.orderId(row),
    from.clientIdOf(row),
    from.groupOf(row),
    from.marketOf(row),
  ];
  const before = chosen.map((slot) => shown(orders, slot));
  assert.equal(copies.count, 2);
  assert.notDeepEqual(before[0], before[1]);
  const hash = rig.hashOf(slots[1]);
  await rig.run(rig.ask((handler) => rig.client.cancel(0, 1, hash, handler, null)));
  assert.deepEqual(
    chosen.map((_, row) => shown(copies, row)),
    before,
  );
});
