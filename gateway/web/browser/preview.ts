/**
 * Turns the inputs of the ticket into an order and computes its cost and gain exactly, in ticks, lots and micro-USDC,
 * as the exchange does (RULES.md 2.3). An order that the exchange would refuse is refused here, in words. If a refusal
 * depends on the present book it is only a warning, because the book may have changed when the order arrives.
 *
 * Invariants:
 *   PREVIEW-1  A buyer pays at most `notionalMicro`; a seller whose order is filled completely gets at least
 *              `receivedAtomic`. Both are computed at the limit price, and no fill is worse.
 */
import {
  NOT_A_NUMBER,
  sumToDecimal,
  tickToPrice,
  tryParsePriceTicks,
  tryParseUnits,
} from '../../../shared/base/units.ts';
import { atMarket } from '../../../shared/client/atMarket.ts';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import { feeOf, type Side, type Sweep, sweep } from '../../../shared/client/sweep.ts';
import type { SelfTradeName, TimeInForceName } from '../../../shared/client/types.ts';
import { doubtOf, typedDecimal } from './typedNumber.ts';

/** `MARKET` takes the present orders of the book at once, for an amount of money or of tokens. */
export type Kind = TimeInForceName | 'MARKET';

/** The inputs as typed. */
export type Ticket = {
  readonly side: Side;
  readonly kind: Kind;
  /** The limit in cents: "55.5". */
  readonly cents: string;
  /** In tokens. */
  readonly size: string;
  /** The USDC that a buyer at the market spends. */
  readonly budget: string;
  /** True if a buyer at the market says how many tokens, instead of how much USDC. */
  readonly isInTokens: boolean;
  /** Ticks by which an order at the market may trade at worse prices than the book shows. */
  readonly slippageTicks: number;
  /** Time of GTD in the browser's time zone: "2026-11-22T18:00". */
  readonly expiresAt: string;
  readonly isPostOnly: boolean;
  /** The least amount after the fee that FOK and FAK must receive; empty for none. */
  readonly leastNet: string;
  readonly selfTrade: SelfTradeName;
};

export type Grid = {
  readonly ticksPerUnit: number;
  readonly minSizeAtomic: number;
  readonly feeBps: number;
  /** Tokens of the outcome if no other order sells any: then all lots may be sold, however few. */
  readonly freeHoldingAtomic?: bigint | null;
};

export type Preview = {
  /** The limit, in USDC: "0.555". */
  readonly price: string;
  readonly limitTicks: number;
  readonly sizeAtomic: bigint;
  readonly timeInForce: TimeInForceName;
  readonly expirationSec: number;
  readonly leastNetAtomic: bigint;
  /** USDC that a buyer pays, or that a seller receives before the fee, if everything is filled at the limit. */
  readonly notionalMicro: bigint;
  /** A buyer pays the fee in tokens, a seller in USDC. */
  readonly feeAtomic: bigint;
  /** Tokens of a buyer or USDC of a seller, after the fee. */
  readonly receivedAtomic: bigint;
  /** The part that would trade with the present book. */
  readonly taken: Sweep;
  /** Why the exchange would refuse the order with the present book; null if it would not. */
  readonly warning: string | null;
};

export type Problem = { readonly field: 'price' | 'size' | 'budget' | 'expiry' | 'net'; readonly text: string };

type Traded = Pick<Sweep, 'filledAtomic' | 'notionalMicro'>;

const SECOND_MS = 1000;
/** Hundredths of a cent in a USDC, and millionths in a hundredth. */
const HUNDREDTHS_A_UNIT = 10_000n;

