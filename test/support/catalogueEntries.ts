/** Entries of a catalogue without a database, for the rules that only look at them. */

import type { EventEntry, MarketDetails, MarketEntry } from '../../gateway/markets/catalog.ts';
import { completeEventDetails, completeMarketDetails } from '../../gateway/markets/marketDetails.ts';
import { MARKET_STATUS, type MarketStatus } from '../../shared/base/codes.ts';

type Fields = Partial<MarketDetails> & { readonly id?: string; readonly status?: MarketStatus | null };

/** Makes the markets of one event, with the statuses that their shards would report. */
export class EntryMaker {
  readonly event: EventEntry = {
    index: 0,
    id: '00000000-0000-4000-8000-0000000000ee',
    slug: 'game',
    createdMs: 1,
    markets: [],
    details: completeEventDetails({ title: 'Game' }, 1),
    updatedMs: 1,
  };
  readonly #statuses = new Map<MarketEntry, MarketStatus | null>();

  readonly statusOf = (market: MarketEntry): MarketStatus | null => this.#statuses.get(market)!;

  add({ id, status = MARKET_STATUS.ACTIVE, ...details }: Fields = {}): MarketEntry {
    const index = this.event.markets.length;
    const market: MarketEntry = {
      index,
      id: id ?? `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      idBytes: new Uint8Array(16),
      shard: 0,
      ticksPerUnit: 100,
      minOrderAtomic: 1_000_000,
      yesTokenId: String(2 * index),
      noTokenId: String(2 * index + 1),
      opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: 1, endMs: 2 },
      createdMs: index + 1,
      eventId: this.event.id,
      details: completeMarketDetails({ title: `market ${index}`, description: '', category: 'Sports', ...details }),
      deployment: null,
      updatedMs: index + 1,
    };
    this.event.markets.push(market);
    this.#statuses.set(market, status);
    return market;
  }

  setStatus(market: MarketEntry, status: MarketStatus | null): void {
    this.#statuses.set(market, status);
  }
}
