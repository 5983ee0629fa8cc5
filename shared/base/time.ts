/**
 * Times as clients write them (RULES.md 14.1): ISO 8601, in UTC if there is no zone; a day stands for its first moment.
 */
import { MICROS_PER_MS } from './fillTimes.ts';

const DAY_FORM = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;
const ZONE_AT_END = /(?:Z|[+-][0-9]{2}:[0-9]{2})$/;

/** The same time with all optional parts, in capitals. Without a zone Date.parse would use that of the machine. */
export function fullTime(text: string): string {
  const time = DAY_FORM.test(text) ? `${text}T00:00:00` : text.toUpperCase();
  return ZONE_AT_END.test(time) ? time : `${time}Z`;
}

export function parseTimeMs(text: string): number {
  return Date.parse(fullTime(text));
}

/** A time in microseconds; further digits are dropped. */
export function parseTimeMicros(text: string): number {
  const digits = /\.([0-9]+)/.exec(text)?.[1] ?? '';
  return parseTimeMs(text) * MICROS_PER_MS + Number(digits.padEnd(6, '0').slice(3, 6));
}
