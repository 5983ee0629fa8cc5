/** The question that every verifier answers: did this address sign this digest? All of them agree on every input. */

/** Offsets are in bytes. A verifier reuses its buffers, so each thread has one of its own. */
export type Verifier = {
  readonly name: 'noble' | 'native' | 'kernel';
  verify(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): boolean;
};
