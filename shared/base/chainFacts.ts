/** Nodes and keys of a chain, as the gateway and settlement pass them to each other. */

/** A key that stays elsewhere (shared/chain/signer.ts). */
export type SignerAt = {
  /** `http:`, `https:`, or `unix:` with the path of a socket; `key` of its query is the KeyId. It may hold secrets. */
  readonly url: string;
  readonly address: `0x${string}`;
};

/** A secret, or where it is. */
export type KeyOrigin = string | SignerAt;

/** `node` counts from 1, in the order of RPC_URL: its address may be a secret. */
export type NodeHealth = {
  readonly node: number;
  readonly state: 'well' | 'away' | 'behind' | 'differs';
  /** Its last failing, or its last answer that was another one; null of one that is well. */
  readonly reason: string | null;
  /** Answers that were not those of the others, since the start. */
  readonly differences: number;
};

/** Of the funds, to another exchange contract. */
export type MoveHealth = {
  /** The contract that is left. */
  readonly exchange: string;
  readonly state: 'open' | 'claiming' | 'moving';
  /** Since orders are signed for the next one. */
  readonly ageMs: number;
  /** Trades and movements of that contract that are not settled. */
  readonly left: number;
};
