/**
 * The validation stage, and the schemas of bodies and query strings, compiled once per route. A refusal names the
 * field: `invalid side`, `unknown field: sied`, `missing field: salt`; its details have the whole path, the rule, the
 * offending value and the expected value.
 *
 * The values of a body are not coerced, but null in an optional field means that the field is absent. A query string is
 * text, so each parameter is parsed as the one type that its schema gives it; a repeated parameter has no single value
 * and is refused.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { JsonSchema } from '../../shared/api/schema.ts';
import { MAX_ORDER_AMOUNT } from '../../shared/base/codes.ts';
import { ADDRESS_BYTES, HASH_BYTES, isUint256, tryParseHex, uuidToBytes } from '../../shared/base/hex.ts';
import { fullTime } from '../../shared/base/time.ts';
import type { Invalid } from '../base/refusal.ts';
import { parseStrictJson } from './body.ts';
import type { Call } from './call.ts';
import { expectedOf, UNIT } from './expected.ts';
import { dropNulls } from './nullFields.ts';
import { RecentlyUsed } from './recentlyUsed.ts';
import type { Route } from './route.ts';
import { SECRET_FIELDS } from './secretFields.ts';
import type { RouteSpec } from './spec.ts';

export type BodyCheck = (value: unknown) => Invalid | null;
type Query = Readonly<Record<string, string | number | boolean>>;
type QueryCheck = (raw: string) => QueryResult;
type QueryResult = { readonly ok: true; readonly query: Query } | { readonly ok: false; readonly invalid: Invalid };

const MAX_SHOWN_CHARACTERS = 100;
/** Fields documented with the same message for every error, even for absence. */
const INVALID_WHEN_MISSING: ReadonlySet<string> = new Set(['side', 'maker_amount', 'taker_amount']);

/** Parsers write the parsed value here; this file uses only whether they succeed. */
const scratch = new Uint8Array(32);

const DATE_TIME_FORM =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})$/;

/** Each format is checked by the parser that reads the text later. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => uuidToBytes(text, scratch, 0),
  address: (text) => tryParseHex(text, ADDRESS_BYTES, scratch, 0),
  hash: (text) => tryParseHex(text, HASH_BYTES, scratch, 0),
  uint256: isUint256,
  /** Atomic units of an order, 1 … 10^15. */
  amount: (text) => /^[1-9][0-9]{0,15}$/.test(text) && Number(text) <= MAX_ORDER_AMOUNT,
  /** ISO 8601 with a zone, as responses write it; RFC 3339 allows `t` and `z` as well. */
  'date-time': (text) => isDateTime(text.toUpperCase()),
  /** The same, or without a zone, or only a day: `parseTimeMs` reads all of them. */
  'date-time-or-utc': (text) => isDateTime(fullTime(text)),
};

/** Up to the year 5138, so that a time in microseconds is not taken for a distant one in milliseconds. */
const UNIX_MS_FORM = /^[1-9][0-9]{0,13}$/;

/** The compiled schemas of a route. */
export type Validation = { readonly checkBody: BodyCheck | null; readonly checkQuery: QueryCheck | null };

/** The keyword for a parameter that is ignored beside a flag; the document has it as well. */
const IGNORED_WITH = 'x-ignored-with';
const NO_QUERY: JsonSchema = { type: 'object', properties: {} };

const bodies = makeAjv(false);
const queries = makeAjv(true);

/** @param isRehearsed true: schemas of trading are compiled before the first order comes. */
export function compileRoute({ access, method, body, query }: RouteSpec, isRehearsed: boolean): Validation {
  // A misspelt filter of an account's own data would give another answer than the client asked for.
  const isStrict = method === 'GET' && access !== 'public' && access !== 'operator';
  const compile = isRehearsed && access.startsWith('trade:') ? compileBody : compileBodyLater;
  return {
    checkBody: body === undefined ? null : compile(body),
    checkQuery: query === undefined && !isStrict ? null : compileQuery(query ?? NO_QUERY, isStrict || undefined),
  };
}

/** The part of a route that this stage uses. */
type CheckedRoute = Pick<Route, 'bodyType' | 'bodyOptional' | 'scan' | 'hasDeadline'>;

