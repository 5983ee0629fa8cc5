/**
 * Renders a market for clients (RULES.md 12.30): its description from the catalogue, its state from the views, its
 * volume from the read model. The description is rendered once per change and the other members are appended, because a
 * list has a hundred markets.
 */

import { MARKET_STATUS_NAMES, type MarketStatus } from '../../shared/base/codes.ts';
import { sumToDecimal } from '../../shared/base/units.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { Book } from '../shardlink/bookViews.ts';
import { marketState } from '../shardlink/marketState.ts';
import { midsOf } from '../shardlink/prices.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog, EventEntry, MarketEntry } from './catalog.ts';
import type { ContractStore } from './contracts.ts';
import { deployStatus } from './deployments.ts';
import type { MirrorPair, StatusOf } from './mirrorPairs.ts';
import type { Volumes } from './volumes.ts';

/** A full set is one USDC. */
const MICRO_PER_SET = 1_000_000;
const NATIVE = 'native';
const NO_PRICES = '{"0":0.5,"1":0.5}';

type ResponseDeps = {
  readonly catalog: Pick<Catalog, 'eventById'>;
  readonly contracts: Pick<ContractStore, 'current'>;
  readonly views: Pick<Views, 'markets' | 'books'>;
  readonly volumes: Pick<Volumes, 'volumeMicro' | 'volume24hMicro'>;
  /**
   * Finds the mirror pair among the markets of an event. It is only a hint: if it fails, markets are answered without
   * it.
   */
  readonly findPair: (markets: readonly MarketEntry[], statusOf: StatusOf) => MirrorPair | null;
  readonly onPairFailed: (error: unknown) => void;
};

/** The pairs of events found for one list: each event is asked once, however many of its markets are listed. */
type KnownPairs = Map<EventEntry, MirrorPair | null>;

/** Trimmed: without the members that only link a market to its provider's data (RULES.md 12.35). */
export type MarketForm = 'whole' | 'trimmed';

export class MarketResponses {
  readonly #catalog: ResponseDeps['catalog'];
  readonly #contracts: ResponseDeps['contracts'];
  readonly #views: ResponseDeps['views'];
  readonly #volumes: ResponseDeps['volumes'];
  readonly #findPair: ResponseDeps['findPair'];
  readonly #onPairFailed: ResponseDeps['onPairFailed'];
  readonly #descriptions = new WeakMap<MarketEntry, Description>();

  constructor(deps: ResponseDeps) {
    this.#catalog = deps.catalog;
    this.#contracts = deps.contracts;
    this.#views = deps.views;
    this.#volumes = deps.volumes;
    this.#findPair = deps.findPair;
    this.#onPairFailed = deps.onPairFailed;
  }

  /** Null until the shard of the market has opened it. */
  readonly statusOf = (market: MarketEntry): MarketStatus | null =>
    this.isOpen(market) ? this.#views.markets.status(market.index) : null;

  /** The mirror pair among the markets of an event; null if there is none or it could not be found out. */
  readonly pairOf = (event: EventEntry): MirrorPair | null => {
    try {
      return this.#findPair(event.markets, this.statusOf);
    } catch (error) {
      this.#onPairFailed(error);
      return null;
    }
  };

  /** False while a market is being made: until its shard has it, no client sees it. */
  isOpen(market: MarketEntry): boolean {
    return this.#views.markets.has(market.index);
  }

  statusName(market: MarketEntry): (typeof MARKET_STATUS_NAMES)[number] {
    return MARKET_STATUS_NAMES[this.#views.markets.status(market.index)];
  }

  volumeMicro(market: MarketEntry): bigint {
    return this.#volumes.volumeMicro(market.index);
  }

  /** MarketResponse as JSON text. */
  toJson(market: MarketEntry, form: MarketForm = 'whole', pairs: KnownPairs = new Map()): string {
    const { markets, books } = this.#views;
    const description = this.#description(market);
    return (
      `${form === 'whole' ? description.json : description.trimmedJson}` +
      this.#contractField(market) +
      `,${marketState(markets, market.index)}` +
      `,"total_volume":"${sumToDecimal(this.volumeMicro(market))}"` +
      this.#tradingFields(market) +
      `,"current_prices":${pricesOf(books.of(market.index))}` +
      `${this.#siblingField(market, pairs)}}`
    );
  }

  /** The texts of several markets, one after the other. */
  *listJson(markets: Iterable<MarketEntry>, form?: MarketForm): Generator<string> {
    const pairs: KnownPairs = new Map();
    for (const market of markets) yield this.toJson(market, form, pairs);
  }

  /** The factory that deployed the market: never the contract for which orders are signed. */
  #contractField(market: MarketEntry): string {
    const isDeployed = deployStatus(market) === 'deployed';
    if (!isDeployed) return '';
    const factory = market.details.contract_address ?? this.#contracts.current.marketFactory;
    return `,"contract_address":"${shownAddress(factory)}"`;
  }

  #tradingFields(market: MarketEntry): string {
    if (!isNative(market)) return '';
    const sets = Math.floor(this.#views.markets.collateralMicro[market.index] / MICRO_PER_SET);
    const volume = this.#volumes.volume24hMicro(market.index) / BigInt(MICRO_PER_SET);
    return `,"open_interest":${sets},"volume_24h":${volume}`;
  }

  #siblingField({ index, eventId }: MarketEntry, pairs: KnownPairs): string {
    const event = eventId === null ? undefined : this.#catalog.eventById(eventId);
    if (event === undefined) return '';
    let pair = pairs.get(event);
    if (pair === undefined) {
      pair = this.pairOf(event);
      pairs.set(event, pair);
    }
    const isOfPair = pair !== null && (pair.canonical.index === index || pair.mirror.index === index);
    return isOfPair ? `,"canonical_sibling_market_id":"${pair!.canonical.id}"` : '';
  }

  #description(market: MarketEntry): Description {
    const cached = this.#descriptions.get(market);
    if (cached?.updatedMs === market.updatedMs) return cached;
    const description = describe(market);
    this.#descriptions.set(market, description);
    return description;
  }
}

/** The members that depend on the catalogue alone, valid until the next change of the market. */
type Description = {
  readonly updatedMs: number;
  /** Without the closing brace. */
  readonly json: string;
  readonly trimmedJson: string;
};

function describe(market: MarketEntry): Description {
  const { contract_address, condition_id, question_id, open_interest, volume_24h, ...details } = market.details;
  // For a native market these are this exchange's own figures (RULES.md 13.8).
  const upstream = isNative(market) ? {} : { open_interest, volume_24h };
  const members = {
    id: market.id,
    event_id: market.eventId ?? undefined,
    ...details,
    ...upstream,
    resolution_type: 'binary',
    deploy_status: deployStatus(market),
    condition_id,
    question_id,
    yes_token_id: market.yesTokenId,
    no_token_id: market.noTokenId,
    created_at: new Date(market.createdMs).toISOString(),
    updated_at: new Date(market.updatedMs).toISOString(),
  };
  return {
    updatedMs: market.updatedMs,
    json: openJson(members),
    trimmedJson: openJson({ ...members, external_event_id: undefined, series_ticker: undefined }),
  };
}

/** True for a market that comes from no provider. */
function isNative({ details }: MarketEntry): boolean {
  return details.external_source === NATIVE;
}

/** Without the closing brace. */
function openJson(members: object): string {
  return JSON.stringify(members).slice(0, -1);
}

/** Without orders on both sides there is no mid. */
function pricesOf(book: Book | undefined): string {
  const mids = midsOf(book);
  return mids === null ? NO_PRICES : `{"0":${mids[0]},"1":${mids[1]}}`;
}
