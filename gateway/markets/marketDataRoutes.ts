/** Routes for a market's grid, fees and best prices. */
import { OUTCOME_QUERY } from '../../shared/api/books.ts';
import {
  BBO,
  BBOS,
  BBOS_BODY,
  FEE_RATE,
  type FeeRate,
  MIDPOINT,
  SPREAD,
  TICK_SIZE,
  type TickSize,
} from '../../shared/api/markets.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Outcome } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { spreadBpsHalfUp, tickToPrice } from '../../shared/base/units.ts';
import { MARKET_ID_PARAM } from '../http/pathParams.ts';
import { ok, okBytes, refuse } from '../http/respond.ts';
import { type CallOf, type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { bestTicks } from '../shardlink/bookLevels.ts';
import { bookPrices } from '../shardlink/prices.ts';
import type { Views } from '../shardlink/views.ts';
import type { TradedMarket } from './catalogEntries.ts';
import { RenderedBooks } from './renderedBooks.ts';
import { type MarketDeps, requireMarket } from './requireMarket.ts';

type MarketDataDeps = MarketDeps<TradedMarket> & { readonly clock: Clock };

const MAX_BBO = 50;
const READ = { method: 'GET', params: MARKET_ID_PARAM, errors: ['MARKET_NOT_FOUND'] } as const;

const SHOW_TICK_SIZE = {
  ...READ,
  path: '/v1/market-data/:market_id/tick-size',
  id: 'getTickSize',
  summary: 'The grid of a market: its price step, its lot and its smallest order.',
  access: 'public',
  answers: { 200: TICK_SIZE },
} as const satisfies RouteSpec;

const SHOW_FEE_RATE = {
  ...READ,
  path: '/v1/market-data/:market_id/fee-rate',
  id: 'getFeeRate',
  summary: 'The fee rate that orders of a market are signed with.',
  access: 'read:account',
  answers: { 200: FEE_RATE },
} as const satisfies RouteSpec;

const SHOW_BBO = {
  ...READ,
  path: '/v1/market-data/:market_id/bbo',
  id: 'getBestPrices',
  summary: 'The best bid and offer of one outcome.',
  access: 'public',
  query: OUTCOME_QUERY,
  answers: { 200: BBO },
} as const satisfies RouteSpec;

const SHOW_BBOS = {
  method: 'POST',
  path: '/v1/market-data/bbo',
  id: 'getManyBestPrices',
  summary: 'The best bids and offers of up to 50 outcomes, all of one moment.',
  changes: false,
  access: 'public',
  limit: 'bestPrices',
  body: BBOS_BODY,
  answers: { 200: BBOS },
  errors: ['VALIDATION_ERROR', 'INVALID_REQUEST', 'MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

const SHOW_SPREAD = {
  ...READ,
  path: '/v1/market-data/:market_id/spread',
  id: 'getSpread',
  summary: 'The distance between the best bid and offer of one outcome.',
  access: 'public',
  query: OUTCOME_QUERY,
  answers: { 200: SPREAD },
} as const satisfies RouteSpec;

const SHOW_MIDPOINT = {
  ...READ,
  path: '/v1/market-data/:market_id/midpoint',
  id: 'getMidpoint',
  summary: 'The price halfway between the best bid and offer of one outcome.',
  access: 'public',
  query: OUTCOME_QUERY,
  answers: { 200: MIDPOINT },
} as const satisfies RouteSpec;

export function marketDataRoutes(deps: MarketDataDeps): Route[] {
  const { views } = deps;
  const shown = new ShownBbos(deps);
  return [
    route(SHOW_TICK_SIZE, (call) => answerFor(call, deps, (market) => tickSize(market))),
    route(SHOW_FEE_RATE, (call) => {
      answerFor(call, deps, (market) => feeRate(market, views.markets.feeBps(market.index)));
    }),
    route(SHOW_BBO, bboHandler(deps, shown)),
    route(SHOW_BBOS, manyBboHandler(deps, shown)),
    route(SHOW_SPREAD, (call) => answerFor(call, deps, (market) => spread(views, market, call.query.outcome_index))),
    route(SHOW_MIDPOINT, (call) => {
      answerFor(call, deps, (market) => midpoint(views, market, call.query.outcome_index));
    }),
  ];
}

type MarketCall = CallOf<typeof SHOW_TICK_SIZE | typeof SHOW_FEE_RATE | typeof SHOW_SPREAD | typeof SHOW_MIDPOINT>;

function answerFor(call: MarketCall, deps: MarketDataDeps, show: (market: TradedMarket) => object): void {
  const market = requireMarket(call, deps, call.params.market_id);
  if (market !== null) ok(call, show(market));
}

function tickSize(market: TradedMarket): TickSize {
  return {
    market_id: market.id,
    tick_size: tickToPrice(1, market.ticksPerUnit),
    ticks_per_unit: market.ticksPerUnit,
    lot_size_atomic: String(market.ticksPerUnit),
    min_order_size_atomic: String(market.minOrderAtomic),
  };
}

/** One rate for both roles (RULES.md 2). */
function feeRate(market: TradedMarket, feeBps: number): FeeRate {
  const percent = `${feeBps / 100}%`;
  return {
    market_id: market.id,
    maker_fee_bps: feeBps,
    taker_fee_bps: feeBps,
    maker_fee_pct: percent,
    taker_fee_pct: percent,
  };
}

function quote(views: Views, market: TradedMarket, outcome: Outcome) {
  return bookPrices(views.books.of(market.index), outcome, market.ticksPerUnit);
}

/** JSON of the best prices. */
class ShownBbos {
  readonly #rendered = new RenderedBooks();
  readonly #deps: MarketDataDeps;

  constructor(deps: MarketDataDeps) {
    this.#deps = deps;
  }

  text(market: TradedMarket, outcome: Outcome): string {
    return this.#rendered.show(market.index, outcome, this.#sequence(market), this.#nowSec(), () =>
      bbo(this.#deps.views, market, outcome),
    );
  }

  bytes(market: TradedMarket, outcome: Outcome): Buffer {
    return this.#rendered.bytes(market.index, outcome, this.#sequence(market), this.#nowSec(), () =>
      bbo(this.#deps.views, market, outcome),
    );
  }

  #sequence(market: TradedMarket): number {
    return this.#deps.views.markets.sequence(market.index);
  }

  #nowSec(): number {
    return Math.floor(this.#deps.clock.nowMs() / 1000);
  }
}

function bboHandler(deps: MarketDataDeps, shown: ShownBbos): Handler<typeof SHOW_BBO> {
  return (call) => {
    const market = requireMarket(call, deps, call.params.market_id);
    if (market !== null) okBytes(call, shown.bytes(market, call.query.outcome_index));
  };
}

/**
 * Answers the prices of all requested markets as of one moment, in the order of the request; an unknown market refuses
 * the whole request, and the details name it.
 */
function manyBboHandler({ catalog, views }: MarketDataDeps, shown: ShownBbos): Handler<typeof SHOW_BBOS> {
  return (call) => {
    const requested = call.body;
    if (requested.length === 0) {
      const details = { field: 'body', rule: 'minItems' };
      refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'no markets provided', details });
      return;
    }
    if (requested.length > MAX_BBO)
      return refuse(call, { row: ERRORS.INVALID_REQUEST, message: `too many markets (max ${MAX_BBO})` });
    const texts: string[] = [];
    for (const [index, { market_id, outcome_index }] of requested.entries()) {
      const market = catalog.byId(market_id.toLowerCase());
      if (market === undefined || !views.markets.has(market.index)) {
        const details = { field: `${index}.market_id`, rule: 'known', value: market_id.slice(0, 100) };
        refuse(call, { row: ERRORS.MARKET_NOT_FOUND, details });
        return;
      }
      texts.push(shown.text(market, outcome_index));
    }
    ok(call, `{"markets":[${texts.join(',')}]}`);
  };
}

function bbo(views: Views, market: TradedMarket, outcome: Outcome): object {
  const { best_bid, best_ask, spread, midpoint } = quote(views, market, outcome);
  return { market_id: market.id, outcome_index: outcome, best_bid, best_ask, spread, midpoint };
}

function spread(views: Views, market: TradedMarket, outcome: Outcome): object {
  const { best_bid, best_ask, spread } = quote(views, market, outcome);
  const { bid, ask } = bestTicks(views.books.of(market.index), outcome);
  const spread_bps = spread === null ? null : spreadBpsHalfUp(bid, ask);
  return { market_id: market.id, outcome_index: outcome, spread, spread_bps, best_bid, best_ask };
}

function midpoint(views: Views, market: TradedMarket, outcome: Outcome): object {
  return { market_id: market.id, outcome_index: outcome, midpoint: quote(views, market, outcome).midpoint };
}
