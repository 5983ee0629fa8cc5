/**
 * Follows the provider's transaction of an off-ramp (RULES.md 16.10). The transaction fixes destination and amount
 * once, may name the rail's transaction that pays for it, and reports the progress of the sale afterwards. This code
 * moves no money. Owner: the gateway thread.
 *
 * Invariants:
 *   OFFRAMP-1  A session has one intent, made from the first valid terms; later terms never change it.
 *   OFFRAMP-2  Once the provider has the money, or claims so, the wallet is no longer asked to sign.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../../shared/base/clock.ts';
import { toHex } from '../../shared/base/hex.ts';
import { NOT_A_NUMBER, tryParseUnits } from '../../shared/base/units.ts';
import type { Eip712Domain } from '../../shared/crypto/eip712.ts';
import { transferDigest } from '../../shared/crypto/eip3009.ts';
import type { FiatChanges } from './changes.ts';
import type { FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { FiatTransfers, Intent } from './fiatTransfersStore.ts';
import type { ProviderTransaction } from './provider.ts';
import { carriesOut, type Payer, type Rail } from './rail.ts';

/** The time that a sale waits for its USDC, if the provider does not state one. */
const PROVIDER_WAIT_MS = 1_800_000;
/** A transfer must be in a block this long before the provider stops waiting. */
const MARGIN_SEC = 120;
/** The most times that a provider may resume a sale that it had called failed. */
const MAX_BACK = 10;
const ENDED: ReadonlySet<string> = new Set(['failed', 'expired', 'refunded']);
const PAID: ReadonlySet<string> = new Set(['started', 'success']);

type OffRampDeps = {
  readonly sessions: FiatSessions;
  readonly transfers: FiatTransfers;
  readonly changes: FiatChanges;
  readonly rail: Rail;
  readonly payer: Pick<Payer, 'transactionsOf'>;
  readonly clock: Clock;
  /** Addresses that must never be a destination: contracts of the exchange itself. */
  readonly isOwnAddress: (address: string) => boolean;
};

export class OffRamps {
  readonly #deps: OffRampDeps;

  constructor(deps: OffRampDeps) {
    this.#deps = deps;
  }

  /** @param rows of the session, newest first. */
  async observe(session: FiatSession, rows: readonly ProviderTransaction[]): Promise<void> {
    const { changes } = this.#deps;
    const row = chosen(session, rows);
    if (row === undefined) return;
    changes.note(session, { providerTransactionId: row.transactionId, providerStatus: row.status });
    const { transferState } = session;
    const isUnfixed = transferState === 'awaiting_provider' || session.errorCause === 'provider_mismatched';
    if (isUnfixed) await this.#fix(session, row);
    this.#compareTerms(session, row);
    await this.#payments(session, row);
    this.#sale(session, row);
  }

  /** The transactions that were made for the session, sent or not. */
  ownHashes(session: FiatSession): string[] {
    return this.#deps.payer.transactionsOf(session.id).map(({ txHash }) => txHash);
  }

  /** Its sender does not matter, as long as it carries this session's authorization. */
  async carriesAuthorization(intent: Intent, txHash: string): Promise<boolean> {
    const transaction = await this.#deps.rail.transaction(txHash);
    const isOurs = ({ from, nonce }: { from: string; nonce: string | null }): boolean =>
      from === intent.from && nonce === intent.nonce;
    return transaction?.transfers.some(isOurs) ?? false;
  }

