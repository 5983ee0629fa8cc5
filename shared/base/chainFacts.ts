/** Nodes and keys of a chain, as the gateway and settlement pass them to each other. */

/** A key that is kept elsewhere (shared/chain/signer.ts). */
export type SignerAt = {
  /** `http:`, `https:`, or `unix:` with the path of a socket; `key` of its query is the KeyId. It may hold secrets. */
  readonly url: string;
  readonly address: `0x${string}`;
};

/** A secret, or its location. */
export type KeyOrigin = string | SignerAt;

/** `node` counts from 1, in the order of RPC_URL: its address may be a secret. */
export type NodeHealth = {
  readonly node: number;
  readonly state: 'well' | 'away' | 'behind' | 'differs';
  /** The node's last failure, or its last answer that differed from the others; null if it is well. */
  readonly reason: string | null;
  /** Answers that differed from the other nodes' since the start. */
  readonly differences: number;
};

/** A move of funds to another exchange contract. */
export type MoveHealth = {
  /** The contract that is left. */
  readonly exchange: string;
  readonly state: 'open' | 'claiming' | 'moving';
  /** Time since orders are signed for the next contract. */
  readonly ageMs: number;
  /** Trades and movements of that contract that are not settled. */
  readonly left: number;
};

/** A decision is not proposed yet, in the contract, carried out, or was made by others in another way. */
export const DECISION_STATES = ['wanted', 'proposed', 'decided', 'otherwise'] as const;
export type DecisionState = (typeof DECISION_STATES)[number];

/** Seconds in which a proposal can be vetoed, and the least to which the administrator of the contract can set them. */
export type DecisionDelays = { readonly delaySec: number; readonly leastDelaySec: number };

/** Decisions on the chain. */
export type DecisionsHealth = {
  /** Number of decisions by state. */
  readonly counts: Readonly<Record<DecisionState, number>>;
  /** False if the right to propose was revoked from RESOLVER_KEY, as a veto does. */
  readonly mayPropose: boolean;
  /** Null until the contract was asked. */
  readonly delays: DecisionDelays | null;
  readonly foreign: readonly ForeignProposal[];
};
/** A proposal that is neither wanted nor decided by the exchange. */
export type ForeignProposal = {
  /** 0x and 32 hex digits. */
  readonly marketId: string;
  /** Null if it is no market of the exchange. */
  readonly market: number | null;
  readonly number: number;
  readonly proposer: string;
  readonly payoutYesPpm: number;
  /** The second from which anyone may carry it out. */
  readonly fromSec: number;
  /** True if it was carried out: a veto no longer helps. */
  readonly isDecided: boolean;
};
