/** The worth of a position at present prices, and the gain since it was bought: exact, rounded down. */
import type { Bbo, Position } from '../../../shared/client/types.ts';

/** Both in micro-USDC; null if unknown. */
export type Value = { readonly worthMicro: bigint | null; readonly gainMicro: bigint | null };

type Held = Pick<Position, 'outcome_index' | 'quantity' | 'average_entry_price'>;

/** Prices have 8 digits. */
const SCALE = 100_000_000n;

/** Valued at the middle of the book (RULES.md 14.25). */
export function worthOf(
  { outcome_index, quantity, average_entry_price }: Held,
  bbo: Pick<Bbo, 'midpoint'> | undefined,
): Value {
  if (bbo === undefined || bbo.midpoint === null) return { worthMicro: null, gainMicro: null };
  const ofYes = scaled(bbo.midpoint);
  const price = outcome_index === 0 ? ofYes : SCALE - ofYes;
  const atomic = BigInt(quantity);
  const worthMicro = (atomic * price) / SCALE;
  if (average_entry_price === null) return { worthMicro, gainMicro: null };
  return { worthMicro, gainMicro: floorOf(atomic * (price - scaled(average_entry_price))) };
}

/** @returns the worth of those that are known */
export function worthOfAll(values: readonly Value[]): bigint {
  return values.reduce((sum, { worthMicro }) => sum + (worthMicro ?? 0n), 0n);
}

/** The worth of an account less what its person has paid in: fees are lost. Null while a part is not known. */
export function gainOfAll(usdcMicro: bigint, values: readonly Value[], paidMicro: bigint | null): bigint | null {
  if (paidMicro === null || values.some(({ worthMicro }) => worthMicro === null)) return null;
  return usdcMicro + worthOfAll(values) - paidMicro;
}

/** Plain division rounds towards zero, which would make losses smaller. */
function floorOf(product: bigint): bigint {
  return product / SCALE - (product < 0n && product % SCALE !== 0n ? 1n : 0n);
}

/** "0.655" is 65,500,000. */
function scaled(price: string): bigint {
  const [whole, fraction = ''] = price.split('.');
  return BigInt(whole + fraction.padEnd(8, '0'));
}
