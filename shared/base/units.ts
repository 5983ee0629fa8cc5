/**
 * Decimals of the API: prices, tokens and dollars as text, and back to integers. The exchange itself uses ticks, lots
 * and atomic units only; every conversion here is exact, or its name says how it rounds.
 *
 * `ticksPerUnit` (D) is a divisor of 10,000 from 10 up. Tokens and USDC both have 6 decimals, so one pair of functions
 * serves both.
 */
import { assert } from './assert.ts';
import { TICKS_PER_UNIT } from './codes.ts';
import { divFloor } from './int.ts';

const DECIMALS = 6;
const ATOMIC_PER_UNIT = 1_000_000;
const PRICE_DECIMALS = 8;
const PRICE_SCALE = 100_000_000n;
const BPS = 10_000;
/** A tick has four decimals at most, and half a tick one more. */
const HALF_TICK_DECIMALS = 5;
const HALF_TICKS_SCALE = 100_000;
const ATTO_PER_DIGIT = 10_000_000_000n;
const MICRO_PER_CENT = 10_000n;

/** The result of the `tryParse…` functions if the text is not such a number. */
export const NOT_A_NUMBER = -1;

/** All texts of one D, created at its first use, because the prices of a market repeat all the time. */
type PriceTable = {
  /** By tick, 0 … D: "0", "0.01", … "1". Also the text of a spread. */
  readonly shortest: readonly string[];
  /** By tick: "0.01000000". */
  readonly eightDigits: readonly string[];
  /** By half tick, 0 … 2D: the midpoint of two ticks is half a tick exactly. */
  readonly halves: readonly string[];
};
const tables = new Map<number, PriceTable>();

/** "0.65": the shortest exact form of a price, or of a difference of two prices. */
export function tickToPrice(ticks: number, ticksPerUnit: number): string {
  return priceTable(ticksPerUnit).shortest[ticks];
}

/** "-1.05": the shortest exact form of a change of a price, or of a sum of prices, of any size. */
export function signedTicksToPrice(ticks: number, ticksPerUnit: number): string {
  const size = Math.abs(ticks);
  const fraction = tickToPrice(size % ticksPerUnit, ticksPerUnit).slice(1);
  return `${ticks < 0 ? '-' : ''}${Math.floor(size / ticksPerUnit)}${fraction}`;
}

/** "0.65000000". */
export function tickToPrice8(ticks: number, ticksPerUnit: number): string {
  return priceTable(ticksPerUnit).eightDigits[ticks];
}

/** USDC per token with 8 digits, rounded down: the average price of fills at several ticks. */
export function ratioToPrice8Floor(notionalMicro: number, quantityAtomic: number): string {
  assert(quantityAtomic > 0, 'units: a price per no tokens');
  const scaled = (BigInt(notionalMicro) * PRICE_SCALE) / BigInt(quantityAtomic);
  const fraction = (scaled % PRICE_SCALE).toString().padStart(PRICE_DECIMALS, '0');
  return `${scaled / PRICE_SCALE}.${fraction}`;
}

/** Formats a price in 10^-18 USDC per token with 8 digits, a half rounded up: "0.65000000". */
export function price8HalfUp(atto: bigint): string {
  return fixed((atto + ATTO_PER_DIGIT / 2n) / ATTO_PER_DIGIT, PRICE_DECIMALS);
}

/** "-0.385000": micro-USDC with all their digits. */
export function decimal6(micro: bigint): string {
  return fixed(micro, DECIMALS);
}

/**
 * "-1.25": USDC in cents, a half rounded away from zero. A value that rounds to zero has no sign.
 * @param perMicro the number of units of `value` in a micro-USDC
 */
export function centsHalfAway(value: bigint, perMicro = 1n): string {
  const perCent = MICRO_PER_CENT * perMicro;
  const cents = (size(value) + perCent / 2n) / perCent;
  return fixed(value < 0n ? -cents : cents, 2);
}

/** Micro-USDC in whole cents, rounded towards zero, so that an amount is never overstated. */
export function centsTowardsZero(micro: bigint): string {
  return fixed(micro / MICRO_PER_CENT, 2);
}

