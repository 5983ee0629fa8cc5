/**
 * The cost and the gain of an order, exactly: in ticks, lots and micro-USDC, as the exchange counts (RULES.md 2.3).
 * It is the worst case of an order that is filled whole, at its limit price; better prices cost less.
 */
import type { Outcome } from '../../shared/base/codes.ts';
import { NOT_A_NUMBER, tryParsePriceTicks, tryParseUnits } from '../../shared/base/units.ts';

export type Ticket = {
  readonly side: 'BUY' | 'SELL';
  readonly outcome: Outcome;
  /** In cents, as it is typed: "55.5". */
  readonly cents: string;
  /** In tokens, as it is typed. */
  readonly size: string;
};

export type Preview = {
  readonly price: string;
  readonly sizeAtomic: bigint;
  /** USDC paid by a buyer, or received by a seller before the fee. */
  readonly notionalMicro: bigint;
  /** A buyer pays it in tokens, a seller in USDC. */
  readonly feeAtomic: bigint;
  /** Tokens of a buyer, or USDC of a seller, after the fee. */
  readonly receivedAtomic: bigint;
  /** Of a buyer, if the outcome comes true: each token pays one USDC. */
  readonly payoutMicro: bigint;
};

const BPS = 10_000n;

/** @returns a preview, or what is wrong with the ticket */
export function preview(ticket: Ticket, ticksPerUnit: number, feeBps: number): Preview | string {
  const price = priceOf(ticket.cents);
  const ticks = price === null ? NOT_A_NUMBER : tryParsePriceTicks(price, ticksPerUnit);
  const step = 100 / ticksPerUnit;
  if (price === null || ticks === NOT_A_NUMBER)
    return `The price is a step of ${step}¢ from ${step}¢ to ${100 - step}¢.`;
  const size = tryParseUnits(ticket.size.trim());
  if (size === NOT_A_NUMBER || size === 0) return 'The size is a number of tokens, such as 10.';
  if (size % ticksPerUnit !== 0) return `The size is a multiple of ${ticksPerUnit / 1_000_000} tokens.`;
  const sizeAtomic = BigInt(size);
  const notionalMicro = (sizeAtomic / BigInt(ticksPerUnit)) * BigInt(ticks);
  const gross = ticket.side === 'BUY' ? sizeAtomic : notionalMicro;
  const feeAtomic = (gross * BigInt(feeBps)) / BPS;
  const receivedAtomic = gross - feeAtomic;
  return { price, sizeAtomic, notionalMicro, feeAtomic, receivedAtomic, payoutMicro: receivedAtomic };
}

/** "55.5" is "0.555". */
function priceOf(cents: string): string | null {
  const match = /^(\d{1,2})(?:\.(\d{1,2}))?$/.exec(cents.trim());
  return match === null ? null : `0.${match[1].padStart(2, '0')}${match[2] ?? ''}`;
}
