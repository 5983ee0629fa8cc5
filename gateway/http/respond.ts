/**
 * The only code that answers requests, on every transport; longAnswers.ts continues bodies that take several turns.
 * Every refusal is a row of the error table.
 */

import { assert } from '../../shared/base/assert.ts';
import { ERRORS, type ErrorRow, type Storable } from '../../shared/base/errors.ts';
import { isAnonymous } from '../access/credentialOf.ts';
import type { Refusal } from '../base/refusal.ts';
import type { AnswerBody, AnswerOptions, Call, Rows } from './call.ts';
import { beginEventStream, beginLongAnswer, fileLines } from './httpTransport.ts';
import { type Piece, takePiece } from './longAnswers.ts';

const REPLAYED: AnswerOptions = Object.freeze({ isReplayed: true });
const NO_OPTIONS: AnswerOptions = Object.freeze({});
const FIRST_ERROR_STATUS = 400;
/** A client can cause any number of refusals without a shard, so of a longer refusal body only the code is kept. */
const MOST_KEPT_REFUSAL_BYTES = 512;

/** @param body if this is a string, it is JSON already. */
export function ok(call: Call, body: string | object, status = 200): void {
  answer(call, status, typeof body === 'string' ? body : JSON.stringify(body), NO_OPTIONS);
}

/**
 * Answers with JSON bytes that are sent unchanged; the caller may change the bytes once this has returned. Such an
 * answer is not recorded, and becomes text if it is stored or has to wait.
 */
export function okBytes(call: Call, body: Buffer): void {
  assert(!isRecorded(call), 'respond: no administrator is answered with bytes');
  if (call.idempotencyHold !== null || mayBeTakenBack(call, 200)) return ok(call, body.toString());
  if (call.answered) return;
  call.markAnswered();
  send(call, 200, body, NO_OPTIONS);
}

/** Answers by letting `write` send to the transport. Such an answer is neither recorded nor stored. */
export function okWritten(call: Call, write: () => void): void {
  assert(!isRecorded(call) && call.idempotencyHold === null, 'respond: what is stored is text');
  if (call.answered) return;
  call.markAnswered();
  call.status = 200;
  try {
    if (!call.aborted) write();
  } finally {
    call.host.onAnswered(call);
  }
}

/** A file that browsers show or run: a cache may keep it, and it is sent in an encoding that the client accepts. */
type ServedFile = {
  readonly contentType: string;
  readonly cacheControl: string;
  /** Content-Security-Policy; empty: the strictest one, which is right for data. */
  readonly policy: string;
  readonly plain: Uint8Array;
  readonly gzip: Uint8Array;
  readonly brotli: Uint8Array;
};

/** @param accepted the header Accept-Encoding */
export function okFile(call: Call, file: ServedFile, accepted: string, status = 200): void {
  if (call.answered) return;
  call.markAnswered();
  const [body, encoding] = encodedFor(file, accepted);
  const lines = fileLines(file.contentType, file.cacheControl, file.policy, encoding);
  send(call, status, Buffer.from(body.buffer, body.byteOffset, body.byteLength), { headerLines: lines });
}

/** A coding with a weight is accepted, unless the weight is 0. */
function encodedFor({ plain, gzip, brotli }: ServedFile, accepted: string): [Uint8Array, string] {
  const codings = accepted
    .toLowerCase()
    .split(',')
    .filter((coding) => !/;\s*q=0(?:\.0*)?\s*$/.test(coding))
    .map((coding) => coding.split(';', 1)[0].trim());
  if (codings.includes('br')) return [brotli, 'br'];
  return codings.includes('gzip') ? [gzip, 'gzip'] : [plain, ''];
}

/**
 * Answers with a body of many rows, whose texts are concatenated. A body of one piece is sent at once; a longer body is
 * written one piece per turn of the event loop, from rows that must not change in the meantime.
 */
export function okInRows(call: Call, rows: Rows, contentType?: string): void {
  const first = takePiece(rows);
  if (first.isLast) answer(call, 200, first.text, { contentType });
  else if (call.method === 'HEAD') answer(call, 200, '', { contentType, isInPieces: true });
  else if (!call.host.longAnswers.admits(call)) refuse(call, { row: ERRORS.ENGINE_BUSY });
  else startLongAnswer(call, first, rows, contentType);
}

/** Answers with an array of any length, which must not change while it is written. A string element is JSON already. */
export function okArray(call: Call, elements: Iterable<object | string>): void {
  okInRows(call, rowsOf(elements));
}

/** Returns the elements after those already returned; null if there are no more. */
type NextSlice = () => Promise<readonly string[]> | null;

/**
 * Answers with an array that is read in slices: each slice is requested while the previous one is written, so two are
 * in memory. An error after the first cuts the answer off.
 */
