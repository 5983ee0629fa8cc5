/**
 * One-producer one-consumer ring of variable-length records over a SharedArrayBuffer (ringLayout.ts declares its
 * memory).
 * Owner: PUBLISHED belongs to the producer's thread, RELEASED to the consumer's; each side keeps a private copy of the
 * other's cursor and rereads it only when the ring looks full or empty.
 *
 * Invariants:
 *   RING-1  0 <= published - released <= capacity (modulo 2^32).
 *   RING-2  Bytes between released and published belong to the consumer, all others to the producer.
 *   RING-3  A record is complete before PUBLISHED covers it: plain writes first, then one Atomics.store. The consumer
 *           does Atomics.load first, then plain reads. Nothing else orders the two threads' memory.
 *   RING-4  A consumer that sets ASLEEP reads PUBLISHED once more before it waits, and a producer reads ASLEEP after
 *           its store; both are sequentially consistent, so one of them always sees the other and no wake-up is
 *           lost. WANTS_ROOM and RELEASED work the same way in the other direction.
 *   RING-5  A consumer of several rings sleeps at one of them, their bell: producers read the ASLEEP of the bell after
 *           their store, and the consumer reads PUBLISHED of every ring before it waits.
 *
 * Waiting: the worker side polls about 20 times and then sleeps in Atomics.wait; the event-loop side sleeps in
 * Atomics.waitAsync at once. On two cores every longer spin slows the other thread down (ring.bench.ts). A full ring is
 * a result (`tryClaim` returns -1), never an exception.
 */
import { assert } from '../base/assert.ts';
import { PADDING_TYPE, RECORD_ALIGNMENT, RING, RING_RECORD } from './ringLayout.ts';

const { published: PUBLISHED, released: RELEASED, asleep: ASLEEP, wantsRoom: WANTS_ROOM, BYTES: DATA } = RING;
const { length: LENGTH, type: TYPE } = RING_RECORD;

const LOOKS_BEFORE_SLEEP = 20;

export class RingProducer {
  /** The data as words and bytes; a claim's fields are written here, at the word offset `tryClaim` returned. */
  readonly words: Uint32Array;
  readonly bytes: Uint8Array;
  readonly capacity: number;
  readonly #control: Int32Array;
  /** The control words of the ring at which the consumer sleeps. */
  readonly #bell: Int32Array;
  readonly #mask: number;
  /** End of the last claim, ahead of PUBLISHED until `publish`. */
  #claimed: number;
  #released: number;

