/**
 * A log of fixed-size records, numbered without a gap; the newest are kept for clients that reconnect. Memory grows
 * with the records written, in chunks that double up to a bound, so a quiet market costs next to nothing. Owner: the
 * gateway thread. Units: one record is `recordWords` 32-bit words.
 *
 * Invariants:
 *   FRAMELOG-1  Records `first` … `last` can be read: at least `keep` of them, or all since the start.
 *   FRAMELOG-2  Chunks follow each other without a gap, and only the newest has room.
 */
import { assert } from '../../shared/base/assert.ts';

const FIRST_CHUNK_RECORDS = 32;
const LARGEST_CHUNK_RECORDS = 4096;

type Chunk = {
  /** Number of its first record. */
  readonly first: number;
  readonly capacity: number;
  readonly words: Uint32Array;
};

export class FrameLog {
  readonly #recordWords: number;
  readonly #keep: number;
  #chunks: Chunk[] = [];
  #last: number;
  /** The memory of the record that `append` or `locate` last returned. */
  words: Uint32Array = new Uint32Array(0);

  /** @param last the number before the first record's */
  constructor(recordWords: number, keep: number, last: number) {
    assert(recordWords > 0 && keep > 0 && last >= 0, 'frame log: sizes are positive and numbers start at 1');
    this.#recordWords = recordWords;
    this.#keep = keep;
    this.#last = last;
  }

  /** The newest record's number; before any record, the number before the first. */
  get last(): number {
    return this.#last;
  }

  /** The oldest readable record; `last + 1` if there is none. */
  get first(): number {
    return this.#chunks[0]?.first ?? this.#last + 1;
  }

  /** Adds a record of zeros. @returns its word offset in `words`. */
  append(): number {
    let chunk = this.#chunks.at(-1);
    const sequence = ++this.#last;
    if (chunk === undefined || sequence === chunk.first + chunk.capacity) chunk = this.#grow(sequence, chunk);
    const index = sequence - chunk.first;
    assert(index >= 0 && index < chunk.capacity, 'FRAMELOG-2: the newest chunk has room for the next record');
    this.words = chunk.words;
    return index * this.#recordWords;
  }

  /** @returns the word offset in `words` of a readable record */
  locate(sequence: number): number {
    assert(sequence >= this.first && sequence <= this.#last, 'FRAMELOG-1: only a record that is kept is read');
    let at = this.#chunks.length - 1;
    while (this.#chunks[at].first > sequence) at--;
    const chunk = this.#chunks[at];
    assert(sequence < chunk.first + chunk.capacity, 'FRAMELOG-2: chunks follow each other without a gap');
    this.words = chunk.words;
    return (sequence - chunk.first) * this.#recordWords;
  }

  /** Forgets everything: the next record follows `last`. */
  restart(last: number): void {
    this.#chunks = [];
    this.#last = last;
  }

  #grow(first: number, before: Chunk | undefined): Chunk {
    assert(
      before === undefined || first === before.first + before.capacity,
      'FRAMELOG-2: only a full chunk is followed',
    );
    const doubled = before === undefined ? FIRST_CHUNK_RECORDS : before.capacity * 2;
    const capacity = Math.min(doubled, LARGEST_CHUNK_RECORDS);
    const chunk = { first, capacity, words: new Uint32Array(capacity * this.#recordWords) };
    this.#chunks.push(chunk);
    while (this.#chunks.length > 1 && first - this.#chunks[1].first >= this.#keep) this.#chunks.shift();
    return chunk;
  }
}