export function preview(ticket: Ticket, grid: Grid, book: Levels, nowMs: number): Preview | Problem {
  const limited = ticket.kind === 'MARKET' ? marketOrder(ticket, grid, book) : limitOrder(ticket, grid);
  if ('text' in limited) return limited;
  const { limitTicks, sizeAtomic } = limited;
  const { ticksPerUnit, minSizeAtomic, feeBps } = grid;
  const sellsAll = ticket.side === 'SELL' && sizeAtomic === wholeLots(grid.freeHoldingAtomic ?? 0n, ticksPerUnit);
  if (sizeAtomic < BigInt(minSizeAtomic) && !sellsAll) {
    const least = `The smallest order is of ${sumToDecimal(BigInt(minSizeAtomic))} tokens.`;
    return {
      field: 'size',
      text: ticket.kind === 'MARKET' ? `${least} This one is of ${sumToDecimal(sizeAtomic)}.` : least,
    };
  }
  const expirationSec = ticket.kind === 'GTD' ? expiryOf(ticket.expiresAt, nowMs) : 0;
  if (typeof expirationSec !== 'number') return expirationSec;
  const leastNetAtomic = leastNetOf(ticket);
  if (typeof leastNetAtomic !== 'bigint') return leastNetAtomic;
  const notionalMicro = (sizeAtomic / BigInt(ticksPerUnit)) * BigInt(limitTicks);
  const gross = ticket.side === 'BUY' ? sizeAtomic : notionalMicro;
  const feeAtomic = feeOf(gross, feeBps);
  const found = {
    price: tickToPrice(limitTicks, ticksPerUnit),
    limitTicks,
    sizeAtomic,
    timeInForce: ticket.kind === 'MARKET' ? 'FAK' : ticket.kind,
    expirationSec,
    leastNetAtomic,
    notionalMicro,
    feeAtomic,
    receivedAtomic: gross - feeAtomic,
    taken: sweep(book, ticket.side, ticksPerUnit, sizeAtomic, limitTicks),
  } as const;
  return { ...found, warning: warningOf(found, ticket, feeBps) };
}

/** True if the amount of the order is money: that of a buyer at the market who has not chosen tokens. */
export function spendsBudget({ side, kind, isInTokens }: Ticket): boolean {
  return kind === 'MARKET' && side === 'BUY' && !isInTokens;
}

/**
 * Returns where a limit begins, in cents: the best price on the other side for an order that trades, on the own side
 * for one that waits; empty if the book has no price at all.
 */
export function startCents({ bids, asks }: Levels, side: Side, isMaker: boolean, ticksPerUnit: number): string {
  const centsAt = (level: { readonly price: string }): string =>
    centsOf(tryParsePriceTicks(level.price, ticksPerUnit), ticksPerUnit);
  const [own, other] = side === 'BUY' ? [bids[0], asks[0]] : [asks[0], bids[0]];
  const [first, second] = isMaker ? [own, other] : [other, own];
  if (first !== undefined) return centsAt(first);
  if (second === undefined) return '';
  // A maker beside an empty side begins next to the other one.
  return isMaker ? stepCents(centsAt(second), ticksPerUnit, side === 'BUY' ? -1 : 1) : centsAt(second);
}

/** The average price of a sweep in cents, "41.85": a buyer's rounded up and a seller's down, so never flattering. */
export function averageCents({ filledAtomic, notionalMicro }: Traded, side: Side): string {
  const hundredths = notionalMicro * HUNDREDTHS_A_UNIT;
  const rounded = (side === 'BUY' ? hundredths + filledAtomic - 1n : hundredths) / filledAtomic;
  return sumToDecimal(rounded * HUNDREDTHS_A_UNIT);
}

export function wholeLots(atomic: bigint, ticksPerUnit: number): bigint {
  return atomic - (atomic % BigInt(ticksPerUnit));
}

/** Returns the price in cents one or more ticks further, within the grid: for the arrow keys. */
export function stepCents(cents: string, ticksPerUnit: number, byTicks: number): string {
  const ticks = ticksOf(cents, ticksPerUnit);
  if (ticks === NOT_A_NUMBER) return cents;
  const from = ticks + byTicks;
  return centsOf(Math.min(ticksPerUnit - 1, Math.max(1, from)), ticksPerUnit);
}

/** "55.5" for tick 555 of 1000. */
export function centsOf(ticks: number, ticksPerUnit: number): string {
  return String((ticks * 10_000) / ticksPerUnit / 100);
}

type Limited = { readonly limitTicks: number; readonly sizeAtomic: bigint };

function limitOrder({ cents, size }: Ticket, { ticksPerUnit }: Grid): Limited | Problem {
  if (cents.trim() === '') return { field: 'price', text: 'Type a price: the book has none to begin with.' };
  const limitTicks = ticksOf(cents, ticksPerUnit);
  const step = centsOf(1, ticksPerUnit);
  if (limitTicks === NOT_A_NUMBER) {
    const last = centsOf(ticksPerUnit - 1, ticksPerUnit);
    return { field: 'price', text: doubtOf(cents) ?? `The price is a step of ${step}¢ from ${step}¢ to ${last}¢.` };
  }
  const sizeAtomic = sizeOf(size, ticksPerUnit);
  return typeof sizeAtomic === 'bigint' ? { limitTicks, sizeAtomic } : sizeAtomic;
}

