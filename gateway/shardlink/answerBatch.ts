/** Answers on their way into idempotency.db. */

/** A key as one account used it, for one payload. */
export type KeyUse = {
  readonly account: number;
  /** 16 bytes, as is the fingerprint. */
  readonly key: Uint8Array;
  /** Of method, path, query and body. */
  readonly fingerprint: Uint8Array;
};

export type KeyedAnswer = KeyUse & {
  /** EXT_ROUTE. */
  readonly route: number;
  readonly status: number;
  readonly body: string;
  readonly createdMs: number;
};

/** One transaction. */
export type AnswerBatch = {
  readonly rows: readonly KeyedAnswer[];
  /** Every key used before this moment has its row, here or in an earlier batch; null leaves the moment unchanged. */
  readonly settledMs: number | null;
  readonly nowMs: number;
};
