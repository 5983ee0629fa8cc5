/** Every verifier answers this question: did this address sign this digest? All verifiers agree on every input. */

/** Offsets are in bytes. A verifier reuses its buffers, so each thread has its own verifier. */
export type Verifier = {
  /** For the log and the metrics. */
  readonly name: string;
  verify(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): boolean;
};

/**
 * A verifier that can also check many signatures together, in slices of at most about half the time of a single check.
 * It has one batch at a time. A batch accepts exactly what `verify` accepts, or decides nothing.
 */
export type BatchVerifier = Verifier & {
  readonly mostInBatch: number;
  /** Returns true if signatures of this signer may take part in a batch: `verify` has recently accepted one. */
  isKnown(signerAddress: Uint8Array, signerOffset: number): boolean;
  beginBatch(): void;
  /** Adds a signature of a known signer; the first has index 0. */
  addToBatch(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): void;
  /** Does a slice of the work. @returns true if the batch is decided. */
  stepBatch(): boolean;
  /**
   * @returns a VERDICT (kernel/instance.ts). UNDECIDED means that a signature of the batch is wrong: each has to be
   * checked alone.
   */
  verdictOf(index: number): number;
};
