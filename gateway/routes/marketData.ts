/** A market's grid, fees and best prices. */
import type { Clock } from '../../shared/clock.ts';
import { OUTCOME, type Outcome } from '../../shared/codes.ts';
import { ERRORS } from '../../shared/errors.ts';
import { midpointToDecimal, spreadBpsHalfUp, spreadToDecimal, tickToPrice } from '../../shared/units.ts';
import type { Call } from '../call.ts';
import type { MarketEntry } from '../control/catalog.ts';
import { fail, ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { bestTicks } from '../views/bookLevels.ts';
import { NO_TICK } from '../views/books.ts';
import type { Views } from '../views/index.ts';
import { type MarketDeps, requireMarketParam } from './pathParams.ts';
import { RenderedBooks } from './renderedBooks.ts';

export type MarketDataDeps = MarketDeps & { readonly clock: Clock };

const OUTCOME_QUERY = {
  type: 'object',
  properties: {
    outcome_index: { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO], default: OUTCOME.YES },
  },
};

const MAX_BBO = 50;
const BBO_BODY = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['market_id', 'outcome_index'],
    properties: {
      market_id: { type: 'string' },
      outcome_index: { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO] },
    },
  },
};

const PUBLIC_READ = { method: 'GET', access: 'public', limit: 'unlisted' } as const;

export function marketDataRoutes(deps: MarketDataDeps): Route[] {
  const show = bboRenderer(deps);
  return [
    {
      ...PUBLIC_READ,
      path: '/v1/market-data/:market_id/tick-size',
      handler: forMarket(deps, (market) => tickSize(market)),
    },
    {
      ...PUBLIC_READ,
      access: 'read:account',
      path: '/v1/market-data/:market_id/fee-rate',
      handler: forMarket(deps, (market) => feeRate(market, deps.views.markets.feeBps(market.index))),
    },
    { ...PUBLIC_READ, path: '/v1/market-data/:market_id/bbo', query: OUTCOME_QUERY, handler: bboHandler(deps, show) },
    {
      method: 'POST',
      access: 'public',
      limit: 'bestPrices',
      path: '/v1/market-data/bbo',
      body: BBO_BODY,
      handler: manyBboHandler(deps, show),
    },
    {
      ...PUBLIC_READ,
      path: '/v1/market-data/:market_id/spread',
      query: OUTCOME_QUERY,
      handler: forMarket(deps, (market, outcome) => spread(deps.views, market, outcome)),
    },
    {
      ...PUBLIC_READ,
      path: '/v1/market-data/:market_id/midpoint',
      query: OUTCOME_QUERY,
      handler: forMarket(deps, (market, outcome) => midpoint(deps.views, market, outcome)),
    },
  ];
}

function forMarket(deps: MarketDataDeps, show: (market: MarketEntry, outcome: Outcome) => object): Route['handler'] {
  return (call: Call) => {
    const market = requireMarketParam(call, deps, 'market_id');
    if (market !== null) ok(call, show(market, call.query['outcome_index'] as Outcome));
  };
}

function tickSize(market: MarketEntry): object {
  return {
    market_id: market.id,
    tick_size: tickToPrice(1, market.ticksPerUnit),
    ticks_per_unit: market.ticksPerUnit,
    lot_size_atomic: String(market.ticksPerUnit),
    min_order_size_atomic: String(market.minOrderAtomic),
  };
}

/** One rate for both roles (RULES.md 2). */
function feeRate(market: MarketEntry, feeBps: number): object {
  const percent = `${feeBps / 100}%`;
  return {
    market_id: market.id,
    maker_fee_bps: feeBps,
    taker_fee_bps: feeBps,
    maker_fee_pct: percent,
    taker_fee_pct: percent,
  };
}

/** Prices of an empty side, and whatever would need them, are null (RULES.md 1). */
function quote(views: Views, market: MarketEntry, outcome: Outcome) {
  const { bid, ask } = bestTicks(views.books.of(market.index), outcome);
  const { ticksPerUnit } = market;
  const isTwoSided = bid !== NO_TICK && ask !== NO_TICK;
  return {
    best_bid: bid === NO_TICK ? null : tickToPrice(bid, ticksPerUnit),
    best_ask: ask === NO_TICK ? null : tickToPrice(ask, ticksPerUnit),
    spread: isTwoSided ? spreadToDecimal(bid, ask, ticksPerUnit) : null,
    spread_bps: isTwoSided ? spreadBpsHalfUp(bid, ask) : null,
    midpoint: isTwoSided ? midpointToDecimal(bid, ask, ticksPerUnit) : null,
  };
}

/** JSON of the best prices. */
type ShowBbo = (market: MarketEntry, outcome: Outcome) => string;

function bboRenderer({ views, clock }: MarketDataDeps): ShowBbo {
  const rendered = new RenderedBooks();
  return (market, outcome) => {
    const nowSec = Math.floor(clock.nowMs() / 1000);
    const render = (): object => bbo(views, market, outcome);
    return rendered.show(market.index, outcome, views.markets.sequence(market.index), nowSec, render);
  };
}

function bboHandler(deps: MarketDataDeps, show: ShowBbo): Route['handler'] {
  return (call) => {
    const market = requireMarketParam(call, deps, 'market_id');
    if (market !== null) ok(call, show(market, call.query['outcome_index'] as Outcome));
  };
}

/** All of one moment, in the order they were asked for; one unknown market refuses them all, and is named. */
function manyBboHandler({ catalog, views }: MarketDataDeps, show: ShowBbo): Route['handler'] {
  return (call) => {
    const asked = call.json as readonly { market_id: string; outcome_index: Outcome }[];
    if (asked.length === 0) {
      fail(call, ERRORS.VALIDATION_ERROR, { message: 'no markets provided' });
      return;
    }
    if (asked.length > MAX_BBO) {
      fail(call, ERRORS.INVALID_REQUEST, { message: `too many markets (max ${MAX_BBO})` });
      return;
    }
    const texts: string[] = [];
    for (const [index, { market_id, outcome_index }] of asked.entries()) {
      const market = catalog.byId(market_id.toLowerCase());
      if (market === undefined || !views.markets.has(market.index)) {
        const details = { field: `${index}.market_id`, rule: 'known', value: market_id.slice(0, 100) };
        fail(call, ERRORS.MARKET_NOT_FOUND, { details });
        return;
      }
      texts.push(show(market, outcome_index));
    }
    ok(call, `{"markets":[${texts.join(',')}]}`);
  };
}

function bbo(views: Views, market: MarketEntry, outcome: Outcome): object {
  const { best_bid, best_ask, spread, midpoint } = quote(views, market, outcome);
  return { market_id: market.id, outcome_index: outcome, best_bid, best_ask, spread, midpoint };
}

function spread(views: Views, market: MarketEntry, outcome: Outcome): object {
  const { best_bid, best_ask, spread, spread_bps } = quote(views, market, outcome);
  return { market_id: market.id, outcome_index: outcome, spread, spread_bps, best_bid, best_ask };
}

function midpoint(views: Views, market: MarketEntry, outcome: Outcome): object {
  return { market_id: market.id, outcome_index: outcome, midpoint: quote(views, market, outcome).midpoint };
}
