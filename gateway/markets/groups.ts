/**
 * Groups the markets of an event for a page: by type, with one featured market that represents the event (RULES.md
 * 12.33).
 */
import { MARKET_STATUS, type MarketStatus } from '../../shared/base/codes.ts';
import type { MarketEntry } from './catalog.ts';
import { typeOf } from './enumerations.ts';
import type { StatusOf } from './mirrorPairs.ts';

type MarketType = ReturnType<typeof typeOf>;

type MarketGroup = {
  readonly type: MarketType;
  readonly title: string;
  /** In the order of creation. */
  readonly markets: readonly MarketEntry[];
};

/** In the order of the groups. */
const TITLES: ReadonlyMap<MarketType, string> = new Map([
  ['moneyline', 'Moneyline'],
  ['other', 'Other'],
  ['player_prop', 'Player props'],
  ['spread', 'Spread'],
  ['total', 'Total'],
]);

/** The type that interests most people is first. */
const FEATURED_TYPES: readonly MarketType[] = ['moneyline', 'spread', 'total', 'other', 'player_prop'];
/** A trading market precedes one that may trade again, and both precede the others. */
const FEATURED_STATUSES: readonly MarketStatus[] = [
  MARKET_STATUS.ACTIVE,
  MARKET_STATUS.LOCKED,
  MARKET_STATUS.RESOLVING,
  MARKET_STATUS.PENDING,
];

/** @param markets in the order of creation */
export function groupsOf(markets: readonly MarketEntry[]): MarketGroup[] {
  const groups: MarketGroup[] = [];
  for (const [type, title] of TITLES) {
    const ofType = markets.filter((market) => typeOf(market) === type);
    if (ofType.length > 0) groups.push({ type, title, markets: ofType });
  }
  return groups;
}

type Ranked = { readonly market: MarketEntry; readonly rank: readonly [status: number, type: number] };

/** By status, then by type, then by volume; of equal markets the oldest. Undefined if there is none to choose from. */
export function featuredOf(
  markets: readonly MarketEntry[],
  statusOf: StatusOf,
  volumeMicro: (market: MarketEntry) => bigint,
): MarketEntry | undefined {
  let best: Ranked | undefined;
  for (const market of markets) {
    const ranked = { market, rank: [statusRank(statusOf(market)), FEATURED_TYPES.indexOf(typeOf(market))] } as const;
    if (best === undefined || isBefore(ranked, best, volumeMicro)) best = ranked;
  }
  return best?.market;
}

function isBefore(a: Ranked, b: Ranked, volumeMicro: (market: MarketEntry) => bigint): boolean {
  const [statusA, typeA] = a.rank;
  const [statusB, typeB] = b.rank;
  if (statusA !== statusB) return statusA < statusB;
  if (typeA !== typeB) return typeA < typeB;
  return volumeMicro(a.market) > volumeMicro(b.market);
}

function statusRank(status: MarketStatus | null): number {
  const rank = status === null ? -1 : FEATURED_STATUSES.indexOf(status);
  return rank < 0 ? FEATURED_STATUSES.length : rank;
}
