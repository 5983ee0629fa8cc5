/**
 * The rail: the system in which USDC moves in blocks, by transfers that owners have signed (EIP-3009). The ledger rail
 * simulates the token in the exchange's books; a chain has the real token. Both have the same interface and pass the
 * same tests (test/support/railConformance.ts), and sessions cannot see which one is used.
 *
 * Invariants:
 *   RAIL-1  A transfer moves money at most once by (from, nonce), whatever sends it and however often.
 *   RAIL-2  A transfer is used or cancelled for good once its block is finalized; before that, a block may be reverted.
 *   RAIL-3  Every method throws RailDown if the rail does not answer; this does not show what has happened.
 */

import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Paid, RelayedRail, StoredEnvelope } from '../../shared/chain/relayer.ts';
import type { Eip712Domain } from '../../shared/crypto/eip712.ts';
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';
import type { AuthorizationState, PreflightFault, RailHead, RailTransaction } from '../../shared/wire/railQuestions.ts';

import type { Refusal } from '../base/refusal.ts';
import type { FiatSessions } from './fiatSessionsStore.ts';
import type { FiatTransfers, Intent } from './fiatTransfersStore.ts';

export const CHAIN_DOWN: Refusal = { row: ERRORS.FIAT_UNAVAILABLE, message: 'the chain does not answer' };

export class RailDown extends Error {
  override readonly name = 'RailDown';
}

export type Rail = {
  readonly name: 'ledger' | 'evm';
  /** True if blocks can be reverted, and so count only once they are final. */
  readonly takesBlocksBack: boolean;
  /** A session is looked at this often: each look asks the rail several times. */
  readonly lookPauseMs: number;
  /** The domain that owners sign for. */
  domain(): Promise<Eip712Domain>;
  /** True if USDC that is sent there arrives somewhere. */
  isReachable(address: string): Promise<boolean>;
  balanceMicro(address: string): Promise<number>;
  /** By the key of the wallet or, where wallets can be contracts, by the contract (EIP-1271). */
  isSignedBy(address: string, digest: string, signature: string): Promise<boolean>;
  /** Null if the transfer would succeed in the next block, as far as known. */
  preflight(transfer: TransferAuthorization, signature: string): Promise<PreflightFault | null>;
  head(): Promise<RailHead>;
  /** Null if unknown; this does not mean that it will never be included. */
  transaction(txHash: string): Promise<RailTransaction | null>;
  authorization(from: string, nonce: string): Promise<AuthorizationState>;
  /**
   * The deposit that a transaction brings to the wallet. In the books it gets this reference, unless it was credited
   * under another one before; a chain has nothing to credit. The caller has claimed the transaction for its session.
   * @returns the amount that has arrived for good; null while it is not there, not final or not credited yet.
   */
  creditDeposit(txHash: string, wallet: string, reference: string): Promise<number | null>;
  payer(office: PayerOffice): Payer;
};

/** A rail on which transfers travel in transactions of a key: shared/chain/relayer.ts alone uses what it has more. */
export type RelayRail = Rail & RelayedRail;

/** The parts of the exchange that a payer uses. */
export type PayerOffice = {
  readonly sessions: Pick<FiatSessions, 'write' | 'durable'>;
  readonly transfers: FiatTransfers;
  readonly clock: Clock;
  /** True while this process may send. */
  readonly mayBroadcast: () => boolean | Promise<boolean>;
  /** False for a session whose transfer must not leave now. */
  readonly mayLeave: (sessionId: string) => boolean;
};

/** Carries out signed intents; the rail decides how. Every call may be repeated: RAIL-1. */
export type Payer = {
  readonly state: 'idle' | 'busy' | 'waiting';
  /** Sends the transfer of a signed intent, or sends it again. */
  pay(intent: Intent): Promise<Paid>;
  /** For a transfer that waits too long for a block. @param isReplaced true if more may be offered for it */
  hasten(intent: Intent, isReplaced: boolean): Promise<Paid>;
  /** The last transaction for the intent was reverted: it is worthless now. */
  forget(intent: Intent): Promise<void>;
  /** The transactions that were made for the session, sent or not, oldest first. */
  transactionsOf(sessionId: string): PayerTransaction[];
};

export type PayerTransaction = Pick<StoredEnvelope, 'accountNonce' | 'fee' | 'txHash' | 'state' | 'createdMs'>;

/** True for a transaction in a block that moves exactly the amount from and to the addresses of the transfer. */
export function carriesOut(
  transaction: RailTransaction | null,
  { from, to, valueMicro }: Pick<TransferAuthorization, 'from' | 'to' | 'valueMicro'>,
): boolean {
  if (transaction?.status !== 'mined') return false;
  return transaction.transfers.some((each) => each.from === from && each.to === to && each.valueMicro === valueMicro);
}
