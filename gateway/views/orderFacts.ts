/** An open order as shared/orderMath.ts wants to be told of it. */
import { ORDER_STATUS, SIDE } from '../../shared/codes.ts';
import { kindBits, kindOutcome, kindSide, kindTimeInForce, PLACE_BIT_POST_ONLY } from '../../shared/commands.ts';
import { HASH_BYTES } from '../../shared/hex.ts';
import type { OrderFacts } from '../../shared/orderMath.ts';
import type { Views } from './index.ts';
import type { OpenOrders } from './orders.ts';

/** What rests is on the grid, so its signed amounts follow from lots and limit. */
export function openOrderFacts(views: Views, orders: OpenOrders, slot: number): OrderFacts {
  const market = orders.marketOf(slot);
  const ticksPerUnit = views.markets.ticksPerUnit(market);
  const kind = orders.kind[slot]!;
  const quantityLots = orders.quantityLots[slot]!;
  const remainingLots = orders.remainingLots[slot]!;
  const limitTicks = orders.limitTicks[slot]!;
  const notionalMicro = quantityLots * limitTicks;
  const tokensAtomic = quantityLots * ticksPerUnit;
  const isBuy = kindSide(kind) === SIDE.BUY;
  return {
    id: orders.orderId(slot),
    hash: new Uint8Array(orders.hash.buffer, slot * HASH_BYTES, HASH_BYTES),
    marketId: views.markets.id(market),
    ticksPerUnit,
    side: kindSide(kind),
    outcome: kindOutcome(kind),
    timeInForce: kindTimeInForce(kind),
    postOnly: (kindBits(kind) & PLACE_BIT_POST_ONLY) !== 0,
    limitTicks,
    makerAmount: isBuy ? notionalMicro : tokensAtomic,
    takerAmount: isBuy ? tokensAtomic : notionalMicro,
    quantityLots,
    remainingLots,
    filledNotionalMicro: orders.filledNotionalMicro[slot]!,
    status: remainingLots === quantityLots ? ORDER_STATUS.OPEN : ORDER_STATUS.PARTIALLY_FILLED,
    createdMs: orders.createdMs[slot]!,
    orderSequence: orders.orderSequence[slot]!,
    clientOrderId: orders.clientIdOf(slot),
  };
}
