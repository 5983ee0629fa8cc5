/** The tickers of one market and of all (RULES.md 13.14). */
import { OUTCOME_QUERY } from '../../shared/api/books.ts';
import { TICKER, TICKERS } from '../../shared/api/tickers.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { isDecided, OUTCOME } from '../../shared/base/codes.ts';
import type { Askers } from '../base/askers.ts';
import { okTagged, tagOf } from '../http/entityTags.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import type { TextsInTurns } from '../http/pieces.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { SharedAnswers } from '../http/sharedAnswers.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { DayTrade } from './dayTradingQueries.ts';
import type { MarketReads } from './reads.ts';
import { type MarketDeps, requireMarket } from './requireMarket.ts';
import type { TickerTexts } from './summaryTickerTexts.ts';

type TickerDeps = MarketDeps & {
  readonly queries: Pick<MarketReads, 'ofPublic'>;
  readonly sharedAnswers: SharedAnswers;
  readonly texts: TextsInTurns;
  readonly tickers: TickerTexts;
  readonly clock: Clock;
};

/** One second, and two more for each ten thousand markets, whose document takes a while. */
const LEAST_KEPT_MS = 1000;
const KEPT_MS_PER_MARKET = 0.2;
/** A decided market takes about 20 ns. */
const MARKETS_PER_ROW = 256;

const READ = { method: 'GET', access: 'public' } as const;

const SHOW_TICKER = {
  ...READ,
  path: '/v1/markets/:id/ticker',
  id: 'getTicker',
  summary: 'The last price, the trading of 24 hours and the best prices of one outcome of a market.',
  params: ID_PARAM,
  query: OUTCOME_QUERY,
  answers: { 200: TICKER },
  errors: ['MARKET_NOT_FOUND', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

const LIST_TICKERS = {
  ...READ,
  path: '/v1/tickers',
  id: 'listTickers',
  summary: 'The tickers of Yes of every market that is not decided, each of one moment.',
  hasEntityTag: true,
  answers: { 200: TICKERS, 304: {} },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function tickerRoutes(deps: TickerDeps): Route[] {
  const { tickers } = deps;
  return [
    route(SHOW_TICKER, (call) => showTicker(call, deps, tickers)),
    route(LIST_TICKERS, async (call) => {
      const compute = (askers: Askers): Promise<Buffer | null> => listTickers(askers, deps, tickers);
      const keptMs = LEAST_KEPT_MS + KEPT_MS_PER_MARKET * deps.views.markets.count;
      const body = await deps.sharedAnswers.get(call, 'tickers', keptMs, compute);
      deps.sharedAnswers.send(call, body, (_, bytes) => okTagged(call, bytes, tagOf(bytes)));
    }),
  ];
}

async function showTicker(call: CallOf<typeof SHOW_TICKER>, deps: TickerDeps, tickers: TickerTexts): Promise<void> {
  const market = requireMarket(call, deps, call.params.id);
  if (market === null) return;
  call.readsPast();
  const task = { market: market.index, nowMs: deps.clock.nowMs() };
  const result = await deps.queries.ofPublic(call, 'marketDay', task);
  if (result.ok) ok(call, tickers.text(market.index, call.query.outcome_index, result.value));
  else refuse(call, { row: result.row });
}

async function listTickers(askers: Askers, deps: TickerDeps, tickers: TickerTexts): Promise<Buffer | null> {
  const result = await deps.queries.ofPublic(askers, 'marketDays', { nowMs: deps.clock.nowMs() });
  if (!result.ok) return null;
  const { traded, lastYesTicks } = result.value;
  const byMarket = new Map(traded.map((trade) => [trade.market, trade]));
  return deps.texts.join(tickerRows(deps, tickers, byMarket, lastYesTicks));
}

function* tickerRows(
  { views: { markets } }: TickerDeps,
  tickers: TickerTexts,
  traded: ReadonlyMap<number, DayTrade>,
  lastYesTicks: Uint32Array,
): Generator<string> {
  yield '{"tickers":[';
  let separator = '';
  for (let market = 0; market < markets.count; market++) {
    const isListed = markets.has(market) && !isDecided(markets.status(market));
    if (isListed) {
      const day = { traded: traded.get(market) ?? null, lastYesTicks: lastYesTicks[market] ?? 0 };
      yield separator + tickers.text(market, OUTCOME.YES, day);
      separator = ',';
    } else {
      tickers.forget(market);
      if (market % MARKETS_PER_ROW === 0) yield '';
    }
  }
  yield ']}';
}
