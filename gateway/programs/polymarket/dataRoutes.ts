/** Answers that need no key: time, books, prices and their past. */
import type { Clock } from '../../../shared/base/clock.ts';
import type { ExchangeClient } from '../../../shared/client/client.ts';
import type { CandlesQuery } from '../../../shared/client/types.ts';
import { type Best, bookJson, midpointOf, priceText, type Sides, spreadOf } from './bookJson.ts';
import type { Catalogue, Token } from './catalogue.ts';
import { type Asked, jsonOf, listOf, objectOf, Refusal, type Route } from './reply.ts';

const MOST_LEVELS = 100;
/** Books and prices of so many tokens at once. */
const MOST_TOKENS = 500;
const AT_ONCE = 16;
const MINUTE_SEC = 60;
const DAY_SEC = 86_400;
const INTERVALS: Readonly<Record<string, number>> = {
  '1h': 3600,
  '6h': 6 * 3600,
  '1d': DAY_SEC,
  '1w': 7 * DAY_SEC,
  '1m': 30 * DAY_SEC,
};
const CANDLES = { 1: '1m', 5: '5m', 15: '15m', 60: '1h', 240: '4h', 1440: '1d' } as const;
const MOST_CANDLES = 1000;

export class MarketData {
  readonly #reads: ExchangeClient;
  readonly #catalogue: Catalogue;

  constructor(reads: ExchangeClient, catalogue: Catalogue) {
    this.#reads = reads;
    this.#catalogue = catalogue;
  }

  async sides(token: Token): Promise<Sides & { readonly timestamp: number }> {
    return this.#reads.book(token.listed.market.id, { outcome_index: token.outcome, levels: MOST_LEVELS });
  }

  async best({ listed, outcome }: Token): Promise<Best> {
    const { best_bid, best_ask } = await this.#reads.bbo(listed.market.id, { outcome_index: outcome });
    return { bid: best_bid, ask: best_ask };
  }

  /** Null before the first trade. */
  async last({ listed, outcome }: Token): Promise<string | null> {
    const { last_price } = await this.#reads.ticker(listed.market.id, { outcome_index: outcome });
    return last_price === null ? null : priceText(last_price, listed);
  }

  async book(token: Token): Promise<object> {
    const [sides, last] = await Promise.all([this.sides(token), this.last(token)]);
    return bookJson(token, sides, sides.timestamp, last ?? '');
  }

  /** Of the query's token; a market that is no longer traded still has one. */
  asked({ query }: Asked): Promise<Token> {
    const id = query.get('token_id');
    if (id === null || !isTokenId(id)) throw new Refusal(400, 'Invalid token id');
    return this.#catalogue.token(id);
  }

  /** The tokens of a list in a body; those that are unknown are left out, as clients expect. */
  async listed(asked: Asked): Promise<readonly { readonly token: Token; readonly side: string }[]> {
    const rows = listOf(jsonOf(asked), MOST_TOKENS).map(objectOf);
    const found: { token: Token; side: string }[] = [];
    for (const { token_id: id, side } of rows) {
      if (typeof id !== 'string' || !isTokenId(id)) throw new Refusal(400, 'Invalid payload: token_id');
      const token = await this.#catalogue.token(id).catch((error: unknown) => {
        if (error instanceof Refusal) return null;
        throw error;
      });
      if (token !== null) found.push({ token, side: typeof side === 'string' ? side : '' });
    }
    return found;
  }

  async history({ query }: Asked, clock: Clock): Promise<object> {
    const id = query.get('market') ?? '';
    if (!isTokenId(id)) throw new Refusal(400, 'market: expected the id of a token');
    const token = await this.#catalogue.token(id);
    const { from, to } = rangeOf(query, clock);
    const fidelity = Math.max(1, wholeOf(query, 'fidelity') ?? 1);
    const candles = await this.#candles(token, { interval: intervalFor(fidelity, to - from), from, to });
    const history = candles.flatMap(({ start, close }) => (close === null ? [] : [{ t: start, p: Number(close) }]));
    return { history };
  }

  async #candles({ listed, outcome }: Token, range: Pick<CandlesQuery, 'interval'> & { from: number; to: number }) {
    const { interval, from, to } = range;
    const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();
    const query = { interval, outcome_index: outcome, from: iso(from), to: iso(to), limit: MOST_CANDLES } as const;
    return (await this.#reads.candles(listed.market.id, query)).candles;
  }
}

