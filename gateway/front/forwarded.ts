/**
 * A call or a socket that a front thread has, as the gateway thread sees it: a request, a response and a WebSocket with
 * the methods of uWebSockets.js that are used. What is written to them becomes records, and the front thread writes it
 * to the client as it stands; so everything above the server is the same code for clients of every thread.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FORWARDED-1  After the answer, or after its client has gone away, a response writes nothing; nor does a socket
 *                after its close.
 *   FORWARDED-2  What is on its way to a client, or waits for it in the front thread, is counted until the thread says
 *                that it has left: answers in pieces wait while MOST_UNTAKEN_BYTES do, and sockets see it as buffered.
 */
import { assert } from '../../shared/base/assert.ts';
import type { AnswerBody, ServerResponse } from '../http/call.ts';
import type { HeaderLines } from '../http/headers.ts';
import type { Outgoing } from './outgoing.ts';
import {
  ANSWER_BIT_BODILESS,
  ANSWER_BIT_CLOSES,
  ANSWER_BIT_LAST,
  CALL_BIT_QUERY,
  FRAME_BIT_BINARY,
  FRAME_BIT_MORE,
  MOST_BYTES,
  TEXT_SEPARATOR,
  TO_FRONT,
} from './records.ts';

/** Pieces of an answer that may be on their way: the next one is made while the front thread writes the last. */
const MOST_UNTAKEN_BYTES = 64 * 1024;
/** The front thread reports in steps how much of a socket's frames has left (UNREPORTED_BYTES): so much is nothing. */
const UNSEEN_BYTES = 16 * 1024;
const PROTOCOL_HEADER = 'sec-websocket-protocol';

/** A request, whose text is read where it is; the object is reused for the next one (CALL-1). */
export class ForwardedRequest implements HeaderLines {
  method = '';
  path = '';
  query: string | null = null;
  #text = '';
  #headersAt = 0;

  read(text: string, bits: number): void {
    const pathAt = text.indexOf(TEXT_SEPARATOR) + 1;
    const queryAt = text.indexOf(TEXT_SEPARATOR, pathAt) + 1;
    const queryEnd = endOfPart(text, queryAt);
    this.method = text.slice(0, pathAt - 1);
    this.path = text.slice(pathAt, queryAt - 1);
    this.query = (bits & CALL_BIT_QUERY) === 0 ? null : text.slice(queryAt, queryEnd);
    this.#text = text;
    this.#headersAt = queryEnd + 1;
  }

  forEach(each: (name: string, value: string) => void): void {
    const text = this.#text;
    for (let at = this.#headersAt; at < text.length; ) {
      const valueAt = text.indexOf(TEXT_SEPARATOR, at) + 1;
      const end = endOfPart(text, valueAt);
      each(text.slice(at, valueAt - 1), text.slice(valueAt, end));
      at = end + 1;
    }
  }

  /** The subprotocols that the client of a socket offers; the front thread keeps the rest of the upgrade. */
  get protocol(): string {
    let protocol = '';
    this.forEach((name, value) => {
      if (name === PROTOCOL_HEADER) protocol ||= value;
    });
    return protocol;
  }
}

function endOfPart(text: string, at: number): number {
  const end = text.indexOf(TEXT_SEPARATOR, at);
  return end < 0 ? text.length : end;
}

/** It keeps the calls and sockets of a front thread. */
type ForwardedHost = {
  readonly out: Outgoing;
  /** The response writes nothing any more. */
  over(response: ForwardedResponse): void;
  /** A call becomes a socket. */
  upgraded(response: ForwardedResponse, data: object): void;
};

export class ForwardedResponse implements ServerResponse {
  readonly slot: number;
  readonly serial: number;
  readonly #host: ForwardedHost;
  readonly #peer: ArrayBuffer;
  #status = '';
  #name = '';
  #value = '';
  #hasBegun = false;
  #isOver = false;
  #untakenBytes = 0;
  /** The last piece did not leave at once: its writer waits. */
  #isBehind = false;
  #onAborted: (() => void) | null = null;
  #onWritable: ((offset: number) => boolean) | null = null;
  #onData: ((bytes: ArrayBuffer, isLast: boolean) => void) | null = null;

  constructor(host: ForwardedHost, slot: number, serial: number, peer: ArrayBuffer) {
    this.#host = host;
    this.slot = slot;
    this.serial = serial;
    this.#peer = peer;
  }

  cork(write: () => void): void {
    write();
  }

  writeStatus(status: string): void {
    this.#status = status;
  }

