/**
 * On-ramps (RULES.md 16.15): the provider sends USDC to the wallet, and the account is credited with the amount that
 * the rail shows as arrived. The provider's statements only decide when the rail is checked. Owner: the gateway thread.
 *
 * Invariants:
 *   ONRAMP-1  A session is completed by a deposit that the rail has credited, once: under the session's own reference,
 *             or under the transaction's where the deposit was final before the provider named it.
 *   ONRAMP-2  A transaction counts for one session: it is claimed before it is credited.
 *   ONRAMP-3  A session claims one transaction. Before that, the provider may name a different one, for example a
 *             replacement.
 */

import { NOT_A_NUMBER, tryParseUnits } from '../../shared/base/units.ts';
import { isFinal } from '../../shared/chain/depth.ts';
import { type FiatChanges, isOver } from './changes.ts';
import type { FiatPatch, FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { FiatTransfers } from './fiatTransfersStore.ts';
import type { ProviderTransaction } from './provider.ts';
import type { Rail } from './rail.ts';

type OnRampDeps = {
  readonly sessions: FiatSessions;
  readonly transfers: FiatTransfers;
  readonly changes: FiatChanges;
  readonly rail: Rail;
};

const ENDED: ReadonlySet<string> = new Set(['failed', 'expired', 'refunded']);

export class OnRamps {
  readonly #deps: OnRampDeps;

  constructor(deps: OnRampDeps) {
    this.#deps = deps;
  }

  /** @param rows of the session, newest first. */
  observe(session: FiatSession, rows: readonly ProviderTransaction[]): void {
    const { changes, transfers } = this.#deps;
    const row = chosen(session, rows);
    if (row === undefined) return;
    const { status, txHash, amount, toAddress, transactionId } = row;
    const evidence = { provider_transaction_id: transactionId, provider_status: status, tx_hash: txHash };
    const facts: FiatPatch = { providerTransactionId: transactionId, providerStatus: status };
    if (amount !== null) Object.assign(facts, { amountValue: amount.value, amountCurrency: amount.currency });
    if (toAddress !== null) facts.toAddress = toAddress;
    // ONRAMP-3
    if (txHash !== null && transfers.claimsOf(session.id).length === 0) facts.txHash = txHash;
    changes.note(session, facts);
    if (toAddress !== null && toAddress !== session.walletAddress) {
      changes.alarm(session, 'other_wallet', { to: toAddress });
    }
    if (status === 'created') changes.status(session, 'created', 'provider_created', evidence);
    if (status === 'started' || status === 'success') {
      changes.status(session, 'processing', `provider_${status}`, evidence);
    }
    // Where the provider names a transaction, the rail decides.
    if (session.txHash === null) this.#end(session, evidence);
  }

  async advance(session: FiatSession): Promise<void> {
    const { sessions, transfers, changes, rail } = this.#deps;
    const { txHash, walletAddress, id } = session;
    if (txHash === null || session.status === 'completed') return;
    const owner = transfers.claimedBy(txHash);
    if (owner !== undefined && owner !== id) {
      changes.alarm(session, 'hash_of_another_session', { tx_hash: txHash, session: owner });
      return;
    }
    const transaction = await rail.transaction(txHash);
    const arrives = transaction?.status === 'mined' && transaction.transfers.some(({ to }) => to === walletAddress);
    if (!arrives) {
      const isGone = transaction === null || transaction.status === 'reverted';
      if (isGone) this.#end(session, { tx_hash: txHash, reason: transaction?.reason ?? null });
      return;
    }
    // A fork may still take it back, and the provider may then send another one.
    if (rail.takesBlocksBack && !isFinal(transaction.block!, await rail.head())) return;
    // The provider may have named another one in the meantime.
    if (session.txHash !== txHash) return;
    if (owner === undefined) {
      sessions.write(() => transfers.claim(txHash, id));
      await sessions.durable();
      // Another session may have claimed it in the meantime.
      if (transfers.claimedBy(txHash) !== id) return;
    }
    const valueMicro = await rail.creditDeposit(txHash, walletAddress, `fiat:${id}`);
    if (valueMicro === null) return;
    const isAsSaid = session.amountValue !== null && tryParseUnits(session.amountValue) === valueMicro;
    const evidence = { tx_hash: txHash, credited_micro: valueMicro };
    changes.status(session, 'completed', 'deposit_credited', evidence, { patch: { failureCode: null } });
    if (!isAsSaid && amountOf(session) !== null) changes.alarm(session, 'amount_differs', evidence);
  }

  /** The provider has given up, and the rail shows no USDC. USDC that arrives later still counts. */
  #end(session: FiatSession, evidence: Readonly<Record<string, string | null>>): void {
    const { providerStatus } = session;
    if (!ENDED.has(providerStatus)) return;
    const failureCode = `provider_${providerStatus}`;
    const to = providerStatus === 'expired' ? 'expired' : 'failed';
    this.#deps.changes.status(session, to, failureCode, evidence, { patch: { failureCode } });
  }

  /** Nothing arrived in time. */
  expire(session: FiatSession): void {
    const { changes } = this.#deps;
    const isWaiting = session.txHash === null && session.status !== 'processing' && !isOver(session.status);
    if (isWaiting) changes.status(session, 'expired', 'time_is_over', {}, { patch: { failureCode: 'expired' } });
  }
}

function amountOf({ amountValue }: FiatSession): number | null {
  const amount = amountValue === null ? NOT_A_NUMBER : tryParseUnits(amountValue);
  return amount === NOT_A_NUMBER ? null : amount;
}

/**
 * Chooses the transaction that sends USDC or was followed so far; before, the newest that has not ended, or else the
 * newest.
 */
function chosen(session: FiatSession, rows: readonly ProviderTransaction[]): ProviderTransaction | undefined {
  const known = rows.find(({ transactionId }) => transactionId === session.providerTransactionId);
  if (known !== undefined && !ENDED.has(known.status)) return known;
  return rows.find(({ status }) => !ENDED.has(status)) ?? known ?? rows[0];
}
