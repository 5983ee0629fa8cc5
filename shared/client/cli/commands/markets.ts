/** Finding markets and events. */
import { CANDLE_INTERVALS } from '../../../api/candles.ts';
import { MARKET_STATUS_NAMES } from '../../../base/codes.ts';
import type { ExchangeClient } from '../../client.ts';
import type { Candles, EventView, Market, MarketEvent, Ticker } from '../../types.ts';
import { command, type OptionSpecs } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { MARKET_WORDS, MarketNames } from '../frame/marketNames.ts';
import { numberOf } from '../frame/orderForm.ts';
import { OUTCOME_OPTION } from '../frame/outcomeNames.ts';
import { columns, decimal, facts, shownPrice } from '../frame/text.ts';

const FILTERS = {
  status: {
    value: 'name',
    description: 'of this status, or all',
    choices: [...MARKET_STATUS_NAMES, 'all'],
    fallback: 'active',
  },
  category: { value: 'name', description: 'of this category' },
  limit: { value: 'number', description: 'how many at most (100)', fallback: '20' },
  offset: { value: 'number', description: 'how many to leave out', fallback: '0' },
} as const satisfies OptionSpecs;

const IDS = { ids: { description: 'print only the ids, one on each line' } } as const satisfies OptionSpecs;

type Filters = {
  readonly status: string;
  readonly category?: string | undefined;
  readonly limit: string;
  readonly offset: string;
};

export const MARKETS = [
  command({
    name: 'markets list',
    summary: 'List markets, those with the most trading first',
    access: 'anyone',
    options: {
      ...FILTERS,
      ...IDS,
      sort: { value: 'field', description: 'total_volume, created_at, trading_ends_at, …', fallback: 'total_volume' },
      order: { value: 'way', description: 'ascending or descending', choices: ['asc', 'desc'] },
    },
    examples: [
      'markets list',
      'markets list --sort created_at --status all',
      'markets list --category Politics --limit 100 --json',
    ],
    json: 'the answer of GET /v1/markets',
    run: async (context, given) => {
      const query = { ...filterQuery(given), sort: given.sort, order: given.order };
      const answer = await (await context.reader()).markets(query);
      return { value: answer, lines: given.ids ? idsOf(answer.markets) : marketLines(answer.markets, answer.total) };
    },
  }),
  command({
    name: 'markets search',
    summary: 'Find markets by words of their title',
    access: 'anyone',
    arguments: { words: { description: 'what to look for', many: true } },
    options: { ...FILTERS, status: { ...FILTERS.status, fallback: 'all' }, ...IDS },
    examples: ['markets search election', 'markets search "super bowl" --status active --json'],
    json: 'the answer of GET /v1/markets?search=',
    run: async (context, given) => {
      const answer = await (await context.reader()).markets({
        ...filterQuery(given),
        search: given.words.join(' '),
        sort: 'total_volume',
      });
      return { value: answer, lines: given.ids ? idsOf(answer.markets) : marketLines(answer.markets, answer.total) };
    },
  }),
  command({
    name: 'markets show',
    summary: 'Show a market: its question, its grid, its fee and its best prices',
    access: 'anyone',
    arguments: { market: { description: MARKET_WORDS } },
    examples: ['markets show MARKET', 'markets show MARKET --json'],
    json: '`{market, tick_size, bbo}`: the answers of the three routes',
    run: async (context, { market: named }) => {
      const client = await context.reader();
      const id = await context.marketId(named);
      const [market, tick_size, bbo] = await Promise.all([client.market(id), client.tickSize(id), client.bbo(id)]);
      const lines = facts([
        ['question', market.title],
        ['status', market.status],
        ['outcomes', market.outcomes.join(' / ')],
        ['best bid, ask', `${shownPrice(bbo.best_bid) ?? '-'}, ${shownPrice(bbo.best_ask) ?? '-'}`],
        ['tick, lot', `${tick_size.tick_size} USDC, ${decimal(tick_size.lot_size_atomic)} tokens`],
        ['smallest size', `${decimal(tick_size.min_order_size_atomic)} tokens`],
        ['fee', `${decimal(market.fee_bps * 10_000)}%`],
        ['volume', `${market.total_volume} USDC`],
        ['trading ends', market.trading_ends_at],
        ['category', market.category],
        ['event', market.event_id],
        ['market', market.id],
        ['rules', market.description],
      ]);
      return { value: { market, tick_size, bbo }, lines };
    },
  }),
  command({
    name: 'markets candles',
    summary: 'Show the trading of a market by interval: prices, tokens, USDC and number of trades',
    access: 'anyone',
    arguments: { market: { description: MARKET_WORDS } },
    options: {
      interval: { value: 'span', description: 'the length of a candle', choices: CANDLE_INTERVALS, fallback: '1h' },
      outcome: { ...OUTCOME_OPTION, fallback: 'yes' },
      from: { value: 'time', description: 'intervals that start then or later (2026-10-01T12:00:00Z)' },
      to: { value: 'time', description: 'intervals that start before this time' },
      limit: { value: 'number', description: 'how many at most (1000), the newest', fallback: '24' },
    },
    examples: ['markets candles MARKET', 'markets candles MARKET --interval 1d --from 2026-10-01 --limit 100 --json'],
    json: 'the answer of GET /v1/markets/{id}/candles',
    run: async (context, { market, interval, outcome, from, to, limit }) => {
      const id = await context.marketId(market);
      const answer = await (await context.reader()).candles(id, {
        ...{ interval, outcome_index: await context.outcome(id, outcome) },
        ...{ from, to, limit: numberOf('limit', limit) },
      });
      return { value: answer, lines: candleLines(answer) };
    },
  }),
  command({
    name: 'markets ticker',
    summary: 'Show the last price of a market, its 24 hours and its best prices, or those of all markets',
    access: 'anyone',
    arguments: { market: { description: `${MARKET_WORDS}; without it all that are not decided`, optional: true } },
    options: {
      outcome: { ...OUTCOME_OPTION, fallback: 'yes' },
    },
    examples: ['markets ticker', 'markets ticker MARKET --outcome no --json'],
    json: 'the answer of GET /v1/markets/{id}/ticker, or of GET /v1/tickers',
    run: async (context, { market, outcome }) => {
      const client = await context.reader();
      if (market === undefined) {
        const answer = await client.tickers();
        return { value: answer, lines: await tickerLines(context, client, answer.tickers) };
      }
      const id = await context.marketId(market);
      const answer = await client.ticker(id, { outcome_index: await context.outcome(id, outcome) });
      return { value: answer, lines: await tickerLines(context, client, [answer]) };
    },
  }),
  command({
    name: 'markets categories',
    summary: 'List the categories, and how many markets there are',
    access: 'anyone',
    json: 'the answer of GET /v1/markets/metadata',
    run: async (context) => {
      const answer = await (await context.reader()).marketsMetadata();
      const lines = [...answer.categories, `${answer.active_markets} of ${answer.total_markets} markets are active`];
      return { value: answer, lines };
    },
  }),
];

