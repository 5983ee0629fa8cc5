/** Bodies: collecting them under a limit, and JSON read strictly (RULES.md 6.4). */
import { isUtf8 } from 'node:buffer';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call } from './call.ts';
import { CHUNKED } from './headers.ts';
import { refuse as refuseCall } from './respond.ts';

export const MAX_BODY_BYTES = 65_536;
export const MAX_DEPTH = 8;
/**
 * The most members, commas and escaped quotes: these, not the bytes, determine how long a body occupies the thread. The
 * largest batch has a few hundred.
 */
export const MAX_PARTS = 5000;

const FIRST_BUFFER_BYTES = 4096;
/** Bytes of an oversized body that are read and dropped, so that the client sees the 413. */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;

/** Names through which a careless merge could reach a prototype; no schema has such a field. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const ESCAPE = '\\u';
const TOO_DEEP = -1;
const TOO_MANY_PARTS = -2;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

type StrictJson =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly message: string;
      readonly details: { readonly field: string; readonly rule: string };
    };

/**
 * Calls `onBody` once, with `call.bodyBytes` and the row of its route set, or `onTooLarge` as soon as the limit is
 * passed (for a chunked body after it was read to its end, because that answer closes the connection). A body that
 * arrives in one chunk is not copied: its bytes are valid until `onBody` returns (CALL-4). Several chunks are copied,
 * because their memory is reused, into a buffer that grows with the received bytes, not the announced ones.
 */
export function collectBody<Row extends { readonly maxBodyBytes: number }>(
  call: Call,
  row: Row,
  onBody: (call: Call, row: Row) => void,
  onTooLarge: (call: Call) => void,
): void {
  let collected: Buffer | null = null;
  let count = 0;
  call.response.onData((chunk, isLast) => {
    if (call.answered || call.aborted) return;
    if (count + chunk.byteLength > row.maxBodyBytes) {
      collected = null;
      count += chunk.byteLength;
      if (call.headers.bodyBytes !== CHUNKED || isLast || count > MAX_DISCARDED_BYTES) onTooLarge(call);
      return;
    }
    if (collected === null && isLast) {
      call.bodyBytes = Buffer.from(chunk);
      onBody(call, row);
      return;
    }
    collected = withRoom(collected, count, chunk.byteLength);
    collected.set(new Uint8Array(chunk), count);
    count += chunk.byteLength;
    if (!isLast) return;
    call.bodyBytes = collected.subarray(0, count);
    onBody(call, row);
  });
}

function withRoom(buffer: Buffer | null, count: number, more: number): Buffer {
  if (buffer === null) return Buffer.allocUnsafe(Math.max(FIRST_BUFFER_BYTES, more));
  if (count + more <= buffer.length) return buffer;
  const grown = Buffer.allocUnsafe(Math.max(2 * buffer.length, count + more));
  buffer.copy(grown, 0, 0, count);
  return grown;
}

/**
 * A client that is still sending would lose the answer if the connection were closed now. So its announced bytes are
 * read and dropped, for as long as uWebSockets.js waits for the next request: ten seconds.
 */
export function refuseTooLarge(call: Call): void {
  if (call.headers.bodyBytes > MAX_DISCARDED_BYTES) call.transport.closesConnection = true;
  refuseCall(call, { row: ERRORS.PAYLOAD_TOO_LARGE });
}

/**
 * Strict JSON. One pass over the text measures depth and counts members before the parser sees it, so deep nesting
 * never reaches it; the parser keeps one member per name, so a value with fewer members than the text contained a
 * duplicate.
 */
export function parseStrictJson(bytes: Buffer, maxDepth = MAX_DEPTH): StrictJson {
  if (bytes.length === 0) return refuse('body', 'required', 'missing body');
  if (!isUtf8(bytes)) return refuse('body', 'utf8', 'body is not valid UTF-8');
  const text = bytes.toString();
  const written = countMembers(text, maxDepth);
  if (written === TOO_DEEP) return refuse('body', 'depth', `body is nested deeper than ${maxDepth} levels`);
  if (written === TOO_MANY_PARTS) return refuse('body', 'parts', `body has more than ${MAX_PARTS} parts`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse('body', 'json', 'body is not valid JSON');
  }
  if (text.includes(ESCAPE) && hasLoneSurrogate(value)) {
    return refuse('body', 'surrogate', 'body has half a surrogate pair, which is no character');
  }
  const seen = { members: 0, forbidden: '' };
  if (isObject(value)) inspect(value, seen);
  if (seen.forbidden !== '') return refuse(seen.forbidden, 'additionalProperties', `unknown field: ${seen.forbidden}`);
  if (seen.members !== written) return refuse('body', 'duplicate', 'body has a duplicate field');
  return { ok: true, value };
}

/**
 * Half a surrogate pair can be escaped but is no character: stored as UTF-8 it would become another one, and clients'
 * strict parsers would refuse every answer that contains it. The bytes are UTF-8, so only an escape can produce one.
 */
function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed();
  if (!isObject(value)) return false;
  if (Array.isArray(value)) return value.some(hasLoneSurrogate);
  return Object.entries(value).some(([name, member]) => !name.isWellFormed() || hasLoneSurrogate(member));
}

/** Colons outside of strings: in valid JSON there is one per member. The count for invalid JSON does not matter. */
function countMembers(text: string, maxDepth: number): number {
  let members = 0;
  let parts = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      // Strings are most of a body; searching them natively makes the whole pass three times as fast as a plain loop.
      index = text.indexOf('"', index + 1);
      for (; index > 0 && isEscaped(text, index); index = text.indexOf('"', index + 1)) {
        if (++parts > MAX_PARTS) return TOO_MANY_PARTS;
      }
      if (index < 0) return members;
    } else if (code === COLON) {
      members++;
      parts++;
    } else if (code === COMMA) parts++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > maxDepth) return TOO_DEEP;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    if (parts > MAX_PARTS) return TOO_MANY_PARTS;
  }
  return members;
}

/** A quote is escaped by an odd number of backslashes. Runs before different quotes never overlap: one linear pass. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}

/** The parser's objects have nothing but their own members to enumerate. */
function inspect(value: object, seen: { members: number; forbidden: string }): void {
  if (Array.isArray(value)) {
    for (const element of value) if (isObject(element)) inspect(element, seen);
    return;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name in members) {
    seen.members++;
    if (FORBIDDEN_NAMES.has(name)) seen.forbidden = name;
    const member = members[name];
    if (isObject(member)) inspect(member, seen);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function refuse(field: string, rule: string, message: string): StrictJson {
  return { ok: false, message, details: { field, rule } };
}
