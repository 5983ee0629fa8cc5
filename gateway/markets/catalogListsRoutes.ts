/**
 * The lists of the catalogue (RULES.md 12.1 to 12.9). The read model finds which markets and events are on a page, and
 * the page is rendered from memory. Answers are cached for a while. When their content has changed a new one is made;
 * the old one is returned only while the read model lags too far to check.
 */
import { EVENTS_QUERY, MARKET_EVENTS } from '../../shared/api/events.ts';
import { CATALOG_METADATA, MARKETS, MARKETS_QUERY, SPORTS_TAXONOMY } from '../../shared/api/markets.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { bytesToUuid, UUID_BYTES } from '../../shared/base/hex.ts';
import type { Askers } from '../base/askers.ts';
import type { Call } from '../http/call.ts';
import { okKept, type TextsInTurns } from '../http/pieces.ts';
import { RefusedError, unlessRefused } from '../http/refused.ts';
import { refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog, MarketEntry } from './catalog.ts';
import type { MarketListTask } from './catalogListsQueries.ts';
import { eventOf, separated } from './eventJson.ts';
import type { MarketResponses } from './marketJson.ts';
import type { MarketReads } from './reads.ts';

type ListDeps = {
  readonly catalog: Catalog;
  readonly views: Pick<Views, 'markets'>;
  readonly responses: MarketResponses;
  readonly queries: Pick<MarketReads, 'ofCatalog'>;
  readonly sharedAnswers: SharedAnswers;
  readonly texts: TextsInTurns;
};

/** RULES.md 12.9. */
const KEPT_MS = 60_000;

const READ = { method: 'GET', access: 'public', errors: ['ENGINE_BUSY'] } as const;

const LIST_MARKETS = {
  ...READ,
  path: '/v1/markets',
  id: 'listMarkets',
  summary: 'Markets by status, category or words, newest first unless asked otherwise.',
  limit: 'marketList',
  errors: ['SEARCH_TOO_BROAD', 'ENGINE_BUSY'],
  query: MARKETS_QUERY,
  answers: { 200: MARKETS },
} as const satisfies RouteSpec;

const SHOW_METADATA = {
  ...READ,
  path: '/v1/markets/metadata',
  id: 'getCatalogMetadata',
  summary: 'The categories of the markets, and how many markets there are.',
  answers: { 200: CATALOG_METADATA },
} as const satisfies RouteSpec;

const SHOW_TAXONOMY = {
  ...READ,
  path: '/v1/sports/taxonomy',
  id: 'getSportsTaxonomy',
  summary: 'The leagues of the events and their teams.',
  answers: { 200: SPORTS_TAXONOMY },
} as const satisfies RouteSpec;

const LIST_EVENTS = {
  ...READ,
  path: '/v1/events',
  id: 'listEvents',
  summary: 'Events by status, category or words, newest first.',
  query: EVENTS_QUERY,
  errors: ['SEARCH_TOO_BROAD', 'ENGINE_BUSY'],
  answers: { 200: MARKET_EVENTS },
} as const satisfies RouteSpec;

export function catalogListRoutes(deps: ListDeps): Route[] {
  return [
    route(LIST_MARKETS, (call) => listMarkets(call, deps)),
    route(SHOW_METADATA, (call) => share(call, deps, [], (askers) => showFacts(askers, deps, 'catalogMetadata'))),
    route(SHOW_TAXONOMY, (call) => share(call, deps, [], (askers) => showFacts(askers, deps, 'sportsTaxonomy'))),
    route(LIST_EVENTS, (call) => listEvents(call, deps)),
  ];
}

