/**
 * A market as clients see it: its description from the catalogue, its state from the views, its volume from the
 * read model. The description is turned into JSON once per change and the other members are appended, because a list
 * answers a hundred of them.
 */
import { MARKET_STATUS_NAMES } from '../../../shared/base/codes.ts';
import { midpointToDecimal, sumToDecimal } from '../../../shared/base/units.ts';
import type { Volumes } from '../../queries/volumes.ts';
import type { MarketEntry } from '../../store/catalog.ts';
import { type Book, NO_TICK } from '../../views/books.ts';
import type { Views } from '../../views/index.ts';

/** Without orders on both sides there is no mid. */
const NO_PRICES = '{"0":0.5,"1":0.5}';

export class MarketResponses {
  readonly #views: Views;
  readonly #volumes: Volumes;
  readonly #descriptions = new WeakMap<MarketEntry, Description>();

  constructor(views: Views, volumes: Volumes) {
    this.#views = views;
    this.#volumes = volumes;
  }

  /** False while a market is being made: until its shard has it, it does not exist for anyone. */
  isOpen(market: MarketEntry): boolean {
    return this.#views.markets.has(market.index);
  }

  statusName(market: MarketEntry): (typeof MARKET_STATUS_NAMES)[number] {
    return MARKET_STATUS_NAMES[this.#views.markets.status(market.index)];
  }

  startMs(market: MarketEntry): number {
    return this.#views.markets.startMs(market.index);
  }

  endMs(market: MarketEntry): number {
    return this.#views.markets.endMs(market.index);
  }

  volumeMicro(market: MarketEntry): bigint {
    return this.#volumes.volumeMicro(market.index);
  }

  /** MarketResponse as JSON text. */
  toJson(market: MarketEntry): string {
    const { markets, books } = this.#views;
    const startsAt = new Date(markets.startMs(market.index)).toISOString();
    const endsAt = new Date(markets.endMs(market.index)).toISOString();
    return (
      `${this.#description(market).json},"status":"${this.statusName(market)}"` +
      `,"fee_bps":${markets.feeBps(market.index)}` +
      `,"trading_starts_at":"${startsAt}","trading_ends_at":"${endsAt}"` +
      timeField('resolved_at', markets.resolvedMs(market.index)) +
      timeField('settled_at', markets.settledMs(market.index)) +
      `,"total_volume":"${sumToDecimal(this.volumeMicro(market))}"` +
      `,"current_prices":${pricesOf(books.of(market.index))}}`
    );
  }

  /** Title and description in lower case. */
  searchText(market: MarketEntry): string {
    return this.#description(market).searchText;
  }

  #description(market: MarketEntry): Description {
    const cached = this.#descriptions.get(market);
    if (cached?.updatedMs === market.updatedMs) return cached;
    const description = describe(market);
    this.#descriptions.set(market, description);
    return description;
  }
}

/** The members that follow from the catalogue alone, valid until the next change of the market. */
type Description = {
  readonly updatedMs: number;
  /** Without the closing brace. */
  readonly json: string;
  readonly searchText: string;
};

/** Until the administrator names its condition, a market exists in the exchange's ledger alone. */
export function deployStatus(market: MarketEntry): 'deployed' | 'not_deployed' {
  return market.details.condition_id === undefined ? 'not_deployed' : 'deployed';
}

function describe(market: MarketEntry): Description {
  const json = JSON.stringify({
    id: market.id,
    event_id: market.eventId ?? undefined,
    ...market.details,
    resolution_type: 'binary',
    deploy_status: deployStatus(market),
    yes_token_id: market.yesTokenId,
    no_token_id: market.noTokenId,
    created_at: new Date(market.createdMs).toISOString(),
    updated_at: new Date(market.updatedMs).toISOString(),
  });
  const { title, description } = market.details;
  return {
    updatedMs: market.updatedMs,
    json: json.slice(0, -1),
    searchText: `${title}\n${description}`.toLowerCase(),
  };
}

/** Absent until it has happened. */
function timeField(name: string, ms: number): string {
  return ms === 0 ? '' : `,"${name}":"${new Date(ms).toISOString()}"`;
}

/** The decimal texts are JSON numbers as they stand, so no float is involved. */
function pricesOf(book: Book | undefined): string {
  if (book === undefined) return NO_PRICES;
  const bid = book.bids.highest();
  const ask = book.asks.lowest();
  if (bid === NO_TICK || ask === NO_TICK) return NO_PRICES;
  const { ticksPerUnit } = book;
  const yes = midpointToDecimal(bid, ask, ticksPerUnit);
  const no = midpointToDecimal(ticksPerUnit - ask, ticksPerUnit - bid, ticksPerUnit);
  return `{"0":${yes},"1":${no}}`;
}