  /** @param bell RING-5. The ring at which the consumer sleeps, if that is a different one. */
  constructor(buffer: SharedArrayBuffer, bell = buffer) {
    this.capacity = buffer.byteLength - DATA;
    this.#mask = this.capacity - 1;
    assert((this.capacity & this.#mask) === 0, 'ring: capacity is a power of two');
    this.#control = new Int32Array(buffer, 0, DATA / 4);
    this.#bell = new Int32Array(bell, 0, DATA / 4);
    this.words = new Uint32Array(buffer, DATA);
    this.bytes = new Uint8Array(buffer, DATA);
    this.#claimed = Atomics.load(this.#control, PUBLISHED) >>> 0;
    this.#released = Atomics.load(this.#control, RELEASED) >>> 0;
  }

  /**
   * Claims `lengthBytes` (a multiple of 8) for one record, leaving at least `keepFreeBytes` for more urgent ones.
   * @returns the word offset of the record, with its length word written, or -1 when there is no room.
   */
  tryClaim(lengthBytes: number, keepFreeBytes: number): number {
    assert(lengthBytes % RECORD_ALIGNMENT === 0 && lengthBytes >= 8, 'ring: a record is a multiple of 8 bytes');
    // A longer record might not fit even into an empty ring, depending on the position of the cursor: the wait would
    // never end.
    assert(lengthBytes * 2 <= this.capacity, 'ring: a record takes at most half of the ring');
    const start = this.#claimed & this.#mask;
    const toEnd = this.capacity - start;
    const padding = toEnd < lengthBytes ? toEnd : 0;
    const needed = padding + lengthBytes + keepFreeBytes;
    if (needed > this.freeBytes()) {
      this.#released = Atomics.load(this.#control, RELEASED) >>> 0;
      assert(this.freeBytes() >= 0, 'RING-1: the consumer releases only what was published');
      if (needed > this.freeBytes()) return -1;
    }
    let word = start >>> 2;
    if (padding > 0) {
      this.words[word + LENGTH] = padding;
      this.words[word + TYPE] = PADDING_TYPE;
      word = 0;
    }
    this.words[word + LENGTH] = lengthBytes;
    this.#claimed = (this.#claimed + padding + lengthBytes) >>> 0;
    return word;
  }

  /** Free bytes by the last known cursor of the consumer; the true number may be larger. */
  freeBytes(): number {
    return this.capacity - ((this.#claimed - this.#released) >>> 0);
  }

  /** The number of bytes that the consumer has not released yet, for gauges. */
  usedBytes(): number {
    return (this.#claimed - (Atomics.load(this.#control, RELEASED) >>> 0)) >>> 0;
  }

  /** Makes every claim so far visible and wakes the consumer if it sleeps. */
  publish(): void {
    Atomics.store(this.#control, PUBLISHED, this.#claimed | 0);
    if (Atomics.load(this.#bell, ASLEEP) === 1) {
      Atomics.store(this.#bell, ASLEEP, 0);
      Atomics.notify(this.#bell, ASLEEP);
    }
  }

  /** Blocks until the consumer has released something, at most `timeoutMs`. Worker threads only. */
  waitForRoom(timeoutMs: number): void {
    Atomics.store(this.#control, WANTS_ROOM, 1);
    const released = Atomics.load(this.#control, RELEASED) >>> 0;
    if (released === this.#released) Atomics.wait(this.#control, WANTS_ROOM, 1, timeoutMs);
    Atomics.store(this.#control, WANTS_ROOM, 0);
  }

  /** Resolves once the consumer has released something since the last refused claim, or at `wake`. */
  async waitForRoomAsync(): Promise<void> {
    Atomics.store(this.#control, WANTS_ROOM, 1);
    const released = Atomics.load(this.#control, RELEASED) >>> 0;
    if (released === this.#released) {
      const waiting = Atomics.waitAsync(this.#control, WANTS_ROOM, 1);
      if (waiting.async) await waiting.value;
    }
    Atomics.store(this.#control, WANTS_ROOM, 0);
  }

  /** Ends a wait of this side without room. */
  wake(): void {
    Atomics.store(this.#control, WANTS_ROOM, 0);
    Atomics.notify(this.#control, WANTS_ROOM);
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
    this.capacity = buffer.byteLength - DATA;
    this.#mask = this.capacity - 1;
    assert((this.capacity & this.#mask) === 0, 'ring: capacity is a power of two');
    this.#control = new Int32Array(buffer, 0, DATA / 4);
    this.words = new Uint32Array(buffer, DATA);
    this.bytes = new Uint8Array(buffer, DATA);
    this.#position = Atomics.load(this.#control, RELEASED) >>> 0;
    this.#published = this.#position;
  }

  /**
   * The next record's word offset, or -1 when there is none. The record belongs to the consumer until `release`, so
   * several can be read before one release, and run in another order.
   */
  next(): number {
    for (;;) {
      if (this.#position === this.#published) {
        this.#published = Atomics.load(this.#control, PUBLISHED) >>> 0;
        if (this.#position === this.#published) return -1;
        const publishedBytes = (this.#published - this.#position) >>> 0;
        assert(publishedBytes <= this.capacity, 'RING-1: the producer publishes only what has room');
      }
      const word = (this.#position & this.#mask) >>> 2;
      const lengthBytes = this.words[word + LENGTH];
      assert(
        lengthBytes >= 8 && lengthBytes % RECORD_ALIGNMENT === 0 && lengthBytes <= this.capacity,
        'ring: a published record has a sound length',
      );
      this.#position = (this.#position + lengthBytes) >>> 0;
      if ((this.words[word + TYPE] & 0xffff) !== PADDING_TYPE) return word;
    }
  }

  /** Releases the space of the records read so far: of all, or only of the records before the one at `keepWord`. */
  release(keepWord = -1): void {
    assert(keepWord * 4 < this.capacity, 'RING-2: a record that is kept lies in the ring');
    const released = keepWord < 0 ? this.#position : this.#position - this.#bytesFrom(keepWord);
    Atomics.store(this.#control, RELEASED, released | 0);
    if (Atomics.load(this.#control, WANTS_ROOM) === 1) {
      Atomics.store(this.#control, WANTS_ROOM, 0);
      Atomics.notify(this.#control, WANTS_ROOM);
    }
  }

  /** Of two records that were read and not released, returns the one that was read first. */
  olderOf(word: number, other: number): number {
    return this.#bytesFrom(word) >= this.#bytesFrom(other) ? word : other;
  }

  /**
   * Bytes from the record at `word` to the position: the kept part ends where the next record will be read, and if the
   * whole ring is kept, it also starts there.
   */
  #bytesFrom(word: number): number {
    return (this.#position - word * 4) & this.#mask || this.capacity;
  }

  /** Bytes published and not read yet, for gauges. */
  usedBytes(): number {
    return ((Atomics.load(this.#control, PUBLISHED) >>> 0) - this.#position) >>> 0;
  }

  isEmpty(): boolean {
    return this.#position === Atomics.load(this.#control, PUBLISHED) >>> 0;
  }

  /**
   * Polls a few times, then sleeps until a record is published or `timeoutMs` has passed. Worker threads only.
   * @param isDue ends the wait as well when it holds; the thread that makes it hold calls `wakeConsumer` afterwards, or
   *   publishes into a ring whose bell this is (RING-5)
   * @returns true if there is a record.
   */
  waitSync(timeoutMs: number, isDue: () => boolean = never): boolean {
    for (let look = 0; look < LOOKS_BEFORE_SLEEP; look++) if (!this.isEmpty()) return true;
    Atomics.store(this.#control, ASLEEP, 1);
    if (this.isEmpty() && !isDue()) Atomics.wait(this.#control, ASLEEP, 1, timeoutMs);
    Atomics.store(this.#control, ASLEEP, 0);
    return !this.isEmpty();
  }

  /**
   * Resolves when a record is published, or at `wake`. A pending wait does not keep Node alive. There is no timeout:
   * each would leave a timer that later wakes the event loop for nothing.
   */
  async waitAsync(): Promise<void> {
    Atomics.store(this.#control, ASLEEP, 1);
    if (this.isEmpty()) {
      const waiting = Atomics.waitAsync(this.#control, ASLEEP, 1);
      if (waiting.async) await waiting.value;
    }
    Atomics.store(this.#control, ASLEEP, 0);
  }

  /** Ends a wait of this side without a record. */
  wake(): void {
    Atomics.store(this.#control, ASLEEP, 0);
    Atomics.notify(this.#control, ASLEEP);
  }
}

/** Ends a wait of the ring's consumer without a record: for a thread that is neither its producer nor its consumer. */
export function wakeConsumer(buffer: SharedArrayBuffer): void {
  const control = new Int32Array(buffer, 0, DATA / 4);
  if (Atomics.load(control, ASLEEP) === 0) return;
  Atomics.store(control, ASLEEP, 0);
  Atomics.notify(control, ASLEEP);
}

function never(): boolean {
  return false;
}