async function listMarkets(call: CallOf<typeof LIST_MARKETS>, deps: ListDeps): Promise<void> {
  const { catalog, queries, responses } = deps;
  const { limit, category, status, deploy_status, search, ...query } = call.query;
  const sort = toSort(query.sort);
  const descending = query.order.toLowerCase() === 'desc';
  const hasCursor = sort === null && descending;
  let before: number | null = null;
  if (hasCursor && query.cursor !== undefined) {
    before = readCursor(catalog, query.cursor);
    if (before === null) {
      const details = { field: 'cursor', rule: 'known' };
      refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid cursor', details });
      return;
    }
  }
  const task: MarketListTask = {
    category: category ?? null,
    status: status ?? null,
    deployStatus: deploy_status ?? null,
    search: toSearch(search),
    sort,
    descending,
    // Requests one row more than is shown, to see if another page follows.
    limit: limit + 1,
    offset: before === null ? query.offset : 0,
    before,
  };
  await share(call, deps, Object.values(task), async (askers) => {
    const found = await queries.ofCatalog(askers, catalog.revisions.current, 'listMarkets', task);
    if (!found.ok) return null;
    if (found.value === null) throw new RefusedError(ERRORS.SEARCH_TOO_BROAD);
    const shown = found.value.rows.slice(0, limit).map((index) => catalog.byIndex(index));
    const last = found.value.rows.length > limit ? shown.at(-1) : undefined;
    const next_cursor = hasCursor && last !== undefined ? writeCursor(last) : null;
    const page = { ...pageFields(found.value), limit, offset: query.offset, next_cursor };
    // The read model may be slightly ahead of this thread.
    const rows = responses.listJson(shown.filter((market) => responses.isOpen(market)));
    return deps.texts.join(envelopeRows('markets', rows, page));
  });
}

async function listEvents(call: CallOf<typeof LIST_EVENTS>, deps: ListDeps): Promise<void> {
  const { catalog, queries } = deps;
  const { category = null, status = null, search, limit, offset } = call.query;
  const task = { category, status, search: toSearch(search), limit, offset };
  await share(call, deps, Object.values(task), async (askers) => {
    const found = await queries.ofCatalog(askers, catalog.revisions.current, 'listEvents', task);
    if (!found.ok) return null;
    if (found.value === null) throw new RefusedError(ERRORS.SEARCH_TOO_BROAD);
    const page = { ...pageFields(found.value), limit, offset };
    return deps.texts.join(envelopeRows('events', eventTexts(catalog, found.value.rows), page));
  });
}

async function showFacts(
  askers: Askers,
  { catalog, queries }: ListDeps,
  name: 'catalogMetadata' | 'sportsTaxonomy',
): Promise<string | null> {
  const found = await queries.ofCatalog(askers, catalog.revisions.current, name, null);
  return found.ok ? JSON.stringify(found.value) : null;
}

function* eventTexts({ events }: Catalog, indexes: readonly number[]): Generator<string> {
  for (const index of indexes) yield JSON.stringify(eventOf(events[index]));
}

/** An array of texts, followed by the other members of its page. */
function* envelopeRows(name: string, rows: Iterable<string>, page: object): Generator<string> {
  yield `{"${name}":[`;
  yield* separated(rows);
  yield `],${JSON.stringify(page).slice(1)}`;
}

/** Answers with the text of `compute`, or with the cached text of an earlier request with the same question. */
async function share(
  call: Call,
  { catalog, views, sharedAnswers }: ListDeps,
  question: readonly unknown[],
  compute: (askers: Askers) => Promise<string | Buffer | null>,
): Promise<void> {
  const key = JSON.stringify([call.path, ...question]);
  const state = `${catalog.revisions.current} ${views.markets.listChanges}`;
  const body = await unlessRefused(call, sharedAnswers.get(call, key, KEPT_MS, compute, state));
  if (body !== undefined) sharedAnswers.send(call, body, okKept);
}

function pageFields({ total, isFloor }: { readonly total: number; readonly isFloor: boolean }): object {
  return isFloor ? { total, count_is_estimate: true } : { total };
}

const SORTS: ReadonlySet<string> = new Set<NonNullable<MarketListTask['sort']>>([
  'updated_at',
  'title',
  'trading_starts_at',
  'trading_ends_at',
  'status',
  'total_volume',
]);

/** An unknown sort falls back to order of creation. */
function toSort(sort: string): MarketListTask['sort'] {
  return SORTS.has(sort) ? (sort as MarketListTask['sort']) : null;
}

/** An empty search counts as no search. */
function toSearch(search = ''): string | null {
  return search.trim() === '' ? null : search;
}

/** The id of the last market shown, as the bytes of its UUID. */
function writeCursor(market: MarketEntry): string {
  return Buffer.from(market.idBytes).toString('base64url');
}

/** The index of the market, or null if the cursor was not issued by this server. */
function readCursor(catalog: Catalog, cursor: string): number | null {
  const bytes = Buffer.from(cursor, 'base64url');
  return bytes.length === UUID_BYTES ? (catalog.byId(bytesToUuid(bytes))?.index ?? null) : null;
}
