/**
 * The receiving end between the gateway thread and a front thread: its records in order, a bounded number in each turn
 * of the event loop, so that the sockets and the shards of the thread have their turns as well.
 * Owner: the thread that receives.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RingConsumer } from '../../shared/wire/ring.ts';
import { ANY_FRONT } from './records.ts';

/** About a millisecond of calls. */
const MOST_RECORDS_PER_TURN = 128;

/** Reads a record in `words` and `bytes`, which are the ring's own memory: they are valid until it returns. */
type ReadRecord = (type: number, word: number) => void;

export class Incoming {
  readonly words: Uint32Array;
  readonly bytes: Buffer;
  readonly #ring: RingConsumer;
  #isOver = false;

  constructor(ring: SharedArrayBuffer) {
    this.#ring = new RingConsumer(ring);
    this.words = this.#ring.words;
    const { buffer, byteOffset, byteLength } = this.#ring.bytes;
    this.bytes = Buffer.from(buffer, byteOffset, byteLength);
  }

  /** Reads until `end`. @param onTurn called after the records of each turn */
  async pump(read: ReadRecord, onTurn: () => void): Promise<void> {
    while (!this.#isOver) {
      const hasMore = this.drain(read, MOST_RECORDS_PER_TURN);
      onTurn();
      await (hasMore ? nextTurn() : this.#ring.waitAsync());
    }
  }

  /** Reads what is there, so many records at most. @returns whether there may be more. */
  drain(read: ReadRecord, most = Number.POSITIVE_INFINITY): boolean {
    let word = this.#isOver ? -1 : this.#ring.next();
    let count = 0;
    try {
      for (; word >= 0; word = this.#ring.next()) {
        read(this.words[word + ANY_FRONT.type], word);
        if (++count >= most || this.#isOver) break;
      }
    } finally {
      if (count > 0) this.#ring.release();
    }
    return word >= 0;
  }

  end(): void {
    this.#isOver = true;
    this.#ring.wake();
  }

  /** Lets a wait end without a record. */
  wake(): void {
    this.#ring.wake();
  }
}
