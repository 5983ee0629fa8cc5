/**
 * The numbers of refusals, by which a program recognises a refusal without reading its text (shared/base/errors.ts).
 */
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';

const FIRST_ERROR_STATUS = 400;
const NUMBERS = new Map<string, number>();
for (const { code, message, number } of Object.values(ERRORS)) {
  NUMBERS.set(`${code} ${message}`, number);
  if (!NUMBERS.has(code)) NUMBERS.set(code, number);
}

/**
 * The text decides first: it is all that is known of the stored answer to an earlier request, and a repeat has the
 * number of the first answer.
 * @returns 0 for an answer that is no refusal
 */
export function numberOfError(refusedAs: ErrorRow | null, status: number, text: string): number {
  if (status < FIRST_ERROR_STATUS) return 0;
  const { code, error } = JSON.parse(text);
  const number = NUMBERS.get(`${code} ${error}`);
  if (number !== undefined) return number;
  if (refusedAs !== null && refusedAs.status === status) return refusedAs.number;
  return NUMBERS.get(code) ?? ERRORS.INTERNAL_ERROR.number;
}
