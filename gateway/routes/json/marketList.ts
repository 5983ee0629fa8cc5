/**
 * Filters, orders and pages of the market list. The order is total (sort key, then id in the same direction), so paging
 * neither skips nor repeats a market; the keyset cursor of the default order also holds while markets are added.
 */
import type { MARKETS_QUERY } from '../../../shared/api/markets.ts';
import type { FromSchema } from '../../../shared/api/schema.ts';
import { bytesToUuid, UUID_BYTES } from '../../../shared/base/hex.ts';
import type { Catalog, MarketEntry } from '../../store/catalog.ts';
import { deployStatus, type MarketResponses } from './market.ts';

type MarketQuery = FromSchema<typeof MARKETS_QUERY>;

type MarketPage = {
  readonly markets: readonly MarketEntry[];
  readonly total: number;
  /** Null on the last page, and in every order but the default one. */
  readonly nextCursor: string | null;
};

/** Compared only with values of its own key. */
type SortValue = number | bigint | string;
type SortKey = (market: MarketEntry, responses: MarketResponses) => SortValue;

/** The sort keys of the query, but for created_at, which is the order of the catalogue. */
const SORT_KEYS: ReadonlyMap<string, SortKey> = new Map<string, SortKey>([
  ['updated_at', (market) => market.updatedMs],
  ['title', (market) => market.details.title],
  ['trading_starts_at', (market, responses) => responses.startMs(market)],
  ['trading_ends_at', (market, responses) => responses.endMs(market)],
  ['status', (market, responses) => responses.statusName(market)],
  ['total_volume', (market, responses) => responses.volumeMicro(market)],
]);

/** Null when the cursor is not one of this server. */
export function listMarkets(catalog: Catalog, responses: MarketResponses, query: MarketQuery): MarketPage | null {
  const matching = catalog.markets.filter((market) => matches(market, responses, query));
  const found = inOrder(matching, responses, query);
  // An unknown sort falls back to created_at.
  const hasCursor = !SORT_KEYS.has(query.sort) && !isAscending(query);
  let start = Math.min(query.offset, found.length);
  if (hasCursor && query.cursor !== undefined) {
    const last = readCursor(catalog, query.cursor);
    if (last === undefined) return null;
    // Newest first: the page starts with the first market made before the last one shown.
    start = found.findIndex((market) => market.index < last.index);
    if (start < 0) start = found.length;
  }
  const page = found.slice(start, start + query.limit);
  const hasMore = start + page.length < found.length;
  const nextCursor = hasCursor && hasMore && page.length > 0 ? writeCursor(page.at(-1)!) : null;
  return { markets: page, total: found.length, nextCursor };
}

function matches(market: MarketEntry, responses: MarketResponses, query: MarketQuery): boolean {
  if (!responses.isOpen(market)) return false;
  if (query.status !== undefined && responses.statusName(market) !== query.status) return false;
  if (query.category !== undefined && market.details.category !== query.category) return false;
  if (query.deploy_status !== undefined && deployStatus(market) !== query.deploy_status) return false;
  return query.search === undefined || responses.searchText(market).includes(query.search.toLowerCase());
}

function inOrder(markets: MarketEntry[], responses: MarketResponses, query: MarketQuery): MarketEntry[] {
  const direction = isAscending(query) ? 1 : -1;
  const keyOf = SORT_KEYS.get(query.sort);
  // Creation never ties and is the order they come in.
  if (keyOf === undefined) return direction === 1 ? markets : markets.reverse();
  const keyed = markets.map((market) => ({ market, key: keyOf(market, responses) }));
  keyed.sort((a, b) => direction * (compare(a.key, b.key) || compare(a.market.id, b.market.id)));
  return keyed.map(({ market }) => market);
}

/** `order` is in any case. */
function isAscending({ order }: MarketQuery): boolean {
  return order.toLowerCase() === 'asc';
}

function compare(a: SortValue, b: SortValue): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The id of the last market shown, as the bytes of its UUID. */
function writeCursor(market: MarketEntry): string {
  return Buffer.from(market.idBytes).toString('base64url');
}

function readCursor(catalog: Catalog, cursor: string): MarketEntry | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  return bytes.length === UUID_BYTES ? catalog.byId(bytesToUuid(bytes)) : undefined;
}
