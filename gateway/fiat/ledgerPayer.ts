/**
 * Pays signed intents in the books of the exchange: each is sent to the ledger rail like a transfer of its owner. The
 * rail has it durably at once, under a hash of the signed terms, so nothing is replaced and a repeat is the same one.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   LEDGERPAYER-1  Nothing is sent while `mayLeave` or `mayBroadcast` says no.
 */
import type { Paid } from '../../shared/chain/relayer.ts';
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';
import type { Intent } from './fiatTransfersStore.ts';
import type { Payer, PayerOffice, PayerTransaction } from './rail.ts';

type Sent = { readonly txHash: string; readonly sentMs: number };

/** The part of the ledger rail that is used here. */
type Books = {
  send(
    kind: 'transfer',
    transfer: TransferAuthorization,
    signature: string,
  ): Promise<{ readonly txHash: string } | { readonly fault: string }>;
  sentMs(transfer: TransferAuthorization, signature: string): Sent | null;
};

export class LedgerPayer implements Payer {
  readonly state = 'idle';
  readonly #rail: Books;
  readonly #office: PayerOffice;

  constructor(rail: Books, office: PayerOffice) {
    this.#rail = rail;
    this.#office = office;
  }

  async pay(intent: Intent): Promise<Paid> {
    const { mayLeave, mayBroadcast } = this.#office;
    if (!(await mayBroadcast()) || !mayLeave(intent.sessionId)) return { result: 'waiting' };
    const sent = await this.#rail.send('transfer', intent, intent.signature!);
    if ('txHash' in sent) return { result: 'accepted', txHash: sent.txHash };
    return { result: 'refused', reason: sent.fault };
  }

  hasten(intent: Intent): Promise<Paid> {
    return this.pay(intent);
  }

  async forget(): Promise<void> {}

  /** Those of an earlier version had envelopes. */
  transactionsOf(sessionId: string): PayerTransaction[] {
    const { transfers } = this.#office;
    const earlier = transfers.envelopesOf(sessionId);
    const intent = transfers.intentOf(sessionId);
    const signature = intent?.signature ?? null;
    const sent = signature === null ? null : this.#rail.sentMs(intent!, signature);
    if (sent === null) return earlier;
    return [...earlier, { accountNonce: 0, fee: 0, txHash: sent.txHash, state: 'accepted', createdMs: sent.sentMs }];
  }
}
