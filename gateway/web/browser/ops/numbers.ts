/** Numbers for operators: three digits and a unit. A missing number is a dash. */

const MISSING = '–';
export const DAY_SEC = 86_400;
/** Units of spans of time, each with its seconds. */
const SPANS: readonly (readonly [string, number])[] = [
  ['day', DAY_SEC],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];
const GROUPED = new Intl.NumberFormat('en-US');

export function seconds(value: number | null): string {
  if (value === null) return MISSING;
  if (value >= 1 || value === 0) return `${digits(value)} s`;
  return value >= 0.001 ? `${digits(value * 1000)} ms` : `${digits(value * 1e6)} µs`;
}

/** A span of time as a person says it: "3 hours". It never says more than has passed. */
export function age(spanSec: number): string {
  const [unit, lengthSec] = SPANS.find(([, length]) => spanSec >= length) ?? ['second', 1];
  return amountOf(Math.floor(spanSec / lengthSec), unit);
}

/** "1 order", "12 orders". */
export function amountOf(amount: number, one: string, many = `${one}s`): string {
  return `${GROUPED.format(amount)} ${amount === 1 ? one : many}`;
}

export function bytes(value: number | null): string {
  if (value === null) return MISSING;
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let at = 0;
  let scaled = value;
  while (scaled >= 1000 && at < units.length - 1) {
    scaled /= 1000;
    at++;
  }
  return `${at === 0 ? scaled : digits(scaled)} ${units[at]}`;
}

export function perSecond(value: number | null): string {
  return value === null ? MISSING : `${value >= 1000 ? GROUPED.format(Math.round(value)) : digits(value)}/s`;
}

export function count(value: number | null): string {
  return value === null ? MISSING : GROUPED.format(value);
}

export function share(value: number | null): string {
  return value === null ? MISSING : `${digits(value * 100)} %`;
}

function digits(value: number): string {
  if (value === 0) return '0';
  const left = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(left, 3))));
}

/** Returns the name of a stage in words. */
export function stageWords(stage: string): string {
  return stage.replace('_', '-');
}