function fixed(scaled: bigint, decimals: number): string {
  const digits = String(size(scaled)).padStart(decimals + 1, '0');
  return `${scaled < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function size(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** The ticks of a text such as "0.65", if it is exactly on the grid and within 1 … D-1; trailing zeros are allowed. */
export function tryParsePriceTicks(text: string, ticksPerUnit: number): number {
  const scaled = tryParseDecimal(text, PRICE_DECIMALS);
  if (scaled === NOT_A_NUMBER) return NOT_A_NUMBER;
  const perTick = 10 ** PRICE_DECIMALS / ticksPerUnit;
  const ticks = divFloor(scaled, perTick);
  const isOnGrid = scaled % perTick === 0 && ticks >= 1 && ticks < ticksPerUnit;
  return isOnGrid ? ticks : NOT_A_NUMBER;
}

/** Tokens or dollars to atomic units: "12.5" is 12,500,000. At most 6 decimals, at most 2^53 - 1 atomic units. */
export function tryParseUnits(text: string): number {
  return tryParseDecimal(text, DECIMALS);
}

/** Atomic units to tokens or dollars, shortest exact form: 12,500,000 is "12.5". */
export function unitsToDecimal(atomic: number): string {
  return scaledToDecimal(atomic, ATOMIC_PER_UNIT, DECIMALS);
}

/** The same for a sum that may exceed the safe integers. */
export function sumToDecimal(atomic: bigint): string {
  const whole = atomic / BigInt(ATOMIC_PER_UNIT);
  const fraction = String(atomic % BigInt(ATOMIC_PER_UNIT))
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

export function spreadToDecimal(bidTicks: number, askTicks: number, ticksPerUnit: number): string {
  return tickToPrice(askTicks - bidTicks, ticksPerUnit);
}

export function midpointToDecimal(bidTicks: number, askTicks: number, ticksPerUnit: number): string {
  return priceTable(ticksPerUnit).halves[bidTicks + askTicks];
}

/** 10000 * spread / midpoint, a half rounded up. D cancels out: spread is (a-b)/D and midpoint (a+b)/2D. */
export function spreadBpsHalfUp(bidTicks: number, askTicks: number): number {
  const sum = bidTicks + askTicks;
  const numerator = 2 * BPS * (askTicks - bidTicks);
  return divFloor(2 * numerator + sum, 2 * sum);
}

function priceTable(ticksPerUnit: number): PriceTable {
  return tables.get(ticksPerUnit) ?? makeTable(ticksPerUnit);
}

function makeTable(ticksPerUnit: number): PriceTable {
  assert(
    TICKS_PER_UNIT.some((possible) => possible === ticksPerUnit),
    'units: ticks per unit is a divisor of 10,000 from 10 up',
  );
  const halfTick = HALF_TICKS_SCALE / (2 * ticksPerUnit);
  const halves = Array.from({ length: 2 * ticksPerUnit + 1 }, (_, half) =>
    scaledToDecimal(half * halfTick, HALF_TICKS_SCALE, HALF_TICK_DECIMALS),
  );
  const shortest = halves.filter((_, half) => half % 2 === 0);
  const eightDigits = shortest.map((text) => {
    const [whole, fraction = ''] = text.split('.');
    return `${whole}.${fraction.padEnd(PRICE_DECIMALS, '0')}`;
  });
  const table = { shortest, eightDigits, halves };
  tables.set(ticksPerUnit, table);
  return table;
}

/** Digits, then optionally a point and 1 … `decimals` digits; no sign, exponent or leading zero. */
function tryParseDecimal(text: string, decimals: number): number {
  const match = /^(0|[1-9]\d{0,15})(?:\.(\d{1,8}))?$/.exec(text);
  if (match === null) return NOT_A_NUMBER;
  const fraction = match[2] ?? '';
  if (fraction.length > decimals) return NOT_A_NUMBER;
  const scaled = Number(match[1] + fraction.padEnd(decimals, '0'));
  return Number.isSafeInteger(scaled) ? scaled : NOT_A_NUMBER;
}

function scaledToDecimal(value: number, scale: number, decimals: number): string {
  const rest = value % scale;
  const whole = String((value - rest) / scale);
  if (rest === 0) return whole;
  return `${whole}.${String(rest).padStart(decimals, '0').replace(/0+$/, '')}`;
}
