/**
 * The sending end between the gateway thread and a front thread: a ring, and a queue for what finds no room in it. A
 * record is written where `claim` says, in the ring or beside it, and neither end has to know which.
 * Owner: the thread that sends.
 *
 * Invariants:
 *   OUTGOING-1  Records arrive in the order in which they were claimed: while some wait, later ones wait behind them.
 *   OUTGOING-2  The sender bounds what waits: it is asked for `waitingBytes` before work is taken on, and what it has
 *               to send for work it took on is bounded by the work.
 */
import { RingProducer } from '../../shared/wire/ring.ts';
import { RECORD_ALIGNMENT } from '../../shared/wire/ringLayout.ts';
import { ANY_FRONT } from './records.ts';

const NO_ROOM = -1;

export class Outgoing {
  /** Bytes of records that wait for room in the ring. */
  waitingBytes = 0;
  /** Bytes of all records so far. */
  claimedBytes = 0;
  /** The memory with the record that was claimed last, at the word that `claim` returned. */
  words: Uint32Array;
  bytes: Buffer;
  readonly #ring: RingProducer;
  readonly #ringBytes: Buffer;
  readonly #onRoom: () => void;
  readonly #waiting: ArrayBuffer[] = [];
  #isOver = false;

  /** @param onRoom called when nothing waits any more */
  constructor(ring: SharedArrayBuffer, onRoom: () => void = () => {}) {
    this.#ring = new RingProducer(ring);
    const { buffer, byteOffset, byteLength } = this.#ring.bytes;
    this.#ringBytes = Buffer.from(buffer, byteOffset, byteLength);
    this.#onRoom = onRoom;
    this.words = this.#ring.words;
    this.bytes = this.#ringBytes;
  }

  /** Bytes in the ring that the other thread has not read. */
  get usedBytes(): number {
    return this.#ring.usedBytes();
  }

  /** Of the bytes so far those that the other thread has read, or a few less. */
  get readBytes(): number {
    return this.claimedBytes - this.usedBytes - this.waitingBytes;
  }

  /** Claims a record whose header is filled in; its fields may have any value. @returns its word in `words`. */
  claim(type: number, slot: number, serial: number, lengthBytes: number): number {
    const length = (lengthBytes + RECORD_ALIGNMENT - 1) & -RECORD_ALIGNMENT;
    let word = this.#waiting.length === 0 && !this.#isOver ? this.#ring.tryClaim(length, 0) : NO_ROOM;
    this.words = this.#ring.words;
    this.bytes = this.#ringBytes;
    if (word === NO_ROOM) word = this.#claimBeside(length);
    this.claimedBytes += length;
    const { words } = this;
    words[word + ANY_FRONT.length] = length;
    words[word + ANY_FRONT.type] = type;
    words[word + ANY_FRONT.slot] = slot;
    words[word + ANY_FRONT.serial] = serial;
    return word;
  }

  /** Makes every record so far visible to the other thread. */
  publish(): void {
    this.#ring.publish();
  }

  /** A record that is nothing but its header. */
  send(type: number, slot: number, serial: number): void {
    this.claim(type, slot, serial, ANY_FRONT.BYTES);
    this.publish();
  }

  /** The other thread has ended: nothing that is sent from now on leaves or is kept. */
  end(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
    this.waitingBytes = 0;
    this.#ring.wake();
  }

  /** OUTGOING-1. */
  #claimBeside(length: number): number {
    const record = new ArrayBuffer(length);
    this.words = new Uint32Array(record);
    this.bytes = Buffer.from(record);
    if (this.#isOver) return 0;
    this.waitingBytes += length;
    if (this.#waiting.push(record) === 1) void this.#sendWaiting();
    return 0;
  }

  async #sendWaiting(): Promise<void> {
    while (!this.#isOver && this.#waiting.length > 0) {
      await this.#ring.waitForRoomAsync();
      if (this.#isOver) return;
      let sent = 0;
      while (sent < this.#waiting.length && this.#moveToRing(this.#waiting[sent])) sent++;
      this.#waiting.splice(0, sent);
      this.#ring.publish();
    }
    if (!this.#isOver) this.#onRoom();
  }

  #moveToRing(record: ArrayBuffer): boolean {
    const word = this.#ring.tryClaim(record.byteLength, 0);
    if (word === NO_ROOM) return false;
    this.#ring.bytes.set(new Uint8Array(record), word * 4);
    this.waitingBytes -= record.byteLength;
    return true;
  }
}
