/** Markets and events in the two shapes that bots read: that of the CLOB, and that of the catalogue API. */

import { formatUnits } from '../../../shared/client/amounts.ts';
import type { MarketEvent } from '../../../shared/client/types.ts';
import type { Listed } from './catalogue.ts';

const NO_REWARDS = { rates: null, min_size: 0, max_spread: 0 } as const;
const ZERO_HASH = `0x${'0'.repeat(64)}`;
const PPM = 1_000_000;

/** Payouts of a decided market in millionths, Yes first. */
function winners({ market: { payouts } }: Listed): readonly boolean[] {
  return [0, 1].map((outcome) => payouts?.[outcome] === PPM);
}

export function isOpen({ market: { status } }: Listed): boolean {
  return status === 'active';
}

export function isClosed({ market: { status } }: Listed): boolean {
  return status !== 'active' && status !== 'pending' && status !== 'locked';
}

function tokensJson(listed: Listed): readonly object[] {
  const { market, tokens } = listed;
  const won = winners(listed);
  return tokens.map((token_id, outcome) => ({
    token_id,
    outcome: market.outcomes[outcome] ?? (outcome === 0 ? 'Yes' : 'No'),
    price: market.current_prices[outcome === 0 ? '0' : '1'],
    winner: won[outcome],
  }));
}

export function simplifiedJson(listed: Listed): object {
  return {
    condition_id: listed.conditionId,
    rewards: NO_REWARDS,
    tokens: tokensJson(listed),
    active: isOpen(listed),
    closed: isClosed(listed),
    archived: false,
    accepting_orders: isOpen(listed),
  };
}

export function clobMarketJson(listed: Listed): object {
  const { market, tick, leastAtomic } = listed;
  return {
    enable_order_book: true,
    ...simplifiedJson(listed),
    accepting_order_timestamp: market.trading_starts_at,
    minimum_order_size: Number(formatUnits(leastAtomic)),
    minimum_tick_size: Number(tick),
    question_id: market.question_id ?? ZERO_HASH,
    question: market.title,
    description: market.description,
    market_slug: slugOf(listed),
    end_date_iso: market.trading_ends_at,
    game_start_time: null,
    seconds_delay: 0,
    fpmm: '',
    maker_base_fee: market.fee_bps,
    taker_base_fee: market.fee_bps,
    notifications_enabled: true,
    neg_risk: false,
    neg_risk_market_id: '',
    neg_risk_request_id: '',
    icon: '',
    image: '',
    is_50_50_outcome: false,
    tags: [market.category],
  };
}

/**
 * The newer client asks for it before a market order. Its fee formula is one of USDC on top of a buyer's amount, which
 * is nothing here: fees are taken from the asset that an order receives, at the rates of `mbf` and `tbf`.
 */
export function detailsJson(listed: Listed): object {
  const { conditionId, tokens, market, tick, leastAtomic } = listed;
  return {
    c: conditionId,
    t: tokens.map((t, outcome) => ({ t, o: market.outcomes[outcome] })),
    mts: Number(tick),
    mos: Number(formatUnits(leastAtomic)),
    nr: false,
    fd: { r: 0, e: 0, to: false },
    mbf: market.fee_bps,
    tbf: market.fee_bps,
    r: null,
    ao: isOpen(listed),
  };
}

export function slugOf({ market }: Listed): string {
  const words = market.title.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return [...words, market.id.slice(0, 8)].join('-');
}

/** Lists stand in texts of JSON there. */
export function gammaMarketJson(listed: Listed, event: MarketEvent | undefined): object {
  const { market, tokens, conditionId, tick, leastAtomic } = listed;
  const prices = [market.current_prices['0'], market.current_prices['1']].map(String);
  return {
    id: market.id,
    question: market.title,
    conditionId,
    slug: slugOf(listed),
    description: market.description,
    category: market.category,
    startDate: market.trading_starts_at,
    endDate: market.trading_ends_at,
    createdAt: market.created_at,
    updatedAt: market.updated_at,
    outcomes: JSON.stringify(market.outcomes),
    outcomePrices: JSON.stringify(prices),
    clobTokenIds: JSON.stringify(tokens),
    volume: market.total_volume,
    volumeNum: Number(market.total_volume),
    active: isOpen(listed),
    closed: isClosed(listed),
    archived: false,
    acceptingOrders: isOpen(listed),
    enableOrderBook: true,
    orderPriceMinTickSize: Number(tick),
    orderMinSize: Number(formatUnits(leastAtomic)),
    negRisk: false,
    ...(event === undefined ? {} : { events: [eventHead(event)] }),
  };
}

export function gammaEventJson(event: MarketEvent, markets: readonly Listed[]): object {
  return { ...eventHead(event), markets: markets.map((listed) => gammaMarketJson(listed, undefined)) };
}

function eventHead({ id, slug, title, description, status, start_time, image_url, category }: MarketEvent): object {
  const closed = status === 'ended' || status === 'cancelled';
  const about = { id, slug, title, ticker: slug, description, category, image: image_url ?? '' };
  return { ...about, startDate: start_time, active: !closed, closed, archived: false, negRisk: false };
}
