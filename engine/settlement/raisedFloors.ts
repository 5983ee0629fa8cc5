/**
 * Floors under nonces that wallets have raised on the chain. The ledger follows a raise as soon as it is seen, while a
 * reorganisation may still take it away: the owner wanted it, and a floor that turns out too high was still requested
 * by the wallet. Final raises are always reported, even if reported before, so that none depends on this thread's
 * memory.
 */
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { ChainEvent } from './chainEvents.ts';
import type { News } from './news.ts';

type FloorRaised = Extract<ChainEvent, { is: 'floorRaised' }>;

export class RaisedFloors {
  readonly #db: StoreDatabase;
  readonly #news: News;
  /** By wallet: the highest floor that was durably reported and is not final yet. */
  readonly #reported = new Map<string, number>();

  constructor(db: StoreDatabase, news: News) {
    this.#db = db;
    this.#news = news;
  }

  /** Called inside the transaction of the position. A repeat changes nothing in the ledger. */
  final({ wallet, floor }: FloorRaised): void {
    this.#news.add('nonceFloor', { wallet, floor });
    this.#reported.delete(wallet);
  }

  /** Takes floors seen in blocks that are not final, repeatedly. */
  seen(events: readonly FloorRaised[]): void {
    const fresh = events.filter(({ wallet, floor }) => floor > (this.#reported.get(wallet) ?? 0));
    if (fresh.length === 0) return;
    this.#db.transaction(() => {
      for (const { wallet, floor } of fresh) this.#news.add('nonceFloor', { wallet, floor });
    })();
    // The floor is remembered only now: the transaction may have been rolled back.
    for (const { wallet, floor } of fresh) this.#reported.set(wallet, floor);
  }
}
