/** The book of a market, level by level or order by order (RULES.md 7.5). */
import { ANY_BOOK, BOOK_QUERY } from '../../shared/api/books.ts';
import type { FromSchema } from '../../shared/api/schema.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { MARKET_ID_PARAM } from '../http/pathParams.ts';
import { okBytes, okInRows } from '../http/respond.ts';
import { type Handler, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { bookLevels } from '../shardlink/bookLevels.ts';
import { BookOrders, type BookTexts, makeBookTexts } from '../shardlink/bookOrders.ts';
import type { Views } from '../shardlink/views.ts';
import type { TradedMarket } from './catalogEntries.ts';
import { RenderedBooks } from './renderedBooks.ts';
import { type MarketDeps, requireMarket } from './requireMarket.ts';

type BookDeps = MarketDeps<TradedMarket> & { readonly clock: Clock };

type BookQuery = FromSchema<typeof BOOK_QUERY>;

/** Books of one depth: each outcome and both together. */
const BOOKS_PER_DEPTH = 3;
const BOTH_BOOKS = 2;

const SHOW_BOOK = {
  method: 'GET',
  path: '/v1/orders/book/:market_id',
  id: 'getBook',
  summary: 'The book of a market: one outcome or both, by level or (`l3`) by order.',
  access: 'public',
  params: MARKET_ID_PARAM,
  query: BOOK_QUERY,
  answers: { 200: ANY_BOOK },
  errors: ['MARKET_NOT_FOUND'],
} as const satisfies RouteSpec;

export function bookRoutes(deps: BookDeps): Route[] {
  return [route(SHOW_BOOK, bookHandler(deps))];
}

function bookHandler({ catalog, views, clock }: BookDeps): Handler<typeof SHOW_BOOK> {
  const rendered = new RenderedBooks();
  const texts = makeBookTexts();
  return (call) => {
    const market = requireMarket(call, { catalog, views }, call.params.market_id);
    if (market === null) return;
    const { query } = call;
    const sequence = views.markets.sequence(market.index);
    if (query.l3) return okInRows(call, rowsOf(views, market, query, sequence, clock.nowMs(), texts));
    const render = (): object => bookAnswer(views, market, query, sequence);
    okBytes(call, rendered.bytes(market.index, variantOf(query), sequence, clock.nowMs(), render));
  };
}

function variantOf({ outcome_index, levels, both }: BookQuery): number {
  return levels * BOOKS_PER_DEPTH + (both ? BOTH_BOOKS : outcome_index);
}

function bookAnswer(views: Views, market: TradedMarket, query: BookQuery, sequence: number): object {
  const { outcome_index, levels, both } = query;
  const book = views.books.of(market.index);
  const bookOf = (outcome: Outcome): object => bookLevels(book, outcome, levels);
  if (!both) return { market_id: market.id, outcome_index, ...bookOf(outcome_index), sequence };
  return { market_id: market.id, outcome_0: bookOf(OUTCOME.YES), outcome_1: bookOf(OUTCOME.NO), sequence };
}

/** A book order by order, of any length: it is written in pieces, and each order's text is cached. */
function rowsOf(
  views: Views,
  market: TradedMarket,
  { outcome_index, levels, both }: BookQuery,
  sequence: number,
  timestamp: number,
  texts: BookTexts,
): Iterator<string> {
  // The orders are copied now; their texts are made only while they are written.
  const orders = new BookOrders(views.books.of(market.index), views.orders[market.shard], levels, texts);
  return (function* (): Generator<string> {
    if (both) {
      yield `{"market_id":"${market.id}","outcome_0":{`;
      yield* orders.members(OUTCOME.YES);
      yield '},"outcome_1":{';
      yield* orders.members(OUTCOME.NO);
      yield '}';
    } else {
      yield `{"market_id":"${market.id}","outcome_index":${outcome_index},`;
      yield* orders.members(outcome_index);
    }
    yield `,"sequence":${sequence},"timestamp":${timestamp}}`;
  })();
}
