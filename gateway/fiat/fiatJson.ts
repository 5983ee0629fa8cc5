/** Sessions and transfers of cashing in and out, as they are answered. Nothing in them opens the provider's page. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FiatSessionRecord, FiatTransaction, FiatTransfer } from '../../shared/api/fiat.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { CONFIRMATIONS } from '../../shared/chain/depth.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { Eip712Domain } from '../../shared/crypto/eip712.ts';
import { transferTypedData } from '../../shared/crypto/eip3009.ts';
import type { FiatSession } from './fiatSessionsStore.ts';
import type { FiatTransfers, Intent } from './fiatTransfersStore.ts';
import { canSubmitIn } from './machine.ts';
import { type Payer, type Rail, RailDown } from './rail.ts';
import { canStillSign } from './settlement.ts';
import { messageOf, PENDING_MESSAGE } from './transferStates.ts';

/** A person's request does not wait longer than this for the rail. */
const LOOK_MS = 2000;

export type FiatViews = {
  readonly rail: Rail;
  readonly payer: Payer;
  readonly transfers: FiatTransfers;
  readonly clock: Clock;
};

export function fiatSessionOf(session: FiatSession): FiatSessionRecord {
  const { amountValue, amountCurrency, kind } = session;
  const amount = amountValue === null ? null : { value: amountValue, currency: amountCurrency! };
  return {
    id: session.id,
    kind,
    provider: session.provider,
    status: session.status,
    wallet_address: shownAddress(session.walletAddress),
    asset: session.asset,
    network: session.network,
    fiat_currency: session.fiatCurrency,
    requested_amount: session.requestedAmount,
    sell_amount: kind === 'offramp' ? amount : null,
    buy_amount: kind === 'onramp' ? amount : null,
    provider_transaction_id: session.providerTransactionId,
    to_address: session.toAddress && shownAddress(session.toAddress),
    tx_hash: session.txHash,
    failure_code: session.failureCode,
    created_at: timeOf(session.createdMs),
    updated_at: timeOf(session.updatedMs),
    expires_at: timeOf(session.expiresMs),
  };
}

/**
 * The transfer of an off-ramp. Confirmations are those that the rail shows now, or none while it does not answer. The
 * rail is asked first, so that everything else is read at one moment.
 */
export async function fiatTransferOf(session: FiatSession, views: FiatViews): Promise<FiatTransfer> {
  const { rail, payer, transfers } = views;
  const hash = (): string | null => transfers.claimsOf(session.id)[0] ?? session.txHash ?? session.reportedHash;
  const [asked, signed] = [hash(), transfers.intentOf(session.id)];
  const confirmations = await confirmationsOf(asked, rail);
  const typedData = signed === undefined ? null : await typedDataOf(signed, rail);
  const intent = transfers.intentOf(session.id);
  const state = session.transferState!;
  const submitted = payer.transactionsOf(session.id).findLast((each) => each.state === 'accepted');
  const claimed = transfers.claimsOf(session.id)[0] ?? null;
  const authorization =
    intent === undefined ? null : { nonce: intent.nonce, digest: intent.digest, signature: intent.signature };
  return {
    session_id: session.id,
    intent_id: intent?.intentId ?? null,
    transfer_state: state,
    can_submit: canSubmit(session, intent, views),
    message: messageOf(state, session.errorCause),
    authorization,
    tx_evidence: {
      submitted_tx_hash: submitted?.txHash ?? null,
      effective_tx_hash: claimed ?? (state === 'provider_funding_reconciling' ? null : session.txHash),
      reported_tx_hash: session.reportedHash,
      confirmations: hash() === asked ? confirmations : 0,
      required_confirmations: CONFIRMATIONS,
    },
    typed_data: intent?.intentId === signed?.intentId ? typedData : null,
  };
}

/** The form before the provider has fixed the transfer, and the form after. */
export function fiatTransactionOf(session: FiatSession, views: FiatViews): FiatTransaction {
  const intent = views.transfers.intentOf(session.id);
  const { id, status, amountValue, amountCurrency, toAddress, transferState } = session;
  if (intent === undefined || amountValue === null || toAddress === null) {
    const message = session.errorCause === null ? PENDING_MESSAGE : messageOf(transferState!, session.errorCause);
    return { session_id: id, status, message };
  }
  return {
    session_id: id,
    status,
    to_address: shownAddress(toAddress),
    asset: session.asset,
    network: session.network,
    sell_amount: { value: amountValue, currency: amountCurrency! },
    tx_hash: session.txHash,
    created_at: timeOf(session.createdMs),
    transfer: {
      intent_id: intent.intentId,
      transfer_state: transferState!,
      can_submit: canSubmit(session, intent, views),
      authorization: { nonce: intent.nonce, digest: intent.digest },
    },
  };
}

export function shownDomain(domain: Eip712Domain): Eip712Domain {
  return { ...domain, verifyingContract: shownAddress(domain.verifyingContract) };
}

/** The wallet is not asked for a signature that would be refused because too little time is left. */
function canSubmit(session: FiatSession, intent: Intent | undefined, { clock }: FiatViews): boolean {
  const isToSign = intent !== undefined && intent.signature === null;
  if (isToSign && !canStillSign(intent, clock.nowMs())) return false;
  return canSubmitIn(session.transferState!, session.errorCause);
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Null until the chain has reported, since the start, the domain to sign for. */
async function typedDataOf(intent: Intent, rail: Rail): Promise<FiatTransfer['typed_data']> {
  const domain = await inTime(rail.domain());
  if (domain === null) return null;
  const [from, to] = [shownAddress(intent.from), shownAddress(intent.to)];
  return transferTypedData(shownDomain(domain), { ...intent, from, to });
}

async function confirmationsOf(txHash: string | null, rail: Rail): Promise<number> {
  if (txHash === null) return 0;
  const answers = await inTime(Promise.all([rail.transaction(txHash), rail.head()]));
  if (answers === null) return 0;
  const [transaction, head] = answers;
  return transaction?.status === 'mined' ? Math.max(head.block - transaction.block! + 1, 0) : 0;
}

/** Null if the rail does not answer soon enough. */
async function inTime<T>(answer: Promise<T>): Promise<T | null> {
  const timeout = new AbortController();
  const late = sleep(LOOK_MS, null, { signal: timeout.signal }).catch(() => null);
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    if (error instanceof RailDown) return null;
    throw error;
  } finally {
    timeout.abort();
  }
}
