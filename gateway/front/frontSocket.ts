/**
 * A WebSocket of a client of a front thread.
 * Owner: the front thread.
 *
 * Invariants:
 *   FRONTSOCKET-1  Of the bytes that were sent, those that do not wait in this thread are reported: in steps while the
 *                  client keeps up, and all of them when the socket has drained.
 *   FRONTSOCKET-2  `#olderBytes` and `#newerBytes` are together no less than what the gateway thread has not read of
 *                  the messages: the older ones were passed on before `#mark`, the newer ones after it.
 *   FRONTSOCKET-3  However many pings and pongs come in a turn, they are one record each.
 */
import type { WebSocket } from 'uWebSockets.js';
import { assert } from '../../shared/base/assert.ts';
import type { FrontCall } from './frontCall.ts';
import type { Outgoing } from './outgoing.ts';
import { FRAME_BIT_BINARY, FRAME_BIT_MORE, FROM_FRONT, TO_FRONT } from './records.ts';

/** uWebSockets.js keeps this with each socket. */
export type SocketData = { readonly socket: FrontSocket };

/** Half of what the gateway thread does not count (forwarded.ts). */
const UNREPORTED_BYTES = 8 * 1024;
/** Of one socket: more than its requests that may be in flight (stream/entryLimits.ts). */
export const MOST_UNREAD_BYTES = 2 * 1024 * 1024;
/** RFC 6455: the client comes back. */
const TRY_AGAIN_LATER = 1013;

export class FrontSocket {
  readonly slot: number;
  readonly serial: number;
  /** The gateway thread has closed it, or knows that it is closed. */
  isOver = false;
  #socket: WebSocket<SocketData> | null = null;
  /** Parts of a message whose last part has not come. */
  #parts: Buffer[] = [];
  #sentBytes = 0;
  #isSentTo = false;
  #olderBytes = 0;
  #newerBytes = 0;
  #mark = 0;
  #pings = 0;
  #hasPonged = false;

  constructor({ slot, serial }: FrontCall) {
    this.slot = slot;
    this.serial = serial;
  }

  opened(socket: WebSocket<SocketData>): void {
    assert(this.#socket === null, 'front socket: it opens once');
    this.#socket = socket;
  }

  closed(): void {
    this.#socket = null;
  }

  /** FRONTSOCKET-2. @returns false when the client sends faster than the gateway thread reads */
  mayPass(out: Outgoing): boolean {
    if (out.readBytes >= this.#mark) {
      this.#olderBytes = this.#newerBytes;
      this.#newerBytes = 0;
      this.#mark = out.claimedBytes;
    }
    return this.#olderBytes + this.#newerBytes <= MOST_UNREAD_BYTES;
  }

  sendMessage(out: Outgoing, message: Uint8Array, isBinary: boolean): void {
    const { MESSAGE } = FROM_FRONT;
    this.#newerBytes += MESSAGE.BYTES + message.length;
    const word = out.claim(MESSAGE.TYPE, this.slot, this.serial, MESSAGE.BYTES + message.length);
    out.words[word + MESSAGE.isBinary] = isBinary ? 1 : 0;
    out.words[word + MESSAGE.bytes] = message.length;
    out.bytes.set(message, (word + MESSAGE.WORDS) * 4);
    out.publish();
  }

  /** @returns whether it is the first of this turn. */
  sendFrame(words: Uint32Array, bytes: Buffer, word: number): boolean {
    const bits = words[word + TO_FRONT.FRAME.bits];
    const at = (word + TO_FRONT.FRAME.WORDS) * 4;
    const part = bytes.subarray(at, at + words[word + TO_FRONT.FRAME.bytes]);
    if ((bits & FRAME_BIT_MORE) !== 0) {
      this.#parts.push(Buffer.from(part));
      return false;
    }
    let message = part;
    if (this.#parts.length > 0) {
      message = Buffer.concat([...this.#parts, part]);
      this.#parts = [];
    }
    this.#sentBytes += message.length;
    this.#socket?.send(message, (bits & FRAME_BIT_BINARY) !== 0);
    const isFirst = !this.#isSentTo;
    this.#isSentTo = true;
    return isFirst;
  }

  /** FRONTSOCKET-1: at the end of a turn. */
  report(out: Outgoing): void {
    this.#isSentTo = false;
    if (this.#sentBytes >= UNREPORTED_BYTES) this.drained(out);
  }

  drained(out: Outgoing): void {
    if (this.#socket === null || this.isOver) return;
    const waitingBytes = this.#socket.getBufferedAmount();
    const taken = this.#sentBytes - waitingBytes;
    if (taken <= 0) return;
    this.#sentBytes = waitingBytes;
    const { TAKEN } = FROM_FRONT;
    const word = out.claim(TAKEN.TYPE, this.slot, this.serial, TAKEN.BYTES);
    out.words[word + TAKEN.bytes] = taken;
    out.publish();
  }

  /** FRONTSOCKET-3. @returns whether it is the first of this turn. */
  pinged(): boolean {
    this.#pings++;
    return this.#pings === 1 && !this.#hasPonged;
  }

  /** The same for a pong. */
  ponged(): boolean {
    const isFirst = this.#pings === 0 && !this.#hasPonged;
    this.#hasPonged = true;
    return isFirst;
  }

  /** FRONTSOCKET-3: at the end of a turn. */
  reportHeard(out: Outgoing): void {
    const [pings, hasPonged] = [this.#pings, this.#hasPonged];
    this.#pings = 0;
    this.#hasPonged = false;
    if (this.isOver) return;
    const { PINGED, PONGED } = FROM_FRONT;
    if (hasPonged) out.send(PONGED.TYPE, this.slot, this.serial);
    if (pings === 0) return;
    const word = out.claim(PINGED.TYPE, this.slot, this.serial, PINGED.BYTES);
    out.words[word + PINGED.count] = pings;
    out.publish();
  }

  ping(): void {
    this.#socket?.ping();
  }

  end(words: Uint32Array, bytes: Buffer, word: number): void {
    const at = (word + TO_FRONT.END.WORDS) * 4;
    const reason = bytes.subarray(at, at + words[word + TO_FRONT.END.reasonBytes]);
    this.#socket?.end(words[word + TO_FRONT.END.code], reason);
  }

  /** The gateway thread is too far behind to read what this client sends. */
  endBusy(): void {
    this.#socket?.end(TRY_AGAIN_LATER, 'server is busy');
  }

  cut(): void {
    this.#socket?.close();
  }
}
