/**
 * One-producer one-consumer ring of variable-length records over a SharedArrayBuffer (ringLayout.ts draws it).
 * Owner: PUBLISHED belongs to the producer's thread, RELEASED to the consumer's; each side keeps a private copy of the
 * other's cursor and rereads it only when the ring looks full or empty.
 *
 * Invariants:
 *   R1  0 <= published - released <= capacity (modulo 2^32).
 *   R2  Bytes between released and published belong to the consumer, all others to the producer.
 *   R3  A record is complete before PUBLISHED covers it: plain writes first, then one Atomics.store. The consumer
 *       does Atomics.load first, then plain reads. Nothing else orders the two threads' memory.
 *   R4  A consumer that sets ASLEEP looks at PUBLISHED once more before it waits, and a producer looks at ASLEEP after
 *       its store; both are sequentially consistent, so one of them always sees the other and no wake-up is lost.
 *       WANTS_ROOM and RELEASED are the same the other way round.
 *
 * Waiting: the worker side looks about 20 times and then sleeps in Atomics.wait, the event-loop side sleeps in
 * Atomics.waitAsync at once. On two cores every longer spin is taken from the other thread (bench: ring).
 * A full ring is an answer (`tryClaim` returns -1), never an exception.
 */
import { assert } from './assert.ts';
import {
  DATA_BYTES_OFFSET,
  PADDING_TYPE,
  RECORD_ALIGNMENT,
  WORD_ASLEEP,
  WORD_PUBLISHED,
  WORD_RELEASED,
  WORD_WANTS_ROOM,
} from './ringLayout.ts';

const LOOKS_BEFORE_SLEEP = 20;

export class RingProducer {
  /** The data as words and bytes; a claim's fields are written here, at the word offset `tryClaim` returned. */
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  readonly capacity: number;
  readonly #control: Int32Array;
  readonly #mask: number;
  /** End of the last claim; runs ahead of PUBLISHED until `publish`. */
  #claimed: number;
  #released: number;

