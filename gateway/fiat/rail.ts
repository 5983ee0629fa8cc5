/**
 * The rail: where USDC moves by transfers that their owners have signed (EIP-3009), in blocks. The ledger rail plays
 * the token in the books of the exchange; a chain has the token itself. Both answer the same questions and pass the
 * same tests (test/support/railConformance.ts), and sessions cannot see which of them it is.
 *
 * Invariants:
 *   RAIL-1  A transfer moves money at most once by (from, nonce), whatever sends it and however often.
 *   RAIL-2  A transfer is used or cancelled for good once the block that says so is finalized; before, a block may be
 *           taken back.
 *   RAIL-3  Every method throws RailDown when the rail does not answer, which says nothing of what has happened.
 */

import type { Eip712Domain } from '../../shared/crypto/eip712.ts';
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';

/** Blocks after which a transfer counts, its own among them, if they are finalized too. */
export const CONFIRMATIONS = 32;

export class RailDown extends Error {
  override readonly name = 'RailDown';
}

export type RailHead = {
  readonly block: number;
  readonly finalizedBlock: number;
  /** The time of the finalized block: what was not in it then never is in it. */
  readonly finalizedSec: number;
};

/** USDC that a transaction has moved. */
type RailTransfer = {
  readonly from: string;
  readonly to: string;
  readonly valueMicro: number;
  /** Of the authorization that allowed it; null for a transfer by other means. */
  readonly nonce: string | null;
};

export type RailTransaction = {
  readonly txHash: string;
  readonly status: 'pending' | 'mined' | 'reverted';
  /** Null while pending. */
  readonly block: number | null;
  /** Of a mined transaction. */
  readonly transfers: readonly RailTransfer[];
  /** Why it was reverted, as far as the rail says. */
  readonly reason: string | null;
};

export type AuthorizationState =
  | { readonly state: 'unused' }
  | { readonly state: 'used' | 'cancelled'; readonly txHash: string; readonly block: number };

/** A transaction of the relayer: what is signed, what is sent, and the hash by which the rail knows it. */
export type Envelope = { readonly unsigned: string; readonly signed: string; readonly txHash: string };

export type EnvelopeFields = {
  readonly accountNonce: number;
  /** The most that the relayer pays, in units of the rail. */
  readonly fee: number;
  readonly transfer: TransferAuthorization;
  readonly signature: string;
};

/**
 * `accepted`: the rail has it, also when it had it before. `nonce_too_low`: a transaction with this account nonce is in
 * a block, most likely our own. The others: it cannot be in any pool.
 */
export type BroadcastResult = 'accepted' | 'nonce_too_low' | 'underpriced' | 'refused';

/** Why a transfer would not succeed now; the account's own reasons come before those of the token. */
export type PreflightFault = 'insufficient_balance' | 'blocked' | 'not_in_time' | 'nonce_used' | 'signature';

export type Rail = {
  readonly name: 'ledger' | 'evm';
  /** The domain that owners sign for. */
  domain(): Eip712Domain;
  /** True if USDC that is sent there arrives somewhere. */
  isReachable(address: string): Promise<boolean>;
  balanceMicro(address: string): Promise<number>;
  /** By the key of the wallet or, where wallets can be contracts, by the contract (EIP-1271). */
  isSignedBy(address: string, digest: string, signature: string): Promise<boolean>;
  /** Null: it would succeed in the next block, as far as can be known. */
  preflight(transfer: TransferAuthorization, signature: string): Promise<PreflightFault | null>;
  head(): Promise<RailHead>;
  /** Transactions of the relayer that are in blocks: the account nonce of the next one. */
  accountNonce(): Promise<number>;
  /** The price at which a transaction is taken soon. */
  fee(): Promise<number>;
  /** The least price at which a transaction replaces one with the same account nonce. */
  bumpedFee(fee: number): number;
  /** Signs with the relayer's key; sends nothing. */
  envelope(fields: EnvelopeFields): Envelope;
  broadcast(signed: string): Promise<BroadcastResult>;
  /** Null: not known, which does not say that it never will be. */
  transaction(txHash: string): Promise<RailTransaction | null>;
  authorization(from: string, nonce: string): Promise<AuthorizationState>;
  /**
   * The deposit that a transaction brings to the wallet gets this reference in the books, unless it was credited under
   * another one before. The caller has claimed the transaction for its session.
   * @returns the amount that was credited; null while the deposit is not there, not final or not credited yet.
   */
  creditDeposit(txHash: string, wallet: string, reference: string): Promise<number | null>;
};

/** True for a transaction in a block that moves exactly the amount from and to the addresses of the transfer. */
export function carriesOut(
  transaction: RailTransaction | null,
  { from, to, valueMicro }: Pick<TransferAuthorization, 'from' | 'to' | 'valueMicro'>,
): boolean {
  if (transaction?.status !== 'mined') return false;
  return transaction.transfers.some((each) => each.from === from && each.to === to && each.valueMicro === valueMicro);
}
