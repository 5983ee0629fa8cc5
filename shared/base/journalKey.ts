/** Two facts about the journals that threads need at their start: the key, and the newest known row. */

/** The key of a data directory's journals. */
export type JournalKey = {
  /** 32 random bytes, from which each shard derives keys of its own. */
  readonly secret: Uint8Array;
  /**
   * By shard: the first record that the key vouches for. Older records were written without the key, and an operator
   * vouched for them.
   */
  readonly keyedFrom: readonly number[];
};

/** A row of a journal and the chain value after it, as two signed words. */
export type KnownHead = { readonly sequence: number; readonly chainLow: number; readonly chainHigh: number };
