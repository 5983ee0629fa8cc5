/**
 * Follows the transfer of an off-ramp on the rail (RULES.md 16.20): the relay, its confirmations, money that arrived in
 * another way, and the end of the time in which the transfer can be carried out.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SETTLEMENT-1  A transfer is confirmed by its authorization nonce, not by a hash, once it has 32 blocks and is final
 *                 on the rail, and its from, to and value are the intent's.
 *   SETTLEMENT-2  A transfer has failed only if a finalized block is past its time and the nonce is unused. Silence, a
 *                 missing receipt and a rail that is down are no failure.
 *   SETTLEMENT-3  The relay is held while another payment is searched for.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { isFinal } from '../../shared/chain/depth.ts';
import type { Paid } from '../../shared/chain/relayer.ts';
import type { RailHead } from '../../shared/wire/railQuestions.ts';
import type { FiatChanges } from './changes.ts';
import type { FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { FiatTransfers, Intent } from './fiatTransfersStore.ts';
import type { OffRamps } from './offramp.ts';
import { carriesOut, type Payer, type Rail } from './rail.ts';

type SettlementDeps = {
  readonly sessions: FiatSessions;
  readonly transfers: FiatTransfers;
  readonly changes: FiatChanges;
  readonly offRamps: OffRamps;
  readonly payer: Payer;
  readonly rail: Rail;
  readonly clock: Clock;
};

/**
 * A transaction that is in no block for this long is replaced by one with a higher fee; until then its bytes are sent
 * again.
 */
const REPLACE_MS = 60_000;
const RESEND_MS = 15_000;
/** A transaction that the provider names may be unknown to the rail for this long. */
const UNKNOWN_SEC = 60;
/** For these causes the evidence names the block of the transfer. */
const FINAL_CAUSES: readonly string[] = ['transfer_final', 'funding_verified'];
/** A wallet needs this much time before the end of a transfer. */
const SIGNING_SEC = 60;

/** True while the owner may still sign: with less time left, the transfer would end before it is sent. */
export function canStillSign({ validBeforeSec }: Pick<Intent, 'validBeforeSec'>, nowMs: number): boolean {
  return Math.floor(nowMs / 1000) + SIGNING_SEC < validBeforeSec;
}

export class Settlement {
  readonly #deps: SettlementDeps;

  constructor(deps: SettlementDeps) {
    this.#deps = deps;
  }