export const EVENTS = [
  command({
    name: 'events list',
    summary: 'List events',
    access: 'anyone',
    options: {
      ...FILTERS,
      status: { value: 'name', description: 'of this status, or all', fallback: 'all' },
      search: { value: 'words', description: 'by words of the title' },
    },
    examples: ['events list --category Sports', 'events list --search final --json'],
    json: 'the answer of GET /v1/events',
    run: async (context, given) => {
      const answer = await (await context.reader()).events({ ...filterQuery(given), search: given.search });
      const rows = answer.events.map((event: MarketEvent) => [event.slug, event.status, event.category, event.title]);
      const lines = [...columns(['event', 'status', 'category', 'title'], rows, 'no events'), `${answer.total} in all`];
      return { value: answer, lines };
    },
  }),
  command({
    name: 'events show',
    summary: 'Show an event and its markets',
    access: 'anyone',
    arguments: { slug: { description: 'the name of the event in addresses, as the list shows it' } },
    examples: ['events show general-election'],
    json: 'the answer of GET /v1/events/{slug}/view',
    run: async (context, { slug }) => {
      const answer = await (await context.reader()).eventView(slug);
      const head = facts([
        ['event', answer.title],
        ['status', answer.status],
        ['category', answer.category],
      ]);
      const lines = [...head, ...marketLines(answer.markets, answer.markets.length), ...impliedLines(answer)];
      return { value: answer, lines };
    },
  }),
];

function filterQuery({ status, category, limit, offset }: Filters) {
  return {
    status: status === 'all' ? undefined : status,
    category,
    limit: numberOf('limit', limit),
    offset: numberOf('offset', offset),
  };
}

function idsOf(markets: readonly Market[]): string[] {
  return markets.map(({ id }) => id);
}

/** Returns the prices of a set's markets that follow from the books of the others. */
function impliedLines({ implied_prices: prices, markets }: EventView): string[] {
  if (prices === null) return [];
  const titleOf = (id: string): string => markets.find((market) => market.id === id)?.title ?? id;
  const rows = prices.map(({ market_id, bid, ask }) => [bid ?? '-', ask ?? '-', titleOf(market_id)]);
  return ['', ...columns(['implied bid', 'implied ask', 'question'], rows, 'no prices')];
}

/** An interval without a trade has no prices, and the present interval has a mark. */
function candleLines({ candles }: Candles): string[] {
  const rows = candles.map(({ start, is_open, ...candle }) => [
    `${new Date(start * 1000).toISOString().slice(0, 16)}${is_open ? '…' : ''}`,
    ...[candle.open, candle.high, candle.low, candle.close].map(shownPrice),
    ...[decimal(candle.token_quantity_atomic), decimal(candle.notional_usdc_micro), candle.trades],
  ]);
  return columns(['start (UTC)', 'open', 'high', 'low', 'close', 'tokens', 'USDC', 'trades'], rows, 'no candles');
}

async function tickerLines(context: Context, client: ExchangeClient, tickers: readonly Ticker[]): Promise<string[]> {
  const names = await MarketNames.of(context, client, tickers);
  const rows = tickers.map((ticker) => [
    ...[ticker.last_price, ticker.change, ticker.low, ticker.high].map(shownPrice),
    ...[decimal(ticker.token_quantity_atomic), decimal(ticker.notional_usdc_micro), ticker.trades],
    ...[ticker.best_bid, ticker.best_ask].map(shownPrice),
    ...[decimal(ticker.open_interest_atomic), names.title(ticker.market_id)],
  ]);
  const head = ['last', 'change', 'low', 'high', 'tokens', 'USDC', 'trades', 'bid', 'ask', 'sets', 'market'];
  return columns(head, rows, 'no markets');
}

function marketLines(markets: readonly Market[], total: number): string[] {
  const rows = markets.map((market) => [
    market.id,
    market.status,
    shownPrice(market.current_prices[0]),
    market.total_volume,
    market.title,
  ]);
  const lines = columns(['market', 'status', 'yes', 'volume', 'question'], rows, 'no markets');
  return markets.length < total ? [...lines, `${markets.length} of ${total} markets`] : lines;
}
