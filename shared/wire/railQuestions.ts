/**
 * The questions of cashing in and out to the settlement thread, about USDC on the chain. Amounts are micro-USDC,
 * addresses and hashes are in lower case, prices are wei for a unit of gas.
 */

/** The terms that the owner of USDC signs (EIP-3009). */
export type SignedTransfer = {
  readonly from: string;
  readonly to: string;
  readonly valueMicro: number;
  readonly validAfterSec: number;
  readonly validBeforeSec: number;
  readonly nonce: string;
};

export type RailHead = {
  readonly block: number;
  readonly finalizedBlock: number;
  /** The time of the finalized block: a transaction that was not in it by then never will be. */
  readonly finalizedSec: number;
};

/** USDC that a transaction has moved. */
export type RailTransfer = {
  readonly from: string;
  readonly to: string;
  readonly valueMicro: number;
  /** The nonce of the authorization that allowed it; null for a transfer by other means. */
  readonly nonce: string | null;
};

export type RailTransaction = {
  readonly txHash: string;
  readonly status: 'pending' | 'mined' | 'reverted';
  /** Null while pending. */
  readonly block: number | null;
  /** The transfers of a mined transaction. */
  readonly transfers: readonly RailTransfer[];
  /** The reason of the revert, as far as the rail states it. */
  readonly reason: string | null;
};

export type AuthorizationState =
  | { readonly state: 'unused' }
  | { readonly state: 'used' | 'cancelled'; readonly txHash: string; readonly block: number };

/**
 * A transaction of the relayer: the text that is signed, the bytes that are sent, and the hash by which the rail knows
 * it.
 */
export type Envelope = { readonly unsigned: string; readonly signed: string; readonly txHash: string };

export type EnvelopeFields = {
  readonly accountNonce: number;
  /** The most that the relayer pays, in units of the rail. */
  readonly fee: number;
  /** The signed bytes of a transaction with the same account nonce, which this one replaces; null for none. */
  readonly replaced: string | null;
  readonly transfer: SignedTransfer;
  readonly signature: string;
};

/**
 * `accepted`: the rail has it, perhaps from before. `nonce_too_low`: a transaction with this account nonce is in a
 * block, most likely our own. With the other results it cannot be in any pool.
 */
export type BroadcastResult = 'accepted' | 'nonce_too_low' | 'underpriced' | 'refused';

/** The reason why a transfer would fail now; the account's own reasons precede those of the token. */
export type PreflightFault = 'insufficient_balance' | 'blocked' | 'not_in_time' | 'nonce_used' | 'signature';

type Nothing = Readonly<Record<string, never>>;

export type RailQuestions = {
  /** The domain of the token, as the token states it and as its separator proves. */
  readonly railDomain: {
    readonly ask: Nothing;
    readonly answer: {
      readonly name: string;
      readonly version: string;
      readonly chainId: number;
      readonly verifyingContract: string;
    };
  };
  readonly railHead: { readonly ask: Nothing; readonly answer: RailHead };
  readonly railBalance: { readonly ask: { readonly address: string }; readonly answer: number };
  readonly railReachable: { readonly ask: { readonly address: string }; readonly answer: boolean };
  /** True if the key of the address has signed, or the contract at the address says so (EIP-1271). */
  readonly railSigned: {
    readonly ask: { readonly address: string; readonly digest: string; readonly signature: string };
    readonly answer: boolean;
  };
  readonly railPreflight: {
    readonly ask: { readonly transfer: SignedTransfer; readonly signature: string };
    readonly answer: PreflightFault | null;
  };
  /** The address of the relayer's key. */
  readonly railSender: { readonly ask: Nothing; readonly answer: string };
  readonly railNonce: { readonly ask: Nothing; readonly answer: number };
  readonly railFee: { readonly ask: Nothing; readonly answer: number };
  readonly railEnvelope: { readonly ask: EnvelopeFields; readonly answer: Envelope };
  readonly railBroadcast: { readonly ask: { readonly signed: string }; readonly answer: BroadcastResult };
  readonly railTransaction: { readonly ask: { readonly txHash: string }; readonly answer: RailTransaction | null };
  readonly railAuthorization: {
    /** A node that does not have the block yet gives no answer. */
    readonly ask: { readonly from: string; readonly nonce: string; readonly notBefore: number };
    readonly answer: AuthorizationState;
  };
};
