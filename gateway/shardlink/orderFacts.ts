/** The facts of an open order in the form that shared/base/orderMath.ts computes with. */
import { SIDE, statusOfFills } from '../../shared/base/codes.ts';
import { HASH_BYTES } from '../../shared/base/hex.ts';
import type { OrderFacts } from '../../shared/base/orderMath.ts';
import { kindBits, kindOutcome, kindSide, kindTimeInForce, PLACE_BIT_POST_ONLY } from '../../shared/wire/commands.ts';
import type { OpenOrders } from './orderViews.ts';
import type { Views } from './views.ts';

/** The facts of an order are read from the open orders themselves, or from copies of some (orderCopies.ts). */
export type OrderColumns = Pick<
  OpenOrders,
  | 'hash'
  | 'kind'
  | 'limitTicks'
  | 'quantityLots'
  | 'remainingLots'
  | 'filledNotionalMicro'
  | 'orderSequence'
  | 'createdMs'
  | 'marketOf'
  | 'orderId'
  | 'clientIdOf'
  | 'groupOf'
>;

/** Made for the caller, who may change it. */
type OwnFacts = { -readonly [member in keyof OrderFacts]: OrderFacts[member] };

/** A resting order is on the grid, so its signed amounts follow from lots and limit. */
export function openOrderFacts(views: Views, orders: OrderColumns, slot: number): OwnFacts {
  const market = orders.marketOf(slot);
  const ticksPerUnit = views.markets.ticksPerUnit(market);
  const kind = orders.kind[slot];
  const quantityLots = orders.quantityLots[slot];
  const remainingLots = orders.remainingLots[slot];
  const limitTicks = orders.limitTicks[slot];
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
    filledNotionalMicro: orders.filledNotionalMicro[slot],
    status: statusOfFills(quantityLots, remainingLots),
    createdMs: orders.createdMs[slot],
    orderSequence: orders.orderSequence[slot],
    clientOrderId: orders.clientIdOf(slot),
  };
}
