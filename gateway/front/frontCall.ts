/**
 * A call of a client of a front thread: its response, written as the gateway thread says.
 * Owner: the front thread.
 *
 * Invariant:
 *   FRONTCALL-1  A body whose parts come in several records is written in one: its length is in the header.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { assert } from '../../shared/base/assert.ts';
import type { Upgrade } from '../http/call.ts';
import type { RequestHeaders } from '../http/headers.ts';
import type { Outgoing } from './outgoing.ts';
import type { RequestLine } from './readByFront.ts';
import {
  ANSWER_BIT_BODILESS,
  ANSWER_BIT_CLOSES,
  ANSWER_BIT_LAST,
  CALL_BIT_QUERY,
  FROM_FRONT,
  MOST_BYTES,
  TO_FRONT,
} from './records.ts';

const { ANSWER, PIECE } = TO_FRONT;

/** The head of a call that is passed on together with its body, if that comes in the same turn. */
export type HeldHead = {
  readonly line: RequestLine;
  /** The text of a CALL. */
  readonly text: string;
  readonly headers: RequestHeaders;
  readonly peer: Uint8Array;
};

export class FrontCall {
  readonly slot: number;
  readonly serial: number;
  readonly response: HttpResponse;
  /** Null for a plain request. */
  readonly upgrade: Upgrade | null;
  /** The response has ended, is cut, or belongs to a socket. */
  isOver = false;
  /** Its head waits for the body, until the end of the turn at most; null: it has been passed on. */
  held: HeldHead | null = null;
  readonly #out: Outgoing;
  /** Parts of the body of this turn. */
  #kept: Buffer[] = [];
  /** FRONTCALL-1: null for an answer that is not collected. */
  #whole: Buffer | null = null;
  #wholeBytes = 0;
  #closes = false;
  /** Bytes of pieces that the client has not been sent. */
  #behindBytes = 0;
  #isWatched = false;

  constructor(out: Outgoing, slot: number, serial: number, response: HttpResponse, upgrade: Upgrade | null) {
    this.#out = out;
    this.slot = slot;
    this.serial = serial;
    this.response = response;
    this.upgrade = upgrade;
  }

  /** Passes on the head, with the bits of a CALL. */
  sendHead(text: string, peer: Uint8Array, bits: number): void {
    const { CALL } = FROM_FRONT;
    const out = this.#out;
    const textBytes = Buffer.byteLength(text);
    const word = out.claim(CALL.TYPE, this.slot, this.serial, CALL.BYTES + textBytes);
    const { words, bytes } = out;
    words[word + CALL.bits] = bits;
    words[word + CALL.peerBytes] = peer.length;
    bytes.set(peer, (word + CALL.peer) * 4);
    words[word + CALL.textBytes] = textBytes;
    bytes.write(text, (word + CALL.WORDS) * 4, textBytes);
    out.publish();
  }

  /** The body has not come with the head, or a front cannot read the call. */
  sendHeld(): void {
    const { held } = this;
    this.held = null;
    if (held !== null) this.sendHead(held.text, held.peer, held.line.query === null ? 0 : CALL_BIT_QUERY);
  }

  /** A part before the last. @returns whether it is the first that waits for `sendKept` */
  keepPart(part: ArrayBuffer): boolean {
    // uWebSockets.js uses the memory of a part again.
    return this.#kept.push(Buffer.from(new Uint8Array(part))) === 1;
  }

