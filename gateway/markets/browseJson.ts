/** The events of a page of `browse`, each with the counts and groups of its markets (RULES.md 12.34 and 12.35). */
import type { BrowseQuery } from '../../shared/api/browse.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { sumToDecimal } from '../../shared/base/units.ts';
import type { EventEntry, MarketEntry } from './catalog.ts';
import { deployStatus } from './deployments.ts';
import { ENUMERATIONS, marketsOf, typeOf } from './enumerations.ts';
import { eventOf, featuredJson, groupRows, separated } from './eventJson.ts';
import type { LiveScores } from './liveScores.ts';
import type { MarketResponses } from './marketJson.ts';
import type { PageQuotes } from './quotesJson.ts';
import { coreLines } from './tiles.ts';

export type Tile = {
  readonly event: EventEntry;
  /** Every market except mirrors and novelties: these are counted. */
  readonly all: readonly MarketEntry[];
  /** The listed markets, before and after the trim. */
  readonly listed: readonly MarketEntry[];
  readonly shown: readonly MarketEntry[];
};

export type BrowsePage = {
  readonly tiles: readonly Tile[];
  readonly total: number;
  readonly isFloor: boolean;
};

/** Where an event is rendered from, besides the catalogue. */
export type BrowseParts = { readonly responses: MarketResponses; readonly liveScores: Pick<LiveScores, 'of'> };

/** The status filter that lists open events with open markets. */
export const OPEN_EVENTS = 'active';

export function tileOf(event: EventEntry, query: BrowseQuery, responses: MarketResponses): Tile {
  const all = marketsOf(event, ENUMERATIONS.browse, responses);
  const listed = query.status === OPEN_EVENTS ? marketsOf(event, ENUMERATIONS.browseOpen, responses) : all;
  return { event, all, listed, shown: isTrimmed(query) ? coreLines(listed) : listed };
}

/** The page as a client receives it; without quotes if it did not ask for them or there are none. */
export function* browseRows(
  page: BrowsePage,
  query: BrowseQuery,
  parts: BrowseParts,
  quotes: PageQuotes | null,
): Generator<string> {
  let separator = '{"events":[';
  for (const tile of page.tiles) {
    yield separator;
    yield* tileRows(tile, query, parts, quotes);
    separator = ',';
  }
  const { limit, offset } = query;
  const total = `"total":${page.total},"limit":${limit},"offset":${offset}`;
  yield `${separator === ',' ? '' : separator}],${total}${page.isFloor ? ',"count_is_estimate":true' : ''}`;
  if (quotes !== null) {
    yield ',';
    yield* quotes.members();
  }
  yield '}';
}

function* tileRows(
  { event, all, listed, shown }: Tile,
  query: BrowseQuery,
  { responses, liveScores }: BrowseParts,
  quotes: PageQuotes | null,
): Generator<string> {
  const form = isTrimmed(query) ? 'trimmed' : 'whole';
  const head = {
    ...eventOf(event),
    ...(isTrimmed(query) ? { external_event_id: undefined } : {}),
    ...playersOf(event),
    market_count_total: all.length,
    market_count_tradeable: all.filter((market) => responses.statusOf(market) === MARKET_STATUS.ACTIVE).length,
    market_count_deployed: all.filter((market) => deployStatus(market) === 'deployed').length,
    market_type_count: new Set(listed.map(typeOf)).size,
    total_volume: sumToDecimal(all.reduce((sum, market) => sum + responses.volumeMicro(market), 0n)),
    live: liveScores.of(event.index),
  };
  yield `${JSON.stringify(head).slice(0, -1)},`;
  yield* groupRows(shown, responses, form);
  yield `,"featured_market":${featuredJson(shown, responses, form)}`;
  if (quotes !== null) {
    yield ',"quotes":{';
    yield* separated(shown.map(({ id }) => `"${id}":${quotes.quoteOf(id)}`));
    yield '}';
  }
  yield '}';
}

/** The players of a game of one against another. */
function playersOf({ details }: EventEntry): object {
  const { sport_league, sport_teams, home_player_full_name, away_player_full_name } = details;
  if (sport_league === null || sport_teams?.length !== 2) return {};
  return {
    home_player_full_name: home_player_full_name ?? undefined,
    away_player_full_name: away_player_full_name ?? undefined,
  };
}

function isTrimmed({ home, core_lines }: BrowseQuery): boolean {
  return home || core_lines;
}
