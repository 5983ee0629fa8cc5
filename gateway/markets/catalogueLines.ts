/** The lines of a catalogue file: split from the body of a request, parsed strictly, checked against their schema. */
import { createHash } from 'node:crypto';
import {
  CATALOGUE_LINE,
  type CatalogueLine,
  type EventFields,
  MAX_IMPORT_LINES,
  type MarketFields,
  type SetFields,
} from '../../shared/api/catalogue.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import type { Refusal } from '../base/refusal.ts';
import { MAX_BODY_BYTES, parseStrictJson } from '../http/body.ts';
import { type BodyCheck, compileBody } from '../http/validate.ts';

type RawLine = { readonly number: number; readonly bytes: Buffer };
type ParsedLine =
  | { readonly event: EventFields }
  | { readonly set: SetFields }
  | { readonly market: MarketFields }
  | { readonly refusal: Refusal };

const NEWLINE = 0x0a;
/** White space in JSON. */
const BLANK = /^[ \t\r]*$/;

let checkLine: BodyCheck | undefined;

/** The lines, numbered from 1 like in an editor. */
export function* linesOf(body: Buffer): Generator<RawLine> {
  let number = 1;
  for (let from = 0; from < body.length; number++) {
    const newline = body.indexOf(NEWLINE, from);
    const end = newline < 0 ? body.length : newline;
    yield { number, bytes: body.subarray(from, end) };
    from = end + 1;
  }
}

/** Counts empty lines too, but only as far as needed. */
export function hasTooManyLines(body: Buffer): boolean {
  let from = 0;
  for (let count = 0; count < MAX_IMPORT_LINES; count++) {
    const newline = body.indexOf(NEWLINE, from);
    if (newline < 0) return false;
    from = newline + 1;
  }
  return from < body.length;
}

/**
 * Returns true for a line to be skipped. A line that is too long is not examined: it is refused, whatever it contains.
 */
export function isBlank(bytes: Buffer): boolean {
  return bytes.length <= MAX_BODY_BYTES && BLANK.test(bytes.toString('latin1'));
}

/** A line is one JSON object with an event, a set or a market, under the rules of any other body (RULES.md 6.4). */
export function parseLine(bytes: Buffer): ParsedLine {
  if (bytes.length > MAX_BODY_BYTES) return { refusal: { row: ERRORS.PAYLOAD_TOO_LARGE, message: 'line too large' } };
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok) return invalid(parsed);
  checkLine ??= compileBody(CATALOGUE_LINE);
  const problem = checkLine(parsed.value);
  if (problem !== null) return invalid(problem);
  const { event, event_set: set, market } = parsed.value as CatalogueLine;
  if (event !== undefined) return { event };
  return set === undefined ? { market: market! } : { set };
}

/**
 * The id of a market whose line gives its provider's name for it: a UUID of version 8, from the SHA-256 of both names.
 * So the same line means the same market in every exchange.
 */
export function idOfProvided(externalSource: string, externalEventId: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['market', externalSource, externalEventId]))
    .digest();
  hash[6] = 0x80 | (hash[6] & 0x0f);
  hash[8] = 0x80 | (hash[8] & 0x3f);
  return bytesToUuid(hash);
}

function invalid({ message, details }: Pick<Refusal, 'message' | 'details'>): ParsedLine {
  return { refusal: { row: ERRORS.VALIDATION_ERROR, message, details } };
}
