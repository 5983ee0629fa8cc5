/**
 * Which markets of an event an answer lists (RULES.md 12.32): one table for all answers, so that they differ only as
 * written here.
 */
import { MARKET_STATUS, type MarketStatus } from '../../shared/base/codes.ts';
import type { EventEntry, MarketEntry } from './catalog.ts';
import type { MirrorPair, StatusOf } from './mirrorPairs.ts';

type Enumeration = {
  /** Includes the non-canonical market of a mirror pair. */
  readonly hasMirrors: boolean;
  readonly hasNovelty: boolean;
  readonly statuses: ReadonlySet<MarketStatus>;
};

const { DRAFT, ACTIVE, LOCKED, RESOLVING, CANCELLED } = MARKET_STATUS;
const EVERY_STATUS: ReadonlySet<MarketStatus> = new Set(Object.values(MARKET_STATUS));
const SHOWN: ReadonlySet<MarketStatus> = new Set([...EVERY_STATUS].filter((s) => s !== DRAFT && s !== CANCELLED));
const UNDECIDED: ReadonlySet<MarketStatus> = new Set([ACTIVE, LOCKED, RESOLVING]);

export const ENUMERATIONS = {
  /** `GET /v1/events/:slug`. */
  every: { hasMirrors: false, hasNovelty: true, statuses: EVERY_STATUS },
  /** `markets` of `GET /v1/events/:slug/view`, and its `market_groups`. */
  view: { hasMirrors: true, hasNovelty: true, statuses: SHOWN },
  viewGroups: { hasMirrors: true, hasNovelty: false, statuses: SHOWN },
  /** `GET /v1/events/browse` by the status of events, and with the default status, where markets count. */
  browse: { hasMirrors: false, hasNovelty: false, statuses: EVERY_STATUS },
  browseOpen: { hasMirrors: false, hasNovelty: false, statuses: UNDECIDED },
} as const satisfies Record<string, Enumeration>;

/** The state of markets that an enumeration asks for. */
type ListingState = {
  readonly statusOf: StatusOf;
  readonly pairOf: (event: EventEntry) => MirrorPair | null;
};

/** In the order of creation, which never ties (CATALOG-3). A market that its shard has not opened is not there yet. */
export function marketsOf(event: EventEntry, which: Enumeration, { statusOf, pairOf }: ListingState): MarketEntry[] {
  const mirror = which.hasMirrors ? undefined : pairOf(event)?.mirror;
  return event.markets.filter((market) => market !== mirror && isListed(market, which, statusOf));
}

/** The part of an enumeration that concerns a market alone. */
export function isListed(market: MarketEntry, { hasNovelty, statuses }: Enumeration, statusOf: StatusOf): boolean {
  const status = statusOf(market);
  return status !== null && statuses.has(status) && (hasNovelty || !isNovelty(market));
}

/** Returns true for a curiosity beside the game: type `other`, with this word among its subcategories. */
function isNovelty(market: MarketEntry): boolean {
  const { subcategories } = market.details;
  return typeOf(market) === 'other' && (subcategories?.includes('novelty') ?? false);
}

/** The provider's type, `other` without one. */
export function typeOf({ details }: MarketEntry): NonNullable<MarketEntry['details']['external_market_type']> {
  return details.external_market_type ?? 'other';
}
