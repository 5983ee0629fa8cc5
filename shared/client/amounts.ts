/**
 * Exact amounts: decimals as people write them, to the integers of the exchange and back. USDC and tokens both have six
 * decimals, so 1.25 of either is 1,250,000n units; a price is a number of ticks, of which a market has `ticksPerUnit`
 * to one USDC; a lot is the least quantity, of `ticksPerUnit` units of a token. A tick and a lot together cost one unit
 * of USDC, so nothing is ever rounded.
 *
 * JavaScript numbers are refused as amounts: 0.1 + 0.2 is not 0.3, and most decimals have no exact number.
 */
import { MAX_ORDER_AMOUNT } from '../base/codes.ts';
import { NOT_A_NUMBER, tickToPrice, tryParsePriceTicks } from '../base/units.ts';

const DECIMALS = 6;
const UNITS_FORM = /^(0|[1-9]\d*)(?:\.(\d{1,6}))?$/;
const PRICE_FORM = /^(0|[1-9]\d{0,9})(?:\.(\d{1,15}))?$/;
/** A price of an order that does not rest may be between the ticks: it is counted in so many parts of a USDC. */
export const PRICE_SCALE = 10n ** 15n;
const MOST_UNITS = BigInt(MAX_ORDER_AMOUNT);

/** "12.5" tokens or USDC are 12,500,000n units. RangeError unless it is a decimal of at most six places. */
export function parseUnits(text: string): bigint {
  const match = UNITS_FORM.exec(textOf(text, 'an amount'));
  if (match === null) throw new RangeError(`${text} is not a decimal number of at most ${DECIMALS} places`);
  return BigInt(match[1] + (match[2] ?? '').padEnd(DECIMALS, '0'));
}

/**
 * Units of tokens or USDC in their shortest form: 12,500,000n is "12.5". Answers have units as texts, which it takes.
 */
export function formatUnits(units: bigint | string): string {
  const value = BigInt(units);
  const digits = String(value < 0n ? -value : value).padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** "0.65" is 65n ticks of a market with 100. RangeError unless it is a price of that market. */
export function parsePrice(text: string, ticksPerUnit: number): bigint {
  const ticks = tryParsePriceTicks(textOf(text, 'a price'), ticksPerUnit);
  if (ticks === NOT_A_NUMBER) throw offPrices(text, ticksPerUnit);
  return BigInt(ticks);
}

/** "0.655", on any grid or none, times PRICE_SCALE. RangeError unless it is a decimal of at most 15 places. */
export function parseScaledPrice(text: string): bigint {
  const match = PRICE_FORM.exec(textOf(text, 'a price'));
  if (match === null) throw new RangeError(`price ${text} is not a decimal number`);
  return BigInt(match[1] + (match[2] ?? '').padEnd(15, '0'));
}

/** 65n ticks of a market with 100 are "0.65". */
export function formatPrice(ticks: bigint, ticksPerUnit: number): string {
  return tickToPrice(checkedTicks(ticks, ticksPerUnit), ticksPerUnit);
}

/** "12.5" tokens are 125,000n lots of a market with 100 ticks. RangeError unless it is a size of that market. */
export function parseLots(text: string, ticksPerUnit: number): bigint {
  let units: bigint;
  try {
    units = parseUnits(text);
  } catch (error) {
    throw error instanceof RangeError ? offSizes(text, ticksPerUnit) : error;
  }
  if (units % BigInt(ticksPerUnit) !== 0n) throw offSizes(text, ticksPerUnit);
  return checkedLots(units / BigInt(ticksPerUnit), ticksPerUnit);
}

/** 125,000n lots of a market with 100 ticks are "12.5" tokens. */
export function formatLots(lots: bigint, ticksPerUnit: number): string {
  return formatUnits(lots * BigInt(ticksPerUnit));
}

/** The largest size on the grid that is at most `size`: `floorSize('1.23456', 100)` is '1.2345'. */
export function floorSize(size: string, ticksPerUnit: number): string {
  const units = parseUnits(size);
  return formatUnits(units - (units % BigInt(ticksPerUnit)));
}

/** Throws unless it is a quantity that an order may have. */
export function checkedLots(lots: bigint, ticksPerUnit: number): bigint {
  const units = lots * BigInt(ticksPerUnit);
  if (units < 1n || units > MOST_UNITS) throw offSizes(formatUnits(units), ticksPerUnit);
  return lots;
}

/** Throws unless it is a price that an order may have. */
export function checkedTicks(ticks: bigint, ticksPerUnit: number): number {
  if (ticks < 1n || ticks >= BigInt(ticksPerUnit)) throw offPrices(`of ${ticks} ticks`, ticksPerUnit);
  return Number(ticks);
}

/** The units of a request as its text. A number must be whole and exact. */
export function unitsText(units: bigint | number): string {
  if (typeof units === 'bigint' || Number.isSafeInteger(units)) return String(units);
  throw new RangeError(`${units} is not a whole number of units`);
}

function offPrices(text: string, ticksPerUnit: number): RangeError {
  const [first, last] = [tickToPrice(1, ticksPerUnit), tickToPrice(ticksPerUnit - 1, ticksPerUnit)];
  return new RangeError(`price ${text} is not a step of ${first} between ${first} and ${last}`);
}

function offSizes(text: string, ticksPerUnit: number): RangeError {
  const [lot, most] = [formatUnits(BigInt(ticksPerUnit)), formatUnits(MOST_UNITS)];
  return new RangeError(`size ${text} is not a multiple of ${lot} tokens between ${lot} and ${most}`);
}

function textOf(text: unknown, what: string): string {
  if (typeof text !== 'string') throw new TypeError(`${what} is a text such as '0.65', not a ${typeof text}: ${text}`);
  return text;
}
