/** The book of a market, level by level or order by order (RULES.md 7.5). */
import type { Clock } from '../../shared/clock.ts';
import { OUTCOME, type Outcome } from '../../shared/codes.ts';
import type { Catalog, MarketEntry } from '../control/catalog.ts';
import { ok } from '../respond.ts';
import type { Route } from '../route.ts';
import { bookLevels } from '../views/bookLevels.ts';
import { bookOrders } from '../views/bookOrders.ts';
import type { Views } from '../views/index.ts';
import { requireMarketParam } from './pathParams.ts';
import { RenderedBooks } from './renderedBooks.ts';

export type BookDeps = { readonly views: Views; readonly catalog: Catalog; readonly clock: Clock };

type BookQuery = {
  readonly outcome_index: Outcome;
  readonly levels: number;
  readonly both: boolean;
  readonly l3: boolean;
};

const BOOK_QUERY = {
  type: 'object',
  properties: {
    outcome_index: { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO], default: OUTCOME.YES },
    levels: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    both: { type: 'boolean', default: false },
    l3: { type: 'boolean', default: false },
  },
};

/** Books of one depth: of either outcome and of both, by level and by order. */
const BOOKS_PER_DEPTH = 6;
const BOTH_BOOKS = 2;
const BY_ORDER = 3;

export function bookRoutes(deps: BookDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/orders/book/:market_id',
      access: 'public',
      limit: 'unlisted',
      query: BOOK_QUERY,
      handler: bookHandler(deps),
    },
  ];
}

function bookHandler({ catalog, views, clock }: BookDeps): Route['handler'] {
  const rendered = new RenderedBooks();
  return (call) => {
    const market = requireMarketParam(call, { catalog, views }, 'market_id');
    if (market === null) return;
    const query = call.query as BookQuery;
    const sequence = views.markets.sequence(market.index);
    const render = (): object => bookAnswer(views, market, query, sequence);
    ok(call, rendered.show(market.index, variantOf(query), sequence, clock.nowMs(), render));
  };
}

function variantOf({ outcome_index, levels, both, l3 }: BookQuery): number {
  return levels * BOOKS_PER_DEPTH + (both ? BOTH_BOOKS : outcome_index) + (l3 ? BY_ORDER : 0);
}

function bookAnswer(views: Views, market: MarketEntry, query: BookQuery, sequence: number): object {
  const { outcome_index, levels, both, l3 } = query;
  const book = views.books.of(market.index);
  const orders = views.orders[market.shard]!;
  const bookOf = (outcome: Outcome): object =>
    l3 ? bookOrders(book, orders, outcome, levels) : bookLevels(book, outcome, levels);
  if (!both) return { market_id: market.id, outcome_index, ...bookOf(outcome_index), sequence };
  return { market_id: market.id, outcome_0: bookOf(OUTCOME.YES), outcome_1: bookOf(OUTCOME.NO), sequence };
}