  async advance(session: FiatSession): Promise<void> {
    const intent = this.#deps.transfers.intentOf(session.id);
    if (intent === undefined) return;
    const head = await this.#deps.rail.head();
    switch (session.transferState) {
      case 'submission_pending':
        if (!(await this.#isDecided(session, intent, head))) await this.#relay(session, intent);
        break;
      case 'submitted_on_chain':
        if (!(await this.#isDecided(session, intent, head))) await this.#follow(session, intent);
        break;
      case 'recoverable_error':
        await this.#recover(session, intent, head);
        break;
      case 'provider_funding_reconciling':
        await this.#reconcile(session, intent, head);
        break;
      case 'confirmed':
        await this.#checkFinality(session, intent, head);
        break;
      default:
    }
  }

  /** SETTLEMENT-1, SETTLEMENT-2. @returns true if the relay has nothing left to do. */
  async #isDecided(session: FiatSession, intent: Intent, head: RailHead): Promise<boolean> {
    const { changes, rail, transfers } = this.#deps;
    const found = await rail.authorization(intent.from, intent.nonce);
    if (found.state === 'unused') {
      if (head.finalizedSec < intent.validBeforeSec) return false;
      const patch = { status: 'expired', failureCode: 'not_carried_out_in_time' } as const;
      return changes.trigger(session, 'time_is_over', { finalized_sec: head.finalizedSec }, { patch });
    }
    const { txHash, block } = found;
    const evidence = { tx_hash: txHash, block, head: head.block, finalized: head.finalizedBlock };
    const isOver = isFinal(block, head);
    if (found.state === 'cancelled') {
      const patch = { status: 'failed', failureCode: 'authorization_cancelled' } as const;
      if (isOver) changes.trigger(session, 'authorization_cancelled', evidence, { patch });
      return true;
    }
    // A front-runner or an earlier attempt may have sent it: the effect is the same.
    if (session.transferState === 'submission_pending') {
      changes.trigger(session, 'broadcast_accepted', evidence, { patch: { txHash } });
    } else if (session.txHash !== txHash) changes.trigger(session, 'hash_replaced', evidence, { patch: { txHash } });
    if (!isOver) return true;
    if (!(await this.#pays(intent, txHash))) changes.alarm(session, 'transfer_differs', evidence);
    else this.#settle(session, txHash, 'transfer_final', evidence, () => transfers.claim(txHash, session.id));
    return true;
  }

  #settle(
    session: FiatSession,
    txHash: string,
    on: 'transfer_final' | 'funding_verified',
    evidence: Record<string, string | number>,
    more: () => void,
  ): void {
    const { changes, transfers } = this.#deps;
    const owner = transfers.claimedBy(txHash);
    if (owner !== undefined && owner !== session.id) {
      changes.alarm(session, 'hash_of_another_session', { ...evidence, session: owner });
    } else changes.trigger(session, on, evidence, { patch: { txHash }, more });
  }

  async #relay(session: FiatSession, intent: Intent): Promise<void> {
    if (!this.mayLeave(session)) return;
    const relayed = await this.#deps.payer.pay(intent);
    this.#afterRelay(session, relayed);
  }

  /** SETTLEMENT-3. A provider that has given up would only have to send the money back. */
  mayLeave(session: FiatSession): boolean {
    const { transferState, errorCause, providerStatus, alarm } = session;
    const isRelayed =
      transferState === 'submission_pending' ||
      transferState === 'submitted_on_chain' ||
      errorCause === 'broadcast_refused' ||
      errorCause === 'reverted_in_time';
    const hasGivenUp = ['failed', 'expired', 'refunded'].includes(providerStatus);
    return isRelayed && !hasGivenUp && alarm !== 'provider_changed_terms';
  }

  #afterRelay(session: FiatSession, relayed: Paid): void {
    const { changes } = this.#deps;
    if (relayed.result === 'waiting') return;
    if (relayed.result === 'refused') {
      const patch = { failureCode: relayed.reason };
      changes.trigger(session, 'broadcast_refused', { reason: relayed.reason }, { patch });
      return;
    }
    const { txHash } = relayed;
    if (session.errorCause !== null) {
      changes.trigger(session, 'cause_gone', { tx_hash: txHash }, { patch: { failureCode: null, txHash } });
    }
    changes.trigger(session, 'broadcast_accepted', { tx_hash: txHash }, { patch: { txHash, failureCode: null } });
  }

  /** The transfer is sent, but in no block yet. */
  async #follow(session: FiatSession, intent: Intent): Promise<void> {
    const { changes, rail, payer, clock } = this.#deps;
    const last = payer.transactionsOf(session.id).at(-1);
    if (last === undefined) return;
    const transaction = await rail.transaction(last.txHash);
    if (transaction?.status === 'reverted') {
      await payer.forget(intent);
      const evidence = { tx_hash: last.txHash, reason: transaction.reason };
      const patch = { failureCode: transaction.reason ?? 'reverted' };
      changes.trigger(session, 'reverted_in_time', evidence, { patch });
      return;
    }
    const ageMs = clock.nowMs() - last.createdMs;
    if (transaction?.status === 'mined' || ageMs < RESEND_MS || !this.mayLeave(session)) return;
    const isReplaced = ageMs >= REPLACE_MS;
    if (transaction !== null && !isReplaced) return;
    const relayed = await payer.hasten(intent, isReplaced);
    if (relayed.result !== 'accepted' || relayed.txHash === session.txHash) return;
    const { txHash } = relayed;
    changes.trigger(session, 'hash_replaced', { tx_hash: txHash }, { patch: { txHash } });
  }

  /** Retries after an error whose cause may be gone, or ends the session if its time is over. */
  async #recover(session: FiatSession, intent: Intent, head: RailHead): Promise<void> {
    const { changes, rail, payer } = this.#deps;
    const { errorCause } = session;
    if (errorCause !== 'broadcast_refused' && errorCause !== 'reverted_in_time') return;
    const found = await rail.authorization(intent.from, intent.nonce);
    const isOver = found.state !== 'unused' || head.finalizedSec >= intent.validBeforeSec;
    if (isOver) {
      changes.trigger(session, 'cause_gone', { authorization: found.state });
      await this.#isDecided(session, intent, head);
      return;
    }
    if (!this.mayLeave(session)) return;
    // The state says that the transfer is sent only once the rail has accepted it.
    this.#afterRelay(session, await payer.pay(intent));
  }