/** Checks deadline, query and body, and sets them in the call. Returns null, or what is wrong with them. */
export function validate(call: Call, route: CheckedRoute, { checkQuery, checkBody }: Validation): Invalid | null {
  const { ahead } = call;
  const deadline = ahead?.kind === 'message' ? ahead.deadline : call.headers.deadline;
  if (deadline !== '' && route.hasDeadline) {
    call.deadlineMs = UNIX_MS_FORM.test(deadline) ? Number(deadline) : 0;
    if (call.deadlineMs === 0) return invalid('X-SVC-DEADLINE', 'format', deadline);
  }
  if (checkQuery !== null) {
    const result = checkQuery(call.rawQuery ?? '');
    if (!result.ok) return result.invalid;
    call.query = result.query;
  }
  if (route.bodyType !== undefined) {
    if (call.bodyBytes.length === 0) {
      return { message: 'missing body', details: { field: 'body', rule: 'required' } };
    }
    // CALL-4: the handler reads the body after the attempt has been recorded, in another turn.
    call.bodyBytes = Buffer.from(call.bodyBytes);
    return null;
  }
  if (ahead?.kind === 'record') {
    call.body = ahead.value;
    return ahead.invalid;
  }
  const isMessage = ahead?.kind === 'message';
  if (route.bodyOptional && !isMessage && call.bodyBytes.length === 0) {
    call.body = {};
  } else if (checkBody !== null) {
    if (route.scan !== undefined && ahead?.scanned !== null) {
      call.scanned = route.scan(call.bodyBytes, ahead?.scanned ?? null);
      if (call.scanned !== null) return null;
    }
    const parsed = isMessage ? { ok: true as const, value: ahead.value } : parseStrictJson(call.bodyBytes);
    if (!parsed.ok) return parsed;
    const invalid = checkBody(parsed.value);
    if (invalid !== null) return invalid;
    call.body = parsed.value;
  } else if (!isNoBody(call)) {
    return { message: 'unexpected body', details: { field: 'body', rule: 'absent' } };
  }
  return null;
}

/**
 * For a route without a schema: a body ignored there could have been signed as another request. Clients that always
 * send an object send an empty one.
 */
function isNoBody({ bodyBytes, method }: Call): boolean {
  if (bodyBytes.length === 0) return true;
  return method !== 'GET' && method !== 'HEAD' && bodyBytes.length === 2 && bodyBytes.toString() === '{}';
}

function isDateTime(text: string): boolean {
  return DATE_TIME_FORM.test(text) && !Number.isNaN(Date.parse(text)) && isDayOfCalendar(text);
}

/** Date.parse reads 31 February as a day in March. */
function isDayOfCalendar(text: string): boolean {
  const day = text.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

export function compileBody(schema: JsonSchema): BodyCheck {
  return bodyCheck(schema, bodies.compile(schema));
}

/**
 * The same for bodies outside of trading, and for all bodies if there is no rehearsal: compiling dozens of schemas
 * would slow down the start, so each is compiled on first use, like those of queries.
 */
export function compileBodyLater(schema: JsonSchema): BodyCheck {
  return bodyCheck(schema, undefined);
}

/** @param compiled undefined: the schema is compiled on first use. */
function bodyCheck(schema: JsonSchema, compiled: ValidateFunction | undefined): BodyCheck {
  let check = compiled;
  return (value) => {
    check ??= bodies.compile(schema);
    if (check(value)) return null;
    // Such a body is rare, so other bodies are not searched for it.
    const refused = describe(firstError(check));
    return dropNulls(value, schema) && check(value) ? null : refused;
  };
}

/** @param refusesUnknown true to refuse parameters that the schema does not have; the schema may say so itself. */
export function compileQuery(
  schema: JsonSchema,
  refusesUnknown = schema['additionalProperties'] === false,
): QueryCheck {
  let check: ValidateFunction | undefined;
  const types = new Map<string, string>();
  const times = new Set<string>();
  /** Parameters that are ignored beside a flag, with that flag: beside it they may have any value. */
  const ignored = new Map<string, string>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    types.set(name, String(property['type']));
    if (String(property['format']).startsWith('date-time')) times.add(name);
    if (IGNORED_WITH in property) ignored.set(name, String(property[IGNORED_WITH]));
  }

  const read = (raw: string): QueryResult => {
    const query: Record<string, string | number | boolean> = {};
    for (const pair of raw.split('&')) {
      if (pair === '') continue;
      const at = pair.indexOf('=');
      const name = decode(at < 0 ? pair : pair.slice(0, at));
      const type = name === null ? undefined : types.get(name);
      if (name === null || type === undefined) {
        if (name !== null && !refusesUnknown) continue;
        return { ok: false, invalid: name === null ? invalid('query', 'encoding') : unknownField(name, name) };
      }
      const text = at < 0 ? '' : decode(times.has(name) ? withPlus(pair.slice(at + 1)) : pair.slice(at + 1));
      const flag = ignored.get(name);
      if (flag !== undefined && hasFlag(raw, flag)) continue;
      if (Object.hasOwn(query, name)) return { ok: false, invalid: invalid(name, 'unique') };
      const value = text === null ? null : toTyped(text, type);
      if (value === null) return { ok: false, invalid: invalid(name, 'type', text ?? undefined, type) };
      query[name] = value;
    }
    check ??= queries.compile(schema);
    return check(query) ? { ok: true, query } : { ok: false, invalid: describe(firstError(check)) };
  };
  const recent = new RecentlyUsed<QueryResult>();
  return (raw) => {
    const known = recent.get(raw);
    if (known !== undefined) return known;
    const result = read(raw);
    if (result.ok) recent.keep(raw, result);
    return result;
  };
}