  /** OFFRAMP-1 */
  async #fix(session: FiatSession, row: ProviderTransaction): Promise<void> {
    const { changes } = this.#deps;
    const evidence = { provider_transaction_id: row.transactionId, provider_status: row.status };
    if (ENDED.has(row.status)) {
      changes.trigger(session, 'cause_gone', { provider_status: row.status });
      const patch = { status: endOf(row.status), failureCode: `provider_${row.status}` } as const;
      changes.trigger(session, 'ended_unsigned', evidence, { patch });
      return;
    }
    if (row.toAddress === null || row.amount === null) {
      changes.status(session, 'created', 'provider_created', evidence);
      return;
    }
    const fault = await this.#mismatch(session, row);
    const domain = await this.#deps.rail.domain();
    // The session may have been cancelled meanwhile: then nothing below finds a row in the machine.
    if (fault !== null) {
      const patch = { status: 'created', failureCode: fault } as const;
      changes.trigger(session, 'provider_mismatched', { ...evidence, fault }, { patch });
      return;
    }
    if (session.errorCause !== null) changes.trigger(session, 'cause_gone', evidence, { patch: { failureCode: null } });
    if (session.transferState === 'awaiting_provider') this.#lock(session, row, domain);
  }

  /** The intent is durable before anyone sees it: answers wait for `durable`. */
  #lock(session: FiatSession, row: ProviderTransaction, domain: Eip712Domain): void {
    const { changes, transfers, clock } = this.#deps;
    const deadlineMs = row.deadlineMs ?? row.createdAtMs + PROVIDER_WAIT_MS;
    const { amount, toAddress } = row;
    const intent = this.#intentFor(session, row, deadlineMs, domain);
    const patch = {
      amountValue: amount!.value,
      amountCurrency: amount!.currency,
      toAddress,
      deadlineMs,
      expiresMs: Math.max(deadlineMs, clock.nowMs()),
    };
    const evidence = { to: toAddress, value: amount!.value, nonce: intent.nonce, valid_before: intent.validBeforeSec };
    changes.trigger(session, 'provider_locked', evidence, { patch, more: () => transfers.addIntent(intent) });
  }

  #intentFor(session: FiatSession, row: ProviderTransaction, deadlineMs: number, domain: Eip712Domain): Intent {
    const transfer = {
      from: session.walletAddress,
      to: row.toAddress!,
      valueMicro: tryParseUnits(row.amount!.value),
      validAfterSec: 0,
      validBeforeSec: Math.max(Math.floor(deadlineMs / 1000) - MARGIN_SEC, 1),
      nonce: toHex(randomBytes(32)),
    };
    return {
      ...transfer,
      sessionId: session.id,
      intentId: randomUUID(),
      digest: transferDigest(domain, transfer),
      signature: null,
      createdMs: this.#deps.clock.nowMs(),
      signedMs: null,
    };
  }

  /** The reason why these terms must not be signed; null if they may. */
  async #mismatch(session: FiatSession, row: ProviderTransaction): Promise<string | null> {
    const { rail, isOwnAddress } = this.#deps;
    const { asset, network, amount, toAddress } = row;
    if (asset !== 'usdc' || amount!.currency.toLowerCase() !== 'usdc') return 'other_asset';
    if (network !== 'polygon') return 'other_network';
    const valueMicro = tryParseUnits(amount!.value);
    if (valueMicro === NOT_A_NUMBER || valueMicro === 0) return 'amount';
    if (!/^0x[0-9a-f]{40}$/.test(toAddress!) || isOwnAddress(toAddress!)) return 'destination';
    if (toAddress === session.walletAddress) return 'destination';
    return (await rail.isReachable(toAddress!)) ? null : 'destination';
  }

  /** The terms differ from the intent's: an existing signature is not sent, and nothing else is signed. */
  #compareTerms(session: FiatSession, row: ProviderTransaction): void {
    const { changes, transfers } = this.#deps;
    const intent = transfers.intentOf(session.id);
    if (intent === undefined || row.amount === null || row.toAddress === null) return;
    const isSame = row.toAddress === intent.to && tryParseUnits(row.amount.value) === intent.valueMicro;
    if (isSame) return;
    const evidence = { to: row.toAddress, value: row.amount.value };
    const patch = { status: 'failed', failureCode: 'provider_changed_terms' } as const;
    const hasEnded =
      session.transferState === 'waiting_for_wallet' && changes.trigger(session, 'ended_unsigned', evidence, { patch });
    if (!hasEnded) changes.alarm(session, 'provider_changed_terms', evidence);
  }

  /** The provider names a transaction, or claims to have the money. */
  async #payments(session: FiatSession, row: ProviderTransaction): Promise<void> {
    const { changes, transfers } = this.#deps;
    const intent = transfers.intentOf(session.id);
    if (intent === undefined) return;
    const { txHash } = row;
    const own = this.ownHashes(session);
    const isOwn = txHash !== null && (own.includes(txHash) || txHash === session.txHash);
    const state = session.transferState;
    if (state === 'waiting_for_wallet' || state === 'submission_pending') {
      // OFFRAMP-2. While an envelope may be in flight, it may be the one that pays for a resumed sale.
      const isPaidOtherwise =
        txHash === null
          ? PAID.has(row.status) && own.length === 0
          : !isOwn && (await this.#mayPay(session, intent, txHash));
      if (!isPaidOtherwise) return;
      const evidence = { reported_hash: txHash, provider_status: row.status };
      changes.trigger(session, 'foreign_hash_reported', evidence, { patch: { reportedHash: txHash } });
      return;
    }
    if (state === 'provider_funding_reconciling' && txHash !== null && session.reportedHash !== txHash && !isOwn) {
      changes.note(session, { reportedHash: txHash });
    }
    if (state !== 'submitted_on_chain' || txHash === null || isOwn || txHash === session.reportedHash) return;
    const isOurs = await this.carriesAuthorization(intent, txHash);
    if (isOurs) changes.trigger(session, 'reported_hash_is_ours', { tx_hash: txHash }, { patch: { txHash } });
    else {
      const patch = { reportedHash: txHash };
      changes.trigger(session, 'reported_hash_is_foreign', { reported_hash: txHash }, { patch });
    }
  }

  /** A transaction that was found to pay nothing counts again only if the rail shows that it pays. */
  async #mayPay(session: FiatSession, intent: Intent, txHash: string): Promise<boolean> {
    return txHash !== session.reportedHash || carriesOut(await this.#deps.rail.transaction(txHash), intent);
  }

  /** The sale has resumed after a failure so often that only a success still counts: this bounds a session's steps. */
  #isWavering({ id }: FiatSession): boolean {
    const steps = this.#deps.sessions.transitionsOf(id);
    return (
      steps.filter(({ cause, subject }) => cause === 'provider_failed' && subject === 'transfer').length > MAX_BACK
    );
  }

  /** The sale proceeds after payment, or it ended before. */
  #sale(session: FiatSession, { status, transactionId }: ProviderTransaction): void {
    const { changes } = this.#deps;
    const evidence = { provider_transaction_id: transactionId, provider_status: status };
    if (PAID.has(status)) {
      if (session.errorCause === 'provider_failed') {
        if (status !== 'success' && this.#isWavering(session)) return;
        changes.trigger(session, 'cause_gone', evidence, { patch: { failureCode: null } });
      }
      if (status === 'started') changes.trigger(session, 'provider_started', evidence);
      else changes.trigger(session, 'provider_succeeded', evidence);
      return;
    }
    if (!ENDED.has(status)) return;
    const failureCode = `provider_${status}`;
    const patch = { status: status === 'refunded' ? 'failed' : session.status, failureCode } as const;
    changes.trigger(session, 'provider_failed', evidence, { patch });
    const ending = { status: endOf(status), failureCode };
    if (session.transferState === 'waiting_for_wallet') {
      changes.trigger(session, 'ended_unsigned', evidence, { patch: ending });
    }
    if (session.errorCause === 'provider_failed' && status === 'refunded') {
      changes.status(session, 'failed', 'provider_refunded', evidence, { patch: { failureCode } });
    }
  }
}

/**
 * Chooses the provider's transaction that names ours as its payment, since the provider may count it for another sale
 * of the session. Otherwise the one from which the intent was made; before there is an intent, the newest that has not
 * ended, or else the newest.
 */
function chosen(session: FiatSession, rows: readonly ProviderTransaction[]): ProviderTransaction | undefined {
  const known = rows.find(({ transactionId }) => transactionId === session.providerTransactionId);
  if (known !== undefined && session.toAddress !== null) {
    const paid = session.txHash === null ? undefined : rows.find(({ txHash }) => txHash === session.txHash);
    return known.txHash === session.txHash ? known : (paid ?? known);
  }
  return rows.find(({ status }) => !ENDED.has(status)) ?? known ?? rows[0];
}

function endOf(status: string): 'expired' | 'failed' {
  return status === 'expired' ? 'expired' : 'failed';
}
