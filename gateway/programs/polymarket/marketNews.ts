/**
 * News for readers of the channel `market` that have asked for them with `custom_feature_enabled`: a market is new, or
 * is decided. A tick never changes here, so there is no news of one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MarketChangeFrame } from '../../../shared/client/stream/frames.ts';
import type { Catalogue, Listed } from './catalogue.ts';
import { isOpen, slugOf } from './marketJson.ts';
import type { Reader } from './sockets.ts';

const LOOKS = 20;
const LOOK_EVERY_MS = 100;
const PPM = 1_000_000;

export class MarketNews {
  readonly #catalogue: Catalogue;
  readonly #onError: (error: unknown) => void;
  readonly #readers = new Set<Reader>();

  constructor(catalogue: Catalogue, onError: (error: unknown) => void) {
    this.#catalogue = catalogue;
    this.#onError = onError;
  }

  /** @param wanted the reader's `custom_feature_enabled`; what it said before stays where it says nothing. */
  asked(reader: Reader, wanted: unknown): void {
    if (wanted === true) this.#readers.add(reader);
    else if (wanted === false) this.#readers.delete(reader);
  }

  isFor(reader: Reader): boolean {
    return this.#readers.has(reader);
  }

  left(reader: Reader): void {
    this.#readers.delete(reader);
  }

  changed({ market_id, data: { changed, payouts }, timestamp }: MarketChangeFrame): void {
    if (this.#readers.size === 0) return;
    if (changed.includes('opened')) this.#send(market_id, (listed) => newMessage(listed, timestamp));
    if (changed.includes('decision') && payouts)
      this.#send(market_id, (listed) => decidedMessage(listed, payouts, timestamp));
  }

  #send(marketId: string, messageOf: (listed: Listed) => object): void {
    const work = async (): Promise<void> => {
      const listed = await this.#listed(marketId);
      if (listed === null) return;
      const message = messageOf(listed);
      for (const reader of this.#readers) reader.send(message);
    };
    work().catch(this.#onError);
  }

  /** A new market is in the catalogue once that was read again; one that clients do not know never is. */
  async #listed(marketId: string): Promise<Listed | null> {
    for (let look = 0; look < LOOKS; look++) {
      await this.#catalogue.all();
      const listed = this.#catalogue.ofId(marketId);
      if (listed !== null) return listed;
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
    }
    return null;
  }
}

function aboutMarket(listed: Listed, timestampMs: number): object {
  const { market, conditionId, tokens } = listed;
  return {
    id: market.id,
    market: conditionId,
    question: market.title,
    slug: slugOf(listed),
    description: market.description,
    assets_ids: tokens,
    outcomes: market.outcomes,
    timestamp: String(timestampMs),
    tags: [market.category],
  };
}

function newMessage(listed: Listed, timestampMs: number): object {
  return {
    ...{ event_type: 'new_market', ...aboutMarket(listed, timestampMs), active: isOpen(listed) },
    condition_id: listed.conditionId,
    clob_token_ids: listed.tokens,
    order_price_min_tick_size: listed.tick,
  };
}

/** Without a winner where the payouts are split. */
function decidedMessage(listed: Listed, payouts: readonly number[], timestampMs: number): object {
  const won = payouts.indexOf(PPM);
  return {
    event_type: 'market_resolved',
    ...aboutMarket(listed, timestampMs),
    winning_asset_id: listed.tokens[won] ?? '',
    winning_outcome: listed.market.outcomes[won] ?? '',
  };
}
