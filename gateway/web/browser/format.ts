/**
 * Formats numbers for people. Amounts come as integers in text and are divided exactly; digits that are not shown are
 * in the title of the element.
 */
import { centsTowardsZero, tickToPrice, tryParsePriceTicks } from '../../../shared/base/units.ts';
import type { Market } from '../../../shared/client/types.ts';

/** Prices of every grid are a multiple of this grid's step. */
export const FINEST = 10_000;
const ATOMIC_PER_UNIT = 1_000_000n;
const MICRO_PER_CENT = 10_000n;
const MILLION = 1_000_000n;
const GROUPED = new Intl.NumberFormat('en-US');
const SHORT_FROM = 1000;
const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** "0.555" is "55.5¢". */
export function cents(price: string): string {
  const ticks = tryParsePriceTicks(price, FINEST);
  return ticks < 0 ? price : `${ticks / 100}¢`;
}

/** 5550 hundredths of a cent are "55.5¢". */
export function inCents(ticks: number): string {
  return `${Math.round(ticks) / 100}¢`;
}

/** With a sign: "+3.5¢", "−2¢", "±0¢". */
export function changeInCents(ticks: number): string {
  return ticks === 0 ? '±0¢' : `${signed(String(Math.round(ticks) / 100))}¢`;
}

/** Returns the price of the other outcome: buying No at that price is selling Yes at `price`, and vice versa. */
export function complement(price: string): string {
  const ticks = tryParsePriceTicks(price, FINEST);
  return ticks < 0 ? price : tickToPrice(FINEST - ticks, FINEST);
}

/** The price of an outcome as a chance in whole percent: "0.655" is "66%", and what may still happen is never 0%. */
export function chance(price: string): string {
  const inPercent = Number(price) * 100;
  if (inPercent < 1) return '<1%';
  return inPercent > 99 ? '>99%' : `${Math.round(inPercent)}%`;
}

/** The difference of two prices of one book, the higher one first. */
export function difference(high: string, low: string): string {
  return tickToPrice(tryParsePriceTicks(high, FINEST) - tryParsePriceTicks(low, FINEST), FINEST);
}

/** "12500000" is "12.50": tokens or USDC, rounded towards zero. */
export function units(atomic: string | bigint): string {
  const value = BigInt(atomic);
  const hundredths = (value % ATOMIC_PER_UNIT) / 10_000n;
  return `${GROUPED.format(value / ATOMIC_PER_UNIT)}.${String(hundredths).padStart(2, '0')}`;
}

/** USDC that is paid, to the cent and rounded up: it never looks smaller than it is. */
export function paid(micro: bigint): string {
  return `$${units(micro + MICRO_PER_CENT - 1n)}`;
}

/** "0.4" of USDC is "$0.40", rounded towards zero. */
export function usdc(decimal: string): string {
  const [whole, fraction = ''] = decimal.split('.');
  return `$${GROUPED.format(BigInt(whole))}.${fraction.slice(0, 2).padEnd(2, '0')}`;
}

/** "+$6.96": a gain with its sign, to the cent, rounded down, so that a loss never looks smaller than it is. */
export function gain(micro: bigint): string {
  const below = micro < 0n && micro % MICRO_PER_CENT !== 0n ? 1n : 0n;
  return gainOfUsdc(centsTowardsZero((micro / MICRO_PER_CENT - below) * MICRO_PER_CENT));
}

/** "-1.49" of USDC is "−$1.49". */
export function gainOfUsdc(decimal: string): string {
  return signed(decimal).replace(/^./, '$&$$');
}

/** Like `units`, but rounded from a million on, for narrow places. */
export function briefUnits(atomic: string | bigint): string {
  const value = BigInt(atomic);
  return value < MILLION * ATOMIC_PER_UNIT ? units(value) : short(Number(value / ATOMIC_PER_UNIT));
}

/** Markets name their outcomes: "Warmer" where others say "Yes". */
export function outcomeName(market: Pick<Market, 'outcomes'> | undefined, index: number): string {
  return market?.outcomes[index] ?? (index === 0 ? 'Yes' : 'No');
}

/** The price in the steps of the finest grid, in which all prices of a market can be compared. */
export function finestTicks(price: string): number {
  return tryParsePriceTicks(price, FINEST);
}

/** "-1.25" with a minus that is read as one, and a plus for a positive number. */
export function signed(decimal: string): string {
  return decimal.startsWith('-') ? `−${decimal.slice(1)}` : `+${decimal}`;
}

/** For sums whose size matters: "1.2M". */
export function short(value: number): string {
  return SHORT.format(value);
}

/** "$13.50", and "$1.2M" from a thousand on. */
export function dollars(value: number): string {
  return `$${Math.abs(value) < SHORT_FROM ? value.toFixed(2) : short(value)}`;
}

/** "+$13.50", "−$1.2M". */
export function gainInDollars(value: number): string {
  return `${value < 0 ? '−' : '+'}${dollars(Math.abs(value))}`;
}

export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)}%`;
}