  /** SETTLEMENT-3: looks for a transaction that the provider names, or for money that it claims to have. */
  async #reconcile(session: FiatSession, intent: Intent, head: RailHead): Promise<void> {
    const { changes, rail } = this.#deps;
    const { reportedHash } = session;
    const own = await rail.authorization(intent.from, intent.nonce);
    if (own.state === 'used') {
      // The exchange's own transfer was sent already, or someone else has sent it. Operators see a second payment.
      await this.#fund(session, intent, own.txHash, head);
      return;
    }
    const owner = reportedHash === null ? undefined : await this.#ownerOf(reportedHash);
    if (owner !== undefined && owner !== session.id) {
      const isNew = session.alarm !== 'hash_of_another_session';
      if (isNew) changes.trigger(session, 'hash_of_another_session', { reported_hash: reportedHash, session: owner });
      return;
    }
    if (reportedHash !== null && (await this.#pays(intent, reportedHash))) {
      await this.#fund(session, intent, reportedHash, head);
      return;
    }
    if (await this.#isUnfunded(session, reportedHash, head)) this.#resume(session, intent, head);
  }

  /**
   * Returns the session that a transaction pays for: the one that has claimed it, or whose authorization it carries.
   */
  async #ownerOf(txHash: string): Promise<string | undefined> {
    const { rail, transfers } = this.#deps;
    const claimed = transfers.claimedBy(txHash);
    if (claimed !== undefined) return claimed;
    const transaction = await rail.transaction(txHash);
    const owners = transaction?.transfers.map(({ from, nonce }) => transfers.authorizedBy(from, nonce));
    return owners?.find((owner) => owner !== undefined);
  }

  async #fund(session: FiatSession, intent: Intent, txHash: string, head: RailHead): Promise<void> {
    const { rail, transfers, changes } = this.#deps;
    const transaction = await rail.transaction(txHash);
    const block = transaction?.block ?? null;
    if (block === null || !isFinal(block, head)) return;
    if (!(await this.#pays(intent, txHash))) return;
    const isTwice = session.reportedHash !== null && session.reportedHash !== txHash;
    if (isTwice && (await this.#pays(intent, session.reportedHash!))) {
      changes.alarm(session, 'paid_twice', { tx_hash: txHash, reported_hash: session.reportedHash });
    }
    const claim = (): void => transfers.claim(txHash, session.id);
    this.#settle(session, txHash, 'funding_verified', { tx_hash: txHash, block }, claim);
  }

  /** True if there is no such payment as of a finalized block. */
  async #isUnfunded(session: FiatSession, txHash: string | null, head: RailHead): Promise<boolean> {
    const { rail, sessions } = this.#deps;
    const transaction = txHash === null ? null : await rail.transaction(txHash);
    if (transaction?.status === 'pending') return false;
    if (transaction !== null) return transaction.block! <= head.finalizedBlock;
    const reported = sessions.transitionsOf(session.id).findLast(({ cause }) => cause === 'foreign_hash_reported');
    return head.finalizedSec >= Math.floor((reported?.atMs ?? 0) / 1000) + UNKNOWN_SEC;
  }

  /** Returns to the wallet or the relay if the provider still waits; ends the session if its time is over. */
  #resume(session: FiatSession, intent: Intent, head: RailHead): void {
    const { changes, clock } = this.#deps;
    const evidence = { reported_hash: session.reportedHash, finalized_sec: head.finalizedSec };
    const { providerStatus } = session;
    // A provider that has the money must say where it came from: until then a person has to look.
    if (providerStatus === 'started' || providerStatus === 'success') {
      changes.alarm(session, 'funding_not_found', evidence);
      return;
    }
    const isOver = head.finalizedSec >= intent.validBeforeSec || providerStatus !== 'created';
    if (intent.signature !== null) {
      changes.trigger(session, 'signed_not_funded', evidence);
    } else if (isOver) {
      changes.trigger(session, 'unsigned_not_funded', evidence);
      const patch = { status: 'expired', failureCode: 'not_carried_out_in_time' } as const;
      changes.trigger(session, 'ended_unsigned', evidence, { patch });
    } else if (canStillSign(intent, clock.nowMs())) changes.trigger(session, 'unsigned_not_funded', evidence);
  }

  /** Notices a rail that takes back a block which it had called final. A lagging rail has not come that far yet. */
  async #checkFinality(session: FiatSession, intent: Intent, head: RailHead): Promise<void> {
    const { changes, rail, sessions } = this.#deps;
    if (session.txHash !== null && (await this.#pays(intent, session.txHash))) return;
    if ((await rail.authorization(intent.from, intent.nonce)).state === 'used') return;
    const final = sessions.transitionsOf(session.id).findLast(({ cause }) => FINAL_CAUSES.includes(cause));
    const { block } = JSON.parse(final?.evidence ?? '{}') as { readonly block?: number };
    if (block !== undefined && head.finalizedBlock < block) return;
    changes.trigger(session, 'finality_violated', { tx_hash: session.txHash });
  }

  async #pays(intent: Intent, txHash: string): Promise<boolean> {
    return carriesOut(await this.#deps.rail.transaction(txHash), intent);
  }
}
