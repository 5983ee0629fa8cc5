/**
 * The audit's own interpretation of a signed order, in bigint: the limit and the lots from its two amounts, and how
 * much of the order its fills have completed (RULES.md 1.2 to 1.6). It shares no code with core/grid.ts and
 * shared/base/orderMath.ts, so that an error there is found.
 */
import { ORDER_STATUS, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';

/** Codes as in shared/base/codes.ts. */
export type SignedOrder = {
  readonly side: number;
  readonly timeInForce: number;
  readonly makerAmount: bigint;
  readonly takerAmount: bigint;
};

type LimitAndLots = {
  /** The worst tick that the signature allows: a buyer never pays more, a seller never receives less. */
  readonly limitTicks: bigint;
  readonly lots: bigint;
  /** RULES.md 1.4: an order with these amounts may be accepted. */
  readonly isOnGrid: boolean;
};

export function limitAndLotsOf(order: SignedOrder, ticksPerUnit: bigint): LimitAndLots {
  const { usdc, tokens } = assetsOf(order);
  const exact = usdc * ticksPerUnit;
  const hasPart = exact % tokens !== 0n;
  const lastTick = ticksPerUnit - 1n;
  let limitTicks = exact / tokens;
  if (order.side === SIDE.SELL) limitTicks += hasPart ? 1n : 0n;
  else if (mayBeOffGrid(order) && limitTicks > lastTick) limitTicks = lastTick;
  const isPrice = limitTicks >= 1n && limitTicks <= lastTick;
  const isWhole = mayBeOffGrid(order) || (!hasPart && tokens % ticksPerUnit === 0n);
  return { limitTicks, lots: tokens / ticksPerUnit, isOnGrid: isPrice && isWhole };
}

/** RULES.md 1.6, in the asset that the order gives. @param filledTokens the sum over all fills so far. */
export function doneOf(
  order: SignedOrder,
  filledTokens: bigint,
  status: number,
): { readonly filled: bigint; readonly remaining: bigint } {
  const { makerAmount, takerAmount } = order;
  if (status === ORDER_STATUS.FILLED) return { filled: makerAmount, remaining: 0n };
  const filled = order.side === SIDE.SELL ? filledTokens : (makerAmount * filledTokens) / takerAmount;
  const isKilled = status === ORDER_STATUS.CANCELLED && mayBeOffGrid(order);
  return { filled, remaining: isKilled ? 0n : makerAmount - filled };
}

function assetsOf({ side, makerAmount, takerAmount }: SignedOrder): { usdc: bigint; tokens: bigint } {
  return side === SIDE.BUY ? { usdc: makerAmount, tokens: takerAmount } : { usdc: takerAmount, tokens: makerAmount };
}

/** FOK and FAK never rest in a book. */
function mayBeOffGrid({ timeInForce }: SignedOrder): boolean {
  return timeInForce === TIME_IN_FORCE.FOK || timeInForce === TIME_IN_FORCE.FAK;
}