/** The slippage is added to the last price that the order reaches now, which the ticket shows (SWEEP-1). */
function marketOrder(ticket: Ticket, grid: Grid, book: Levels): Limited | Problem {
  const { side, size, budget, slippageTicks } = ticket;
  const { ticksPerUnit } = grid;
  const field = spendsBudget(ticket) ? 'budget' : 'size';
  const budgetMicro = tryParseUnits(typedDecimal(budget));
  if (field === 'budget' && budgetMicro <= 0)
    return { field, text: doubtOf(budget) ?? 'The amount is a number of dollars, such as 10.' };
  const sizeAtomic = field === 'budget' ? 0n : sizeOf(size, ticksPerUnit);
  if (typeof sizeAtomic !== 'bigint') return sizeAtomic;
  const amount = field === 'budget' ? { usdMicro: BigInt(budgetMicro) } : { sizeAtomic };
  const taking = atMarket(book, side, ticksPerUnit, amount, { ticks: BigInt(slippageTicks), from: 'reached' });
  if (taking === null) return { field, text: `At the moment nothing is ${side === 'BUY' ? 'offered' : 'bid for'}.` };
  return { limitTicks: taking.limitTicks, sizeAtomic: taking.lots * BigInt(ticksPerUnit) };
}

function sizeOf(text: string, ticksPerUnit: number): bigint | Problem {
  const size = tryParseUnits(typedDecimal(text));
  if (size === NOT_A_NUMBER || size === 0)
    return { field: 'size', text: doubtOf(text) ?? 'The size is a number of tokens, such as 10.' };
  if (size % ticksPerUnit !== 0)
    return { field: 'size', text: `The size is a multiple of ${ticksPerUnit / 1_000_000} tokens.` };
  return BigInt(size);
}

function expiryOf(typed: string, nowMs: number): number | Problem {
  const expiresMs = typed === '' ? Number.NaN : new Date(typed).getTime();
  if (Number.isNaN(expiresMs)) return { field: 'expiry', text: 'Say until when the order stands.' };
  if (expiresMs <= nowMs) return { field: 'expiry', text: 'This time has passed.' };
  return Math.floor(expiresMs / SECOND_MS);
}

function leastNetOf({ kind, leastNet }: Ticket): bigint | Problem {
  if (kind === 'GTC' || kind === 'GTD' || leastNet.trim() === '') return 0n;
  const net = tryParseUnits(typedDecimal(leastNet));
  if (net === NOT_A_NUMBER)
    return { field: 'net', text: doubtOf(leastNet) ?? 'The least to receive is a number, such as 9.5.' };
  return BigInt(net);
}

type Found = Omit<Preview, 'warning'>;

/** Checks in the order in which the exchange refuses (RULES.md 6.8). */
function warningOf(found: Found, ticket: Ticket, feeBps: number): string | null {
  const { taken, sizeAtomic, timeInForce, leastNetAtomic } = found;
  if (timeInForce === 'GTC' || timeInForce === 'GTD') {
    const isRefused = ticket.isPostOnly && taken.filledAtomic > 0n;
    return isRefused ? 'It would trade at once, and an order that never takes is refused then.' : null;
  }
  if (timeInForce === 'FOK' && taken.filledAtomic < sizeAtomic)
    return `Only ${sumToDecimal(taken.filledAtomic)} tokens are there up to this price: it would be refused.`;
  if (taken.filledAtomic === 0n) return 'Nothing is there at this price: it would be refused.';
  const gross = ticket.side === 'BUY' ? taken.filledAtomic : taken.notionalMicro;
  const net = gross - feeOf(gross, feeBps);
  if (net < leastNetAtomic)
    return `It would bring ${sumToDecimal(net)} now, less than you ask for: it would be refused.`;
  return null;
}

/** "55.5" is tick 555 of 1000; NOT_A_NUMBER if it is no price of the grid. */
export function ticksOf(cents: string, ticksPerUnit: number): number {
  const match = /^(\d{1,2})(?:\.(\d{1,2}))?$/.exec(typedDecimal(cents));
  return match === null
    ? NOT_A_NUMBER
    : tryParsePriceTicks(`0.${match[1].padStart(2, '0')}${match[2] ?? ''}`, ticksPerUnit);
}