  /** The lines after the first header are a part of its value, as everywhere in httpTransport.ts. */
  writeHeader(name: string, value: string | Buffer): void {
    const text = typeof value === 'string' ? value : value.toString('latin1');
    if (this.#name === '') {
      this.#name = name;
      this.#value = text;
    } else this.#value += `\r\n${name}: ${text}`;
  }

  write(piece: AnswerBody): boolean {
    if (this.#isOver) return true;
    const bytes = this.#send(0, piece);
    this.#untakenBytes += bytes;
    this.#isBehind = this.#untakenBytes >= MOST_UNTAKEN_BYTES;
    return !this.#isBehind;
  }

  end(body: AnswerBody = '', closesConnection = false): void {
    this.#end(closesConnection ? ANSWER_BIT_LAST | ANSWER_BIT_CLOSES : ANSWER_BIT_LAST, body);
  }

  endWithoutBody(): void {
    this.#end(ANSWER_BIT_LAST | ANSWER_BIT_BODILESS, '');
  }

  close(): void {
    if (this.#isOver) return;
    this.#host.out.send(TO_FRONT.CUT.TYPE, this.slot, this.serial);
    this.gone();
  }

  onAborted(handler: () => void): void {
    this.#onAborted = handler;
  }

  onWritable(handler: (offset: number) => boolean): void {
    this.#onWritable = handler;
  }

  onData(handler: (bytes: ArrayBuffer, isLast: boolean) => void): void {
    this.#onData = handler;
  }

  getRemoteAddress(): ArrayBuffer {
    return this.#peer;
  }

  /** Key, extensions and context are with the front thread. */
  upgrade(data: object, _key: string, protocol: string): void {
    if (this.#isOver) return;
    const { out } = this.#host;
    const length = TO_FRONT.UPGRADE.BYTES + protocol.length;
    const word = out.claim(TO_FRONT.UPGRADE.TYPE, this.slot, this.serial, length);
    out.words[word + TO_FRONT.UPGRADE.protocolBytes] = protocol.length;
    out.bytes.write(protocol, (word + TO_FRONT.UPGRADE.WORDS) * 4, 'latin1');
    out.publish();
    this.#isOver = true;
    this.#host.upgraded(this, data);
  }

  /** A part of the body has come. */
  received(bytes: ArrayBuffer, isLast: boolean): void {
    this.#onData?.(bytes, isLast);
  }

  /** FORWARDED-2. */
  taken(bytes: number): void {
    this.#untakenBytes -= bytes;
    assert(this.#untakenBytes >= 0, 'FORWARDED-2: only what was written leaves');
    if (!this.#isBehind || this.#untakenBytes >= MOST_UNTAKEN_BYTES) return;
    this.#isBehind = false;
    this.#onWritable?.(0);
  }

  /** The client has gone away, or its connection is cut. */
  gone(): void {
    if (this.#isOver) return;
    this.#over();
    this.#onAborted?.();
  }

  #end(bits: number, body: AnswerBody): void {
    if (this.#isOver) return;
    this.#send(bits, body);
    this.#over();
  }

  /** FORWARDED-1. */
  #over(): void {
    this.#isOver = true;
    this.#host.over(this);
  }

  /** @returns the bytes of the body. */
  #send(bits: number, body: AnswerBody): number {
    const { out } = this.#host;
    const size = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    // The parts of a long body are cut between bytes.
    const whole = size > MOST_BYTES && typeof body === 'string' ? Buffer.from(body) : body;
    const first = Math.min(size, MOST_BYTES);
    if (this.#hasBegun) this.#sendPiece(size > first ? bits & ~ANSWER_BIT_LAST : bits, whole, 0, first);
    else this.#begin(bits, whole, first, size);
    for (let at = first; at < size; at += MOST_BYTES) {
      const count = Math.min(MOST_BYTES, size - at);
      this.#sendPiece(at + count < size ? bits & ~ANSWER_BIT_LAST : bits, whole, at, count);
    }
    out.publish();
    return size;
  }

  #begin(bits: number, body: AnswerBody, first: number, size: number): void {
    const { out } = this.#host;
    const { ANSWER } = TO_FRONT;
    const head = this.#status + this.#name + this.#value;
    const headBytes = Buffer.byteLength(head);
    const word = out.claim(ANSWER.TYPE, this.slot, this.serial, ANSWER.BYTES + headBytes + first);
    const { words, bytes } = out;
    words[word + ANSWER.bits] = bits;
    words[word + ANSWER.statusBytes] = this.#status.length;
    words[word + ANSWER.nameBytes] = this.#name.length;
    words[word + ANSWER.valueBytes] = headBytes - this.#status.length - this.#name.length;
    words[word + ANSWER.bodyBytes] = first;
    // A body that is written in pieces has no length.
    words[word + ANSWER.restBytes] = (bits & ANSWER_BIT_LAST) === 0 ? 0 : size - first;
    const at = (word + ANSWER.WORDS) * 4;
    bytes.write(head, at, headBytes);
    copyTo(bytes, at + headBytes, body, 0, first);
    this.#hasBegun = true;
  }

  #sendPiece(bits: number, body: AnswerBody, from: number, count: number): void {
    const { out } = this.#host;
    const { PIECE } = TO_FRONT;
    const word = out.claim(PIECE.TYPE, this.slot, this.serial, PIECE.BYTES + count);
    out.words[word + PIECE.bits] = bits;
    out.words[word + PIECE.bytes] = count;
    copyTo(out.bytes, (word + PIECE.WORDS) * 4, body, from, count);
  }
}

/** A text is written whole. */
function copyTo(bytes: Buffer, at: number, body: AnswerBody, from: number, count: number): void {
  if (typeof body === 'string') bytes.write(body, at, count);
  else body.copy(bytes, at, from, from + count);
}

/** The part of a WebSocket of uWebSockets.js that the stream uses. */
export class ForwardedSocket {
  readonly slot: number;
  readonly serial: number;
  readonly #out: Outgoing;
  readonly #data: object;
  readonly #onClosed: (socket: ForwardedSocket, code: number) => void;
  #isOver = false;
  #untakenBytes = 0;

  constructor(
    out: Outgoing,
    { slot, serial }: ForwardedResponse,
    data: object,
    onClosed: (socket: ForwardedSocket, code: number) => void,
  ) {
    this.#out = out;
    this.slot = slot;
    this.serial = serial;
    this.#data = data;
    this.#onClosed = onClosed;
  }

  getUserData(): object {
    return this.#data;
  }

  cork(write: () => void): this {
    write();
    return this;
  }

  send(message: Uint8Array, isBinary = false): number {
    if (this.#isOver) return 1;
    for (let at = 0; ; at += MOST_BYTES) {
      const count = Math.min(message.length - at, MOST_BYTES);
      const isLast = at + count === message.length;
      this.#sendPart(message, at, count, (isBinary ? FRAME_BIT_BINARY : 0) | (isLast ? 0 : FRAME_BIT_MORE));
      if (isLast) break;
    }
    this.#out.publish();
    this.#untakenBytes += message.length;
    return 1;
  }

  ping(): number {
    if (!this.#isOver) this.#out.send(TO_FRONT.PING.TYPE, this.slot, this.serial);
    return 1;
  }

  /** FORWARDED-2. */
  getBufferedAmount(): number {
    return this.#untakenBytes < UNSEEN_BYTES ? 0 : this.#untakenBytes;
  }

  taken(bytes: number): void {
    this.#untakenBytes -= bytes;
    assert(this.#untakenBytes >= 0, 'FORWARDED-2: only what was sent leaves');
  }

  end(code: number, reason: string): void {
    if (this.#isOver) return;
    const { END } = TO_FRONT;
    const reasonBytes = Buffer.byteLength(reason);
    const word = this.#out.claim(END.TYPE, this.slot, this.serial, END.BYTES + reasonBytes);
    this.#out.words[word + END.code] = code;
    this.#out.words[word + END.reasonBytes] = reasonBytes;
    this.#out.bytes.write(reason, (word + END.WORDS) * 4, reasonBytes);
    this.#out.publish();
    this.gone(code);
  }

  close(): void {
    if (this.#isOver) return;
    this.#out.send(TO_FRONT.CUT.TYPE, this.slot, this.serial);
    this.gone();
  }

  /** FORWARDED-1. @param code of RFC 6455; 1006 for a connection that has just ended */
  gone(code = 1006): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onClosed(this, code);
  }

  #sendPart(message: Uint8Array, from: number, count: number, bits: number): void {
    const { FRAME } = TO_FRONT;
    const word = this.#out.claim(FRAME.TYPE, this.slot, this.serial, FRAME.BYTES + count);
    this.#out.words[word + FRAME.bits] = bits;
    this.#out.words[word + FRAME.bytes] = count;
    const part = count === message.length ? message : message.subarray(from, from + count);
    this.#out.bytes.set(part, (word + FRAME.WORDS) * 4);
  }
}