export function dataRoutes(data: MarketData, clock: Clock): readonly Route[] {
  const get = (path: string, answer: (token: Token, asked: Asked) => Promise<object>): Route => ({
    ...{ method: 'GET', path },
    answer: async (asked) => answer(await data.asked(asked), asked),
  });
  type Each<T> = (token: Token, side: string) => Promise<T>;
  const many = <T>(path: string, each: Each<T>, make: (rows: T[]) => unknown): Route => ({
    ...{ method: 'POST', path },
    answer: async (asked) => {
      const rows = await data.listed(asked);
      return make(await inTurns(rows, ({ token, side }) => each(token, side)));
    },
  });
  return [
    { method: 'GET', path: '/', answer: () => 'OK' },
    { method: 'GET', path: '/ok', answer: () => 'OK' },
    { method: 'GET', path: '/time', answer: () => Math.floor(clock.nowMs() / 1000) },
    get('/book', (token) => data.book(token)),
    many(
      '/books',
      (token) => data.book(token),
      (rows) => rows,
    ),
    get('/midpoint', async (token) => ({ mid: known(midpointOf(await data.best(token), token)) })),
    many('/midpoints', async (token) => [token.tokenId, midpointOf(await data.best(token), token)] as const, present),
    get('/spread', async (token) => ({ spread: known(spreadOf(await data.best(token), token)) })),
    many('/spreads', async (token) => [token.tokenId, spreadOf(await data.best(token), token)] as const, present),
    get('/price', async (token, { query }) => ({
      price: known(priceOf(await data.best(token), query.get('side'), token)),
    })),
    many(
      '/prices',
      async (token, side) => [token.tokenId, side, priceOf(await data.best(token), side, token)] as const,
      (rows) => {
        const prices: Record<string, Record<string, string>> = {};
        for (const [id, side, price] of rows) if (price !== null) prices[id] = { ...prices[id], [side]: price };
        return prices;
      },
    ),
    get('/last-trade-price', async (token) => ({ price: (await data.last(token)) ?? '0.5', side: '' })),
    many(
      '/last-trades-prices',
      async (token) => ({ token_id: token.tokenId, price: (await data.last(token)) ?? '0.5', side: '' }),
      (rows) => rows,
    ),
    get('/tick-size', async ({ listed }) => ({ minimum_tick_size: Number(listed.tick) })),
    get('/neg-risk', async () => ({ neg_risk: false })),
    get('/fee-rate', async ({ listed }) => ({ base_fee: listed.market.fee_bps })),
    { method: 'GET', path: '/prices-history', answer: (asked) => data.history(asked, clock) },
  ];
}

/** BUY is the best price that buyers bid, SELL the best at which sellers offer. */
function priceOf({ bid, ask }: Best, side: string | null, { listed }: Token): string | null {
  if (side !== 'BUY' && side !== 'SELL') throw new Refusal(400, 'Invalid side');
  const price = side === 'BUY' ? bid : ask;
  return price === null ? null : priceText(price, listed);
}

function known(value: string | null): string {
  if (value === null) throw new Refusal(404, 'No orders found on a side of the orderbook');
  return value;
}

function present(rows: readonly (readonly [string, string | null])[]): object {
  return Object.fromEntries(rows.filter(([, value]) => value !== null));
}

function isTokenId(text: string): boolean {
  return /^\d{1,78}$/.test(text);
}

/** Up to AT_ONCE at a time, in their order. */
async function inTurns<T, R>(rows: readonly T[], work: (row: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    results.push(...(await Promise.all(rows.slice(from, from + AT_ONCE).map(work))));
  }
  return results;
}

function wholeOf(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  if (!/^\d{1,12}$/.test(text)) throw new Refusal(400, `${name}: expected a whole number`);
  return Number(text);
}

function rangeOf(query: URLSearchParams, clock: Clock): { readonly from: number; readonly to: number } {
  const nowSec = Math.floor(clock.nowMs() / 1000);
  const [startTs, endTs] = [wholeOf(query, 'startTs'), wholeOf(query, 'endTs')];
  const interval = query.get('interval');
  if (interval === 'max') return { from: 0, to: nowSec + MINUTE_SEC };
  if (interval !== null) {
    const seconds = INTERVALS[interval];
    if (seconds === undefined) throw new Refusal(400, 'interval: expected max, 1m, 1w, 1d, 6h or 1h');
    return { from: nowSec - seconds, to: nowSec + MINUTE_SEC };
  }
  if (startTs === null) throw new Refusal(400, 'prices-history: expected an interval, or startTs and endTs');
  return { from: startTs, to: endTs ?? nowSec + MINUTE_SEC };
}

/** The shortest candle of at least so many minutes that covers the range within one answer. */
function intervalFor(minutes: number, seconds: number): (typeof CANDLES)[keyof typeof CANDLES] {
  const found = Object.entries(CANDLES).find(
    ([length]) => Number(length) >= minutes && seconds / (Number(length) * MINUTE_SEC) <= MOST_CANDLES,
  );
  return found?.[1] ?? '1d';
}
