/**
 * The transactions of an exchange on a chain that have trades in them.
 *
 * Invariant:
 *   POLYCHAIN-1  A settled trade is asked for once. Without a chain one settled trade shows that there is none, and no
 *                further one is asked for.
 */
import type { ExchangeClient } from '../../../shared/client/client.ts';
import type { TradeSettlement, UserTrade } from '../../../shared/client/types.ts';

const MOST_KEPT = 10_000;

type Client = Pick<ExchangeClient, 'tradeSettlement'>;

export class Transactions {
  readonly #kept = new Map<string, string>();
  #hasNone = false;

  /** POLYCHAIN-1. Null without a chain. A trade that is in no block yet has the empty text. */
  async of(client: Client, { id, settlement_status }: UserTrade): Promise<string | null> {
    if (settlement_status === 'pending' || settlement_status === 'submitted') return '';
    const kept = this.#kept.get(id);
    if (kept !== undefined || this.#hasNone) return kept ?? null;
    return this.noted(await client.tradeSettlement(id));
  }

  noted({ trade_id, settlement_status, transaction_hash }: TradeSettlement): string | null {
    if (settlement_status === 'settled') {
      if (transaction_hash === null) this.#hasNone = true;
      else this.#keep(trade_id, transaction_hash);
      return transaction_hash;
    }
    return transaction_hash ?? '';
  }

  #keep(id: string, hash: string): void {
    this.#kept.set(id, hash);
    if (this.#kept.size <= MOST_KEPT) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }
}