  /** @returns whether there was anything: the last part may have come meanwhile */
  sendKept(): boolean {
    if (this.#kept.length === 0) return false;
    this.#sendBody(Buffer.concat(this.#kept), false);
    return true;
  }

  sendLast(part: ArrayBuffer): void {
    const last = new Uint8Array(part);
    this.#sendBody(this.#kept.length === 0 ? last : Buffer.concat([...this.#kept, last]), true);
  }

  #sendBody(bytes: Uint8Array, isLast: boolean): void {
    const { BODY } = FROM_FRONT;
    const out = this.#out;
    this.#kept = [];
    for (let at = 0; ; at += MOST_BYTES) {
      const count = Math.min(bytes.length - at, MOST_BYTES);
      const isEnd = at + count === bytes.length;
      const word = out.claim(BODY.TYPE, this.slot, this.serial, BODY.BYTES + count);
      out.words[word + BODY.isLast] = isLast && isEnd ? 1 : 0;
      out.words[word + BODY.bytes] = count;
      out.bytes.set(count === bytes.length ? bytes : bytes.subarray(at, at + count), (word + BODY.WORDS) * 4);
      if (isEnd) break;
    }
    out.publish();
  }

  /** Status, header and the body, or its start. */
  begin(words: Uint32Array, bytes: Buffer, word: number): void {
    const { response } = this;
    const bits = words[word + ANSWER.bits];
    const statusAt = (word + ANSWER.WORDS) * 4;
    const nameAt = statusAt + words[word + ANSWER.statusBytes];
    const valueAt = nameAt + words[word + ANSWER.nameBytes];
    const bodyAt = valueAt + words[word + ANSWER.valueBytes];
    const body = bytes.subarray(bodyAt, bodyAt + words[word + ANSWER.bodyBytes]);
    const restBytes = words[word + ANSWER.restBytes];
    response.cork(() => {
      if (nameAt > statusAt) response.writeStatus(bytes.subarray(statusAt, nameAt));
      if (valueAt > nameAt) response.writeHeader(bytes.subarray(nameAt, valueAt), bytes.subarray(valueAt, bodyAt));
      if (restBytes === 0) this.#write(bits, body);
    });
    // The last bit of a body in several records is in the last of them.
    if (restBytes > 0) this.#collect(bits, body, restBytes);
  }

  piece(words: Uint32Array, bytes: Buffer, word: number): void {
    const at = (word + PIECE.WORDS) * 4;
    const body = bytes.subarray(at, at + words[word + PIECE.bytes]);
    const bits = words[word + PIECE.bits];
    if (this.#whole === null) this.response.cork(() => this.#write(bits, body));
    else this.#collect(bits, body, 0);
  }

  /** FRONTCALL-1. */
  #collect(bits: number, part: Buffer, restBytes: number): void {
    this.#whole ??= Buffer.allocUnsafe(part.length + restBytes);
    const whole = this.#whole;
    part.copy(whole, this.#wholeBytes);
    this.#wholeBytes += part.length;
    this.#closes ||= (bits & ANSWER_BIT_CLOSES) !== 0;
    if (this.#wholeBytes < whole.length) return;
    assert((bits & ANSWER_BIT_LAST) !== 0, 'FRONTCALL-1: the part that completes a body is its last');
    this.#whole = null;
    this.isOver = true;
    this.response.cork(() => this.response.end(whole, this.#closes));
  }

  #write(bits: number, body: Uint8Array): void {
    const { response } = this;
    if ((bits & ANSWER_BIT_LAST) === 0) {
      this.#writePiece(body);
      return;
    }
    this.isOver = true;
    if ((bits & ANSWER_BIT_BODILESS) !== 0) response.endWithoutBody();
    else response.end(body, (bits & ANSWER_BIT_CLOSES) !== 0);
  }

  #writePiece(body: Uint8Array): void {
    const hasLeft = this.response.write(body);
    if (hasLeft && this.#behindBytes === 0) {
      this.#taken(body.length);
      return;
    }
    this.#behindBytes += body.length;
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.response.onWritable(() => {
      this.#taken(this.#behindBytes);
      this.#behindBytes = 0;
      return true;
    });
  }

  #taken(bytes: number): void {
    if (bytes === 0) return;
    const { TAKEN } = FROM_FRONT;
    const word = this.#out.claim(TAKEN.TYPE, this.slot, this.serial, TAKEN.BYTES);
    this.#out.words[word + TAKEN.bytes] = bytes;
    this.#out.publish();
  }
}
