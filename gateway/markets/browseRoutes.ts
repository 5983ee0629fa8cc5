/** `GET /v1/events/browse`: pages of many events with their markets and quotes (RULES.md 12.34 to 12.37). */
import { BROWSE_QUERY, BROWSED, type BrowseQuery } from '../../shared/api/browse.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Askers } from '../base/askers.ts';
import type { Config } from '../base/config.ts';
import type { Call } from '../http/call.ts';
import { okKept, type TextsInTurns } from '../http/pieces.ts';
import { RefusedError, unlessRefused } from '../http/refused.ts';
import { type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import { type BrowsePage, type BrowseParts, browseRows, OPEN_EVENTS, type Tile, tileOf } from './browseJson.ts';
import type { Catalog } from './catalog.ts';
import type { Indications } from './indications.ts';
import { PageQuotes } from './quotesJson.ts';
import type { MarketReads } from './reads.ts';

type BrowseDeps = BrowseParts & {
  readonly config: Pick<Config, 'quoteProvider'>;
  readonly catalog: Pick<Catalog, 'events' | 'revisions'>;
  readonly views: Pick<Views, 'books' | 'isWhole' | 'markets'>;
  readonly indications: Pick<Indications, 'of'>;
  readonly queries: Pick<MarketReads, 'ofCatalog' | 'ofPublic'>;
  readonly sharedAnswers: SharedAnswers;
  readonly texts: TextsInTurns;
  readonly clock: Clock;
};

const KEPT_MS = 5000;

const BROWSE_EVENTS = {
  method: 'GET',
  path: '/v1/events/browse',
  id: 'browseEvents',
  summary: 'Events with the counts and groups of their markets, and with quotes if asked for.',
  access: 'public',
  query: BROWSE_QUERY,
  answers: { 200: BROWSED },
  errors: ['SEARCH_TOO_BROAD', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function browseRoutes(deps: BrowseDeps): Route[] {
  const browsing = new Browsing(deps);
  return [
    route(BROWSE_EVENTS, async (call) => {
      const body = await unlessRefused(call, browsing.answer(call, call.query));
      if (body !== undefined) deps.sharedAnswers.send(call, body, okKept);
    }),
  ];
}

class Browsing {
  readonly #deps: BrowseDeps;

  constructor(deps: BrowseDeps) {
    this.#deps = deps;
  }

  /** After a change of the catalogue a new answer is made, so that changes show at once; only prices may be old. */
  answer(call: Call, query: BrowseQuery): Buffer | null | Promise<Buffer | null> {
    const { catalog, views, sharedAnswers } = this.#deps;
    const state = `${catalog.revisions.current} ${views.markets.listChanges}`;
    const key = `browse ${JSON.stringify(Object.entries(query).sort())}`;
    return sharedAnswers.get(call, key, KEPT_MS, (askers) => this.#compute(askers, query), state);
  }

  async #compute(askers: Askers, query: BrowseQuery): Promise<Buffer | null> {
    const { catalog, clock, queries, texts } = this.#deps;
    const found = await queries.ofCatalog(askers, catalog.revisions.current, 'browse', {
      status: query.status === OPEN_EVENTS ? null : query.status,
      category: query.category ?? null,
      league: query.sport_league ?? null,
      search: query.search ?? null,
      isRanked: query.home,
      sort: query.sort,
      nowMs: clock.nowMs(),
      limit: query.limit,
      offset: query.offset,
    });
    if (!found.ok) return null;
    if (found.value === null) throw new RefusedError(ERRORS.SEARCH_TOO_BROAD);
    const { rows, total, isFloor } = found.value;
    const page = { tiles: await this.#tiles(rows, query), total, isFloor };
    const quotes = query.quotes ? await this.#quotes(askers, page) : null;
    if (quotes !== null && query.quotes_only) return texts.join(quotes.alone());
    return texts.join(browseRows(page, query, this.#deps, quotes));
  }

  async #tiles(events: readonly number[], query: BrowseQuery): Promise<Tile[]> {
    const { catalog, responses, texts } = this.#deps;
    const tiles: Tile[] = [];
    const collect = function* (): Generator<string> {
      for (const event of events) {
        tiles.push(tileOf(catalog.events[event], query, responses));
        yield '';
      }
    };
    await texts.join(collect());
    return tiles;
  }

  /** Null if no provider is configured or it cannot answer now: the page is then answered without quotes. */
  async #quotes(askers: Askers, { tiles }: BrowsePage): Promise<PageQuotes | null> {
    const { config, clock, views, queries, indications, texts } = this.#deps;
    if (config.quoteProvider === 'none' || !views.isWhole) return null;
    const markets = tiles.flatMap(({ shown }) => shown);
    const nowMs = clock.nowMs();
    const task = { markets: markets.map(({ index }) => index), leftSinceMs: null, nowMs };
    const days = await queries.ofPublic(askers, 'marketDaysOf', task);
    if (!days.ok) return null;
    const quotes = new PageQuotes({ views, indications }, nowMs);
    await texts.join(quotes.collect(markets, days.value));
    return quotes;
  }
}
