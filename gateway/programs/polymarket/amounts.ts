/** Brings an order of theirs onto the grid of the exchange, in lots and ticks. */
import type { Listed } from './catalogue.ts';
import { Refusal } from './reply.ts';
import type { SignedOrder } from './signedOrder.ts';

export type OrderKind = 'GTC' | 'GTD' | 'FOK' | 'FAK';
export type LimitAndLots = { readonly limitTicks: bigint; readonly lots: bigint };

/** A limit so near a tick is that tick: clients round the tokens of a market order, and with them its price. */
const NEAR = 10_000n;

/** Of an order that may rest, which is on the grid, and of a sale. @throws Refusal */
export function limitAndLotsOf(order: SignedOrder, kind: OrderKind, { ticksPerUnit, tick }: Listed): LimitAndLots {
  const isBuy = order.side === 'BUY';
  const [usdc, tokens] = isBuy ? [order.makerAmount, order.takerAmount] : [order.takerAmount, order.makerAmount];
  const lotAtomic = BigInt(ticksPerUnit);
  const lots = tokens / lotAtomic;
  const limitTicks = nearestTicks(usdc, tokens, lotAtomic, isBuy);
  if (limitTicks < 1n || limitTicks >= lotAtomic) throw offTick(tick);
  if (kind === 'GTC' || kind === 'GTD') {
    if (tokens % lotAtomic !== 0n)
      throw new Refusal(400, 'INVALID_ORDER_MIN_SIZE: the size is no whole number of lots');
    if (lots * limitTicks !== usdc) throw offTick(tick);
  }
  return { limitTicks, lots };
}

/** A purchase at the market: so much USDC, and a limit. @throws Refusal */
export function limitOf(order: SignedOrder, { ticksPerUnit, tick }: Listed): bigint {
  const lotAtomic = BigInt(ticksPerUnit);
  const limit = nearestTicks(order.makerAmount, order.takerAmount, lotAtomic, true);
  if (limit < 1n) throw offTick(tick);
  return limit < lotAtomic ? limit : lotAtomic - 1n;
}

/** No worse than signed, but for less than a ten-thousandth of a tick. */
function nearestTicks(usdc: bigint, tokens: bigint, lotAtomic: bigint, isBuy: boolean): bigint {
  const scaled = usdc * lotAtomic;
  const down = scaled / tokens;
  const rest = scaled % tokens;
  if (rest === 0n) return down;
  const isNearUp = (tokens - rest) * NEAR <= tokens;
  const isNearDown = rest * NEAR <= tokens;
  return isBuy ? down + (isNearUp ? 1n : 0n) : down + (isNearDown ? 0n : 1n);
}

function offTick(tick: string): Refusal {
  return new Refusal(400, `INVALID_ORDER_MIN_TICK_SIZE: the price is no step of ${tick} between 0 and 1`);
}