function makeAjv(useDefaults: boolean): Ajv {
  // Strict mode refuses invalid schemas; the meta schema would do the same, but would be compiled at every start.
  const options = { strict: true, allowUnionTypes: true, validateSchema: false, meta: false } as const;
  const ajv = new Ajv({ ...options, allErrors: false, coerceTypes: false, useDefaults, verbose: true });
  for (const [name, check] of Object.entries(FORMATS)) ajv.addFormat(name, check);
  for (const keyword of [IGNORED_WITH, UNIT]) ajv.addKeyword(keyword);
  return ajv;
}

/** Null if the text is not of the type: `1e3`, ` 5` and `0x10` are no integers. */
function toTyped(text: string, type: string): string | number | boolean | null {
  switch (type) {
    case 'integer': {
      const number = /^-?(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
      return Number.isSafeInteger(number) ? number : null;
    }
    case 'number':
      return /^-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,9})?$/.test(text) ? Number(text) : null;
    case 'boolean':
      if (text === 'true' || text === '1') return true;
      return text === 'false' || text === '0' ? false : null;
    default:
      return text;
  }
}

function hasFlag(raw: string, flag: string): boolean {
  return raw.split('&').some((pair) => pair === `${flag}=1` || pair === `${flag}=true`);
}

/** A time has no spaces, so a space stands for the plus of a zone that a client has not encoded. */
function withPlus(text: string): string {
  return text.replaceAll('+', '%2B');
}

/** Null if the percent encoding is invalid. */
function decode(text: string): string | null {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

function firstError(check: ValidateFunction): ErrorObject {
  return check.errors![0];
}

function describe(error: ErrorObject): Invalid {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer);
  if (error.keyword === 'additionalProperties') {
    const name = String(error.params['additionalProperty']);
    return unknownField([...path, name].join('.'), name);
  }
  if (error.keyword === 'required') {
    const name = String(error.params['missingProperty']);
    const field = [...path, name].join('.');
    const message = INVALID_WHEN_MISSING.has(name) ? `invalid ${name}` : `missing field: ${name}`;
    return { message, details: { field, rule: 'required' } };
  }
  return invalid(path.join('.') || 'body', error.keyword, error.data, expectedOf(error));
}

/** The message has the field's own name, as documented; the details have its path in the body. */
function invalid(field: string, rule: string, value?: unknown, expected?: string): Invalid {
  const name = field.split('.').findLast((part) => !/^[0-9]+$/.test(part)) ?? 'body';
  const isShown = !SECRET_FIELDS.has(name) && typeof value !== 'object' && value !== undefined;
  const said = expected === undefined ? { field, rule } : { field, rule, expected };
  return { message: `invalid ${name}`, details: isShown ? { ...said, value: shown(value) } : said };
}

function unknownField(field: string, name: string): Invalid {
  const details = { field: shorten(field), rule: 'additionalProperties' };
  return { message: `unknown field: ${shorten(name)}`, details };
}

function shown(value: unknown): unknown {
  return typeof value === 'string' ? shorten(value) : value;
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS - 1)}…`;
}

function unescapePointer(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}