  constructor(buffer: SharedArrayBuffer) {
    this.capacity = buffer.byteLength - DATA_BYTES_OFFSET;
    this.#mask = this.capacity - 1;
    assert((this.capacity & this.#mask) === 0, 'ring: capacity is a power of two');
    this.#control = new Int32Array(buffer, 0, DATA_BYTES_OFFSET / 4);
    this.words = new Uint32Array(buffer, DATA_BYTES_OFFSET);
    this.bytes = new Uint8Array(buffer, DATA_BYTES_OFFSET);
    this.#claimed = Atomics.load(this.#control, WORD_PUBLISHED) >>> 0;
    this.#released = Atomics.load(this.#control, WORD_RELEASED) >>> 0;
  }

  /**
   * Claims `lengthBytes` (a multiple of 8) for one record, leaving at least `keepFreeBytes` for more urgent ones.
   * @returns the word offset of the record, with its length word written, or -1 when there is no room.
   */
  tryClaim(lengthBytes: number, keepFreeBytes: number): number {
    assert(lengthBytes % RECORD_ALIGNMENT === 0 && lengthBytes >= 8, 'ring: a record is a multiple of 8 bytes');
    // A longer one might find no room even in an empty ring, depending on where the cursor stands: a wait without end.
    assert(lengthBytes * 2 <= this.capacity, 'ring: a record takes at most half of the ring');
    const start = this.#claimed & this.#mask;
    const toEnd = this.capacity - start;
    const padding = toEnd < lengthBytes ? toEnd : 0;
    const needed = padding + lengthBytes + keepFreeBytes;
    if (needed > this.freeBytes()) {
      this.#released = Atomics.load(this.#control, WORD_RELEASED) >>> 0;
      if (needed > this.freeBytes()) return -1;
    }
    let word = start >>> 2;
    if (padding > 0) {
      this.words[word] = padding;
      this.words[word + 1] = PADDING_TYPE;
      word = 0;
    }
    this.words[word] = lengthBytes;
    this.#claimed = (this.#claimed + padding + lengthBytes) >>> 0;
    return word;
  }

  /** Free bytes by the last look at the consumer's cursor: never more than there are. */
  freeBytes(): number {
    return this.capacity - ((this.#claimed - this.#released) >>> 0);
  }

  /** Bytes the consumer has not released yet, for gauges. */
  usedBytes(): number {
    return (this.#claimed - (Atomics.load(this.#control, WORD_RELEASED) >>> 0)) >>> 0;
  }

  /** Makes every claim so far visible and wakes the consumer if it sleeps. */
  publish(): void {
    Atomics.store(this.#control, WORD_PUBLISHED, this.#claimed | 0);
    if (Atomics.load(this.#control, WORD_ASLEEP) === 1) {
      Atomics.store(this.#control, WORD_ASLEEP, 0);
      Atomics.notify(this.#control, WORD_ASLEEP);
    }
  }

  /** Blocks until the consumer has released something, at most `timeoutMs`. Worker threads only. */
  waitForRoom(timeoutMs: number): void {
    Atomics.store(this.#control, WORD_WANTS_ROOM, 1);
    const released = Atomics.load(this.#control, WORD_RELEASED) >>> 0;
    if (released === this.#released) Atomics.wait(this.#control, WORD_WANTS_ROOM, 1, timeoutMs);
    Atomics.store(this.#control, WORD_WANTS_ROOM, 0);
  }
}

export class RingConsumer {
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  readonly capacity: number;
  readonly #control: Int32Array;
  readonly #mask: number;
  #position: number;
  #published: number;

  constructor(buffer: SharedArrayBuffer) {
    this.capacity = buffer.byteLength - DATA_BYTES_OFFSET;
    this.#mask = this.capacity - 1;
    assert((this.capacity & this.#mask) === 0, 'ring: capacity is a power of two');
    this.#control = new Int32Array(buffer, 0, DATA_BYTES_OFFSET / 4);
    this.words = new Uint32Array(buffer, DATA_BYTES_OFFSET);
    this.bytes = new Uint8Array(buffer, DATA_BYTES_OFFSET);
    this.#position = Atomics.load(this.#control, WORD_RELEASED) >>> 0;
    this.#published = this.#position;
  }

  /**
   * The next record's word offset, or -1 when there is none. The record stays the consumer's until `release`, so
   * several can be taken before one release, and run in another order than they came.
   */
  next(): number {
    for (;;) {
      if (this.#position === this.#published) {
        this.#published = Atomics.load(this.#control, WORD_PUBLISHED) >>> 0;
        if (this.#position === this.#published) return -1;
      }
      const word = (this.#position & this.#mask) >>> 2;
      const lengthBytes = this.words[word]!;
      assert(
        lengthBytes >= 8 && lengthBytes % RECORD_ALIGNMENT === 0 && lengthBytes <= this.capacity,
        'ring: a published record has a sound length',
      );
      this.#position = (this.#position + lengthBytes) >>> 0;
      if ((this.words[word + 1]! & 0xffff) !== PADDING_TYPE) return word;
    }
  }

  /** Gives the records taken so far back to the producer: all of them, or only those before the one at `keepWord`. */
  release(keepWord = -1): void {
    let released = this.#position;
    // What is kept ends where the next record will be read; a ring that is kept whole begins there as well.
    if (keepWord >= 0) released -= (released - keepWord * 4) & this.#mask || this.capacity;
    Atomics.store(this.#control, WORD_RELEASED, released | 0);
    if (Atomics.load(this.#control, WORD_WANTS_ROOM) === 1) {
      Atomics.store(this.#control, WORD_WANTS_ROOM, 0);
      Atomics.notify(this.#control, WORD_WANTS_ROOM);
    }
  }

  /** Bytes published and not taken yet, for gauges. */
  usedBytes(): number {
    return ((Atomics.load(this.#control, WORD_PUBLISHED) >>> 0) - this.#position) >>> 0;
  }

  isEmpty(): boolean {
    return this.#position === Atomics.load(this.#control, WORD_PUBLISHED) >>> 0;
  }

  /**
   * Looks a few times, then sleeps until something is published or `timeoutMs` has passed. Worker threads only.
   * @returns whether there is something.
   */
  waitSync(timeoutMs: number): boolean {
    for (let look = 0; look < LOOKS_BEFORE_SLEEP; look++) if (!this.isEmpty()) return true;
    Atomics.store(this.#control, WORD_ASLEEP, 1);
    if (this.isEmpty()) Atomics.wait(this.#control, WORD_ASLEEP, 1, timeoutMs);
    Atomics.store(this.#control, WORD_ASLEEP, 0);
    return !this.isEmpty();
  }

  /**
   * Resolves when something is published, or at `wake`. A pending wait does not keep Node alive. There is no timeout:
   * each would leave a timer behind that wakes the event loop for nothing when it runs out.
   */
  async waitAsync(): Promise<void> {
    Atomics.store(this.#control, WORD_ASLEEP, 1);
    if (this.isEmpty()) {
      const waiting = Atomics.waitAsync(this.#control, WORD_ASLEEP, 1);
      if (waiting.async) await waiting.value;
    }
    Atomics.store(this.#control, WORD_ASLEEP, 0);
  }

  /** Ends a wait of this side though nothing has come. */
  wake(): void {
    Atomics.store(this.#control, WORD_ASLEEP, 0);
    Atomics.notify(this.#control, WORD_ASLEEP);
  }
}
