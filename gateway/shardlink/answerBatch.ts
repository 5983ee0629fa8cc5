/** Answers on their way into idempotency.db. */

/** An idempotency key as used by one account for one payload. */
export type KeyUse = {
  readonly account: number;
  /** 16 bytes, like the fingerprint. */
  readonly key: Uint8Array;
  /** Fingerprint of method, path, query and body. */
  readonly fingerprint: Uint8Array;
};

export type KeyedAnswer = KeyUse & {
  /** EXT_ROUTE. */
  readonly route: number;
  readonly status: number;
  readonly body: string;
  readonly createdMs: number;
};

/** The answers stored in one transaction. */
export type AnswerBatch = {
  readonly rows: readonly KeyedAnswer[];
  /** Every key used before this moment has a row, here or in an earlier batch; null leaves the moment unchanged. */
  readonly settledMs: number | null;
  readonly nowMs: number;
};
