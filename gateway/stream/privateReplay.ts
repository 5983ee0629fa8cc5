/**
 * Reads the private frames of one account in order, starting at any of the newest 10,000, a block at a time. Entries of
 * the log point only backwards (privateLog.ts), so the ends of the blocks are looked up once, and each block is
 * reversed when it is read. Owner: the gateway thread.
 *
 * Invariant:
 *   PRIVATEREPLAY-1  Frames are handed over in numerical order, each once; a missing number belongs to a frame that is
 *                    no longer in the files.
 */
import { assert } from '../../shared/base/assert.ts';
import { PRIVATE_FRAME, type RecordView } from '../../shared/wire/privateRecord.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { BLOCK, type PrivateLog, REPLAY_PRIVATE } from './privateLog.ts';
import { LOG_ENTRY } from './privateSegment.ts';

export class PrivateReplay {
  readonly #log: PrivateLog;
  readonly #account: number;
  /** The number of the last frame read, or the last number of a gap. */
  #cursor: number;
  /** By block: the position of its last frame, for complete blocks that were not read yet. */
  readonly #ends = new Map<number, number>();
  readonly #words = new Uint32Array(BLOCK * PRIVATE_FRAME.WORDS);

  /**
   * @param after the number of the client's last frame
   * @param isBehind true if this log may not have that frame yet; otherwise no frame after the newest exists
   */
  constructor(log: PrivateLog, account: number, after: number, isBehind = false) {
    this.#log = log;
    this.#account = account;
    const last = log.last(account);
    this.#cursor = Math.max(isBehind ? after : Math.min(after, last), last - REPLAY_PRIVATE, log.floor);
    this.#findBlocks();
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Hands over the next frames, at most one block. @returns true if none are left */
  step(consume: (record: RecordView) => void): boolean {
    const { last, position } = this.#log.end(this.#account);
    if (this.#cursor >= last) return true;
    const block = blockOf(this.#cursor + 1);
    const isNewest = block === blockOf(last);
    const end = isNewest ? last : (block + 1) * BLOCK;
    if (!isNewest && !this.#ends.has(block)) this.#findBlocks();
    const from = this.#copy(isNewest ? position : (this.#ends.get(block) ?? 0), end);
    this.#ends.delete(block);
    for (let sequence = from; sequence <= end; sequence++) {
      consume({ words: this.#words, word: (sequence - block * BLOCK - 1) * PRIVATE_FRAME.WORDS });
    }
    assert(end > this.#cursor && end <= last, 'PRIVATEREPLAY-1: a step goes forward, and not past the newest frame');
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
      position = entry === null ? 0 : readSafe(entry.words, entry.word + LOG_ENTRY.block);
    }
  }

  /** Copies the frames after the cursor up to `end`, whose entry is at `position`. @returns the first number found. */
  #copy(position: number, end: number): number {
    let at = position;
    const start = blockOf(end) * BLOCK + 1;
    for (let sequence = end; sequence > this.#cursor; sequence--) {
      const entry = this.#log.entry(at);
      if (entry === null) return sequence + 1;
      const frame = entry.word + LOG_ENTRY.frame;
      const isOwn = entry.words[frame + PRIVATE_FRAME.account] === this.#account;
      // The file may be damaged: an entry that is not the expected frame counts as gone.
      if (!isOwn || readSafe(entry.words, frame + PRIVATE_FRAME.userSequence) !== sequence) return sequence + 1;
      this.#words.set(
        entry.words.subarray(frame, frame + PRIVATE_FRAME.WORDS),
        (sequence - start) * PRIVATE_FRAME.WORDS,
      );
      at = readSafe(entry.words, entry.word + LOG_ENTRY.previous);
    }
    return this.#cursor + 1;
  }
}

function blockOf(userSequence: number): number {
  return Math.floor((userSequence - 1) / BLOCK);
}
