/**
 * The private frames of every account, numbered by `user_sequence`. The feed writes them here before anyone is sent
 * them, and each connection reads on from where it is.
 *
 * What a log promises:
 *   U1  user_sequence grows by exactly 1 per account, in the order of `append`.
 *   U2  After `commit` what was appended is kept as well as this log keeps anything; nothing is sent before that.
 *   U3  The newest KEEP records of an account can be read.
 *
 * `MemoryPrivateLog` forgets with the process. Every record says which journal record it comes from (shard and
 * shardSequence), and `resumed` tells how far a shard's journal had come when it began to tell: from the two a log that
 * outlives the process can tell what was committed and never appended, and append it from the read model first.
 */
import { FrameLog } from './frameLog.ts';
import { PRIVATE_RECORD_WORDS } from './privateRecord.ts';

/** Private frames of an account that a client may ask for again. */
export const REPLAY_PRIVATE = 10_000;

export type PrivateLog = {
  /** Room for the account's next record, whose number is `last` from now on (privateRecord.ts). Its words are zero. */
  append(account: number): RecordPlace;
  /** U2. At the end of a pump batch. */
  commit(): void;
  /** The number of the account's newest record, 0 before the first. */
  last(account: number): number;
  /** The oldest that can be read; `last + 1` when there is none. */
  first(account: number): number;
  read(account: number, userSequence: number): RecordPlace;
  /** A shard has told how it stands after this record of its journal, and from here on tells what changes. */
  resumed(shard: number, shardSequence: number): void;
};

/** Valid until the next call of the log. */
export type RecordPlace = { readonly words: Uint32Array; readonly word: number };

export class MemoryPrivateLog implements PrivateLog {
  /** By account; made at its first record. */
  readonly #logs: (FrameLog | undefined)[] = [];
  readonly #place = { words: new Uint32Array(0) as Uint32Array, word: 0 };

  append(account: number): RecordPlace {
    while (this.#logs.length <= account) this.#logs.push(undefined);
    this.#logs[account] ??= new FrameLog(PRIVATE_RECORD_WORDS, REPLAY_PRIVATE, 0);
    const log = this.#logs[account]!;
    return this.#point(log, log.append());
  }

  commit(): void {}

  last(account: number): number {
    return this.#logs[account]?.last ?? 0;
  }

  first(account: number): number {
    return this.#logs[account]?.first ?? 1;
  }

  read(account: number, userSequence: number): RecordPlace {
    const log = this.#logs[account]!;
    return this.#point(log, log.locate(userSequence));
  }

  resumed(): void {}

  #point(log: FrameLog, word: number): RecordPlace {
    this.#place.words = log.words;
    this.#place.word = word;
    return this.#place;
  }
}
