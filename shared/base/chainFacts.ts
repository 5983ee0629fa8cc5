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

/** A decision is not proposed yet, in the contract, carried out, or was made by others in another way. */
export const DECISION_STATES = ['wanted', 'proposed', 'decided', 'otherwise'] as const;
export type DecisionState = (typeof DECISION_STATES)[number];

/** Decisions on the chain. */
export type DecisionsHealth = {
  /** By state, how many. */
  readonly counts: Readonly<Record<DecisionState, number>>;
  /** False: the right to propose was taken from RESOLVER_KEY, as a veto does. */
  readonly mayPropose: boolean;
  readonly foreign: readonly ForeignProposal[];
};
/** Of a proposal that is not what the exchange wants, or has decided. */
export type ForeignProposal = {
  /** 0x and 32 hex digits. */
  readonly marketId: string;
  /** Null: no market of the exchange. */
  readonly market: number | null;
  readonly number: number;
  readonly proposer: string;
  readonly payoutYesPpm: number;
  /** From this second on anybody may carry it out. */
  readonly fromSec: number;
  /** It was carried out: no veto helps any more. */
  readonly isDecided: boolean;
};
