/**
 * Reads the private frames of one account in order, from any of the newest 10,000 on, a block at a time. The log knows
 * the way back only (privateLog.ts), so the ends of the blocks are looked up once, and each block is turned round when
 * it is read.
 * Owner: the gateway thread.
 */
import { PRIVATE_RECORD_WORDS, type RecordPlace } from '../../shared/privateRecord.ts';
import { readSafe } from '../../shared/record.ts';
import { BLOCK, type PrivateLog, REPLAY_PRIVATE } from './privateLog.ts';
import { ENTRY_BLOCK, ENTRY_FRAME, ENTRY_PREVIOUS } from './privateSegment.ts';

export class PrivateReplay {
  readonly #log: PrivateLog;
  readonly #account: number;
  /** The number of the last frame read, or that the gap in the numbers ends with. */
  #cursor: number;
  /** Positions of the last frames of blocks, by block, for those that are over and not read yet. */
  readonly #ends = new Map<number, number>();
  readonly #words = new Uint32Array(BLOCK * PRIVATE_RECORD_WORDS);

  /** @param after what the client has. */
  constructor(log: PrivateLog, account: number, after: number) {
    this.#log = log;
    this.#account = account;
    const last = log.last(account);
    this.#cursor = Math.max(Math.min(after, last), last - REPLAY_PRIVATE, 0);
    this.#findBlocks();
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Hands over the next frames, one block at most. @returns whether that were all. */
  step(take: (place: RecordPlace) => void): boolean {
    const { last, position } = this.#log.end(this.#account);
    if (this.#cursor >= last) return true;
    const block = blockOf(this.#cursor + 1);
    const isNewest = block === blockOf(last);
    const end = isNewest ? last : (block + 1) * BLOCK;
    if (!isNewest && !this.#ends.has(block)) this.#findBlocks();
    const from = this.#copy(isNewest ? position : (this.#ends.get(block) ?? 0), end);
    this.#ends.delete(block);
    for (let sequence = from; sequence <= end; sequence++) {
      take({ words: this.#words, word: (sequence - block * BLOCK - 1) * PRIVATE_RECORD_WORDS });
    }
    this.#cursor = end;
    return end === last;
  }

  #findBlocks(): void {
    const { last, block } = this.#log.end(this.#account);
    const oldest = blockOf(this.#cursor + 1);
    let position = block;
    for (let at = blockOf(last) - 1; at >= oldest; at--) {
      this.#ends.set(at, position);
      const entry = this.#log.entry(position);
      position = entry === null ? 0 : readSafe(entry.words, entry.word + ENTRY_BLOCK);
    }
  }

  /** Frames behind the cursor up to `end`, which is at `position`. @returns the number of the first that there is. */
  #copy(position: number, end: number): number {
    let at = position;
    const start = blockOf(end) * BLOCK + 1;
    for (let sequence = end; sequence > this.#cursor; sequence--) {
      const entry = this.#log.entry(at);
      if (entry === null) return sequence + 1;
      const frame = entry.word + ENTRY_FRAME;
      this.#words.set(
        entry.words.subarray(frame, frame + PRIVATE_RECORD_WORDS),
        (sequence - start) * PRIVATE_RECORD_WORDS,
      );
      at = readSafe(entry.words, entry.word + ENTRY_PREVIOUS);
    }
    return this.#cursor + 1;
  }
}

function blockOf(userSequence: number): number {
  return Math.floor((userSequence - 1) / BLOCK);
}
