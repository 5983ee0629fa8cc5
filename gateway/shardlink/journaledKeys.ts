/** Commands that were journaled with an idempotency key, as read.db has them (RULES.md 6.7). */

export type JournaledKey = {
  readonly account: number;
  /** EXT_ROUTE. */
  readonly route: number;
  readonly key: Uint8Array;
  readonly fingerprint: Uint8Array;
  readonly createdMs: number;
};

/** `next` is the start of the next page, or null. */
export type KeyPage = { readonly keys: readonly JournaledKey[]; readonly next: number | null };

/** One order of a request with a key; `row` is its index in a batch. */
export type KeyedOrder = Omit<JournaledKey, 'createdMs'> & { readonly row: number };

export type KeyReads = {
  /** The keys of the read model from a moment on, a page at a time. The query does not wait for the projector. */
  journaledKeys(sinceMs: number, after: number): Promise<KeyPage>;
};