export function okInSlices(call: Call, first: readonly string[], next: NextSlice): void {
  okInRows(call, sliceRows(first, next));
}

function* sliceRows(first: readonly string[], next: NextSlice): Generator<string | Promise<unknown>> {
  let separator = '[';
  for (let slice: readonly string[] | null = first; slice !== null; ) {
    let following: readonly string[] | null = null;
    const awaited = next()?.then((texts) => {
      following = texts;
    });
    // The answer may be over before this fails.
    awaited?.catch(() => {});
    for (const text of slice) {
      yield separator + text;
      separator = ',';
    }
    if (awaited !== undefined) yield awaited;
    slice = following;
  }
  yield separator === '[' ? '[]' : ']';
}

/** Answers with an object: such an array under this name, and further members. */
export function okPage(call: Call, name: string, elements: Iterable<object | string>, rest: object): void {
  okInRows(call, pageRows(name, elements, rest));
}

function* pageRows(name: string, elements: Iterable<object | string>, rest: object): Generator<string> {
  yield `{"${name}":`;
  yield* rowsOf(elements);
  const members = JSON.stringify(rest);
  yield members === '{}' ? '}' : `,${members.slice(1)}`;
}

/** A string is JSON already. */
function* rowsOf(elements: Iterable<object | string>): Generator<string> {
  let separator = '[';
  for (const element of elements) {
    yield separator + (typeof element === 'string' ? element : JSON.stringify(element));
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

export function okAs(call: Call, contentType: string, body: string): void {
  answer(call, 200, body, { contentType });
}

/** Answers with headers alone: after HEAD, or with 304. @param bodyBytes the length of the body, or null: unstated */
export function okWithoutBody(call: Call, status: number, headerLines: string, bodyBytes: number | null): void {
  if (call.answered) return;
  call.markAnswered();
  send(call, status, '', bodyBytes === null ? { headerLines, isInPieces: true } : { headerLines, bodyBytes });
}

/** Answers with bytes, and with those of `rest` after them, which are read while the ones before are sent. */
export function okStreamed(call: Call, status: number, headerLines: string, first: Buffer, rest: Rows | null): void {
  if (rest === null) {
    if (call.answered) return;
    call.markAnswered();
    send(call, status, first, { headerLines });
  } else if (call.aborted || !call.host.longAnswers.admits(call)) {
    rest.return?.();
    refuse(call, { row: ERRORS.ENGINE_BUSY });
  } else {
    call.markAnswered();
    call.status = status;
    call.transport.closesConnection ||= isUnwelcome(call);
    call.host.longAnswers.continue(call, rest, beginLongAnswer(call, first, undefined, headerLines), null);
  }
}

/** The client already has this body; the length is stated anyway. */
export function notModified(call: Call, body: Buffer, contentType: string): void {
  if (call.answered) return;
  call.markAnswered();
  send(call, 304, body, { contentType });
}

/** @param location an absolute URL, of characters that are allowed in headers. */
export function redirect(call: Call, location: string): void {
  answer(call, 302, '{}', { location });
}

function startLongAnswer(call: Call, { text, awaited }: Piece, rows: Rows, contentType?: string): void {
  if (call.answered) return;
  call.markAnswered();
  call.status = 200;
  if (call.aborted) {
    call.host.onAnswered(call);
    return;
  }
  call.transport.closesConnection ||= isUnwelcome(call);
  const { longAnswers } = call.host;
  if (call.transport.closesConnection) longAnswers.collect(call, rows, { text, contentType }, awaited);
  else longAnswers.continue(call, rows, beginLongAnswer(call, text, contentType), awaited);
}

/** Sends status and headers of server-sent events. This ends the request; the caller writes the events. */
export function startEventStream(call: Call): void {
  if (call.answered) return;
  call.markAnswered();
  call.status = 200;
  try {
    if (!call.aborted) beginEventStream(call);
  } finally {
    call.host.onAnswered(call);
  }
}

/** The only code that refuses a request. */
export function refuse(call: Call, refusal: Refusal): void {
  const { row, message, details } = refusal;
  const isPlain = message === undefined && details === undefined;
  if (row === ERRORS.OUTCOME_UNKNOWN) call.idempotencyHold?.leaveUnresolved();
  if (!call.answered) call.refusedAs = row;
  if (refusal.rateLimitHeaders !== undefined) call.transport.rateLimitHeaders = refusal.rateLimitHeaders;
  const body = isPlain ? plainBody(row) : JSON.stringify(errorFields(refusal));
  const isKeptWhole = refusal.isOfShard || Buffer.byteLength(body) <= MOST_KEPT_REFUSAL_BYTES;
  answer(call, row.status, body, refusal, row.storable, isKeptWhole ? body : plainBody(row));
}

/** Refuses a well-formed field for a reason that no schema can express. */
export function refuseField(call: Call, field: string, rule: string, value?: string | number, expected?: string): null {
  refuse(call, {
    row: ERRORS.VALIDATION_ERROR,
    message: `invalid ${field}`,
    details: { field, rule, expected, value },
  });
  return null;
}

/** Sends the stored answer of an earlier request with the same key (RULES.md 6.7). */
export function replay(call: Call, status: number, body: string): void {
  answer(call, status, body, REPLAYED);
}

/** @param keptBody the part of the body that is stored with an idempotency key */
function answer(
  call: Call,
  status: number,
  body: string,
  options: AnswerOptions,
  storable: Storable = 'always',
  keptBody = body,
): void {
  if (call.answered) return;
  call.markAnswered();
  if (!mayBeTakenBack(call, status)) {
    record(call, status, body, options, storable, keptBody);
    return;
  }
  call.host.changes!.held().then(
    () => record(call, status, body, options, storable, keptBody),
    () => {
      // The key stays bound to the request: a repeat finds out the outcome and does not carry out the request again.
      const { OUTCOME_UNKNOWN } = ERRORS;
      call.idempotencyHold?.leaveUnresolved();
      record(call, OUTCOME_UNKNOWN.status, plainBody(OUTCOME_UNKNOWN), NO_OPTIONS, OUTCOME_UNKNOWN.storable, '');
    },
  );
}

/** True for a change by an administrator: its answer is recorded before it is sent. */
function isRecorded({ audited }: Call): boolean {
  return audited !== null && audited.recordResult !== null;
}

/** True while a takeover by another member could undo the request's changes (CONTROLRECORDS-2). */
function mayBeTakenBack({ host: { changes }, changesBefore, method }: Call, status: number): boolean {
  if (changes === null || changes.sequence === changesBefore || changes.isHeld) return false;
  return method !== 'GET' && status < FIRST_ERROR_STATUS;
}

/** Sends the answer, after recording or storing it if required. */
function record(
  call: Call,
  status: number,
  body: string,
  options: AnswerOptions,
  storable: Storable,
  keptBody: string,
): void {
  const recordResult = call.audited?.recordResult ?? null;
  if (recordResult !== null) {
    recordResult(status, body, (isRecorded) => sendIf(isRecorded, call, status, body, options));
    return;
  }
  const stored = call.idempotencyHold?.toStore({ status, body: keptBody }, storable) ?? null;
  if (stored === null) {
    send(call, status, body, options);
    return;
  }
  // Without a stored answer a repeat could be answered differently, so this answer must not be sent either.
  call.idempotencyHold!.store(stored, (isStored) => sendIf(isStored, call, status, body, options));
}

/** Sends the answer once everything that must be durable before it is durable. */
function sendIf(isDurable: boolean, call: Call, status: number, body: string, options: AnswerOptions): void {
  if (isDurable) send(call, status, body, options);
  else send(call, ERRORS.OUTCOME_UNKNOWN.status, plainBody(ERRORS.OUTCOME_UNKNOWN), NO_OPTIONS);
}

function send(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
  call.status = status;
  call.transport.closesConnection ||= isUnwelcome(call);
  // If the read buffer already contains the next request, uWebSockets.js does not close the connection after an answer
  // that is sent at once, but serves that request, which may be a smuggled one. While an answer is still owed it does
  // close the connection, so this answer is sent only after the buffer has been read.
  if (call.transport.closesConnection) setImmediate(finish, call, status, unchanging(body), options);
  else finish(call, status, body, options);
}

function unchanging(body: AnswerBody): AnswerBody {
  return typeof body === 'string' ? body : Buffer.from(body);
}

/** True, in a crowd, for a client that has not signed (RULES.md 6.12). */
function isUnwelcome({ transport: { keptFor }, principal }: Call): boolean {
  return keptFor === 'nobody' || (keptFor === 'signers' && isAnonymous(principal));
}

function finish(call: Call, status: number, body: AnswerBody, options: AnswerOptions): void {
  try {
    if (!call.aborted) call.transport.send(call, status, body, options);
  } finally {
    call.host.onAnswered(call);
  }
}

function plainBody(row: ErrorRow): string {
  let body = PLAIN_BODIES.get(row);
  if (body === undefined) {
    body = JSON.stringify(errorFields({ row }));
    PLAIN_BODIES.set(row, body);
  }
  return body;
}

/** The members of an error body; JSON leaves out those that are undefined. */
export function errorFields({ row, message, details }: Refusal): object {
  return { error: message ?? row.message, code: row.code, details };
}

const PLAIN_BODIES = new Map<ErrorRow, string>();
