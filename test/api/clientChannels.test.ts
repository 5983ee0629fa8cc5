/** Changes, tickers and candles of the client over lines that lose frames and end, and over kill -9 (RULES.md 8.23). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { CandleEvent, MarketChangeEvent, TickerEvent } from '../../shared/client/stream/channelStream.ts';
import { ExchangeStream, StreamError } from '../../shared/client/stream/exchangeStream.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/random.ts';
import { sharedServer } from '../support/server.ts';
import { StreamProxy } from '../support/streamProxy.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const SEED = 823;
const UNKNOWN = '01900000-0000-7000-8000-000000000000';
const server = await sharedServer();
const [maker, taker] = [await makeTrader(server), await makeTrader(server)];
const market = await makeMarket(server);
const TIMES = { firstRetryMs: 2, mostRetryMs: 20 };

async function trade(): Promise<void> {
  const makers = maker.reconnected();
  await makers.place(market, { price: '0.65', size: '2' });
  await taker.reconnected().place(market, { outcomeIndex: 1, price: '0.35', size: '2' });
}

test(`every change is delivered once and in order, whatever the line loses (seed ${SEED})`, async (t) => {
  const random = new Random(SEED);
  const proxy = await StreamProxy.start(t, () => server.baseUrl);
  const stream = new ExchangeStream({ baseUrl: proxy.baseUrl, times: TIMES });
  t.after(() => stream.close());
  const [changes, tickers, candles]: [MarketChangeEvent[], TickerEvent[], CandleEvent[]] = [[], [], []];
  const all = stream.openMarketChanges({ all: true, onEvent: (event) => changes.push(event) });
  const live = stream.openTickers({ all: true, onEvent: (event) => tickers.push(event) });
  const markets = [market.id];
  const series = stream.openCandles({ markets, interval: '1m', onEvent: (event) => candles.push(event) });
  assert.throws(() => stream.openTickers({ all: true }), /open already/);
  await eventually('all are live', async () => all.isLive && live.isLive && series.isLive && all.states.has(market.id));
  proxy.fate = (text) => (text.includes('"channel":"market"') && random.below(4) === 0 ? null : text);
  for (let fee = 1; fee <= 30; fee++) {
    await server.admin.patchMarket(market.id, { fee_bps: fee });
    if (fee % 10 === 5) proxy.cut();
  }
  proxy.fate = (text) => text;
  await eventually('the last change', async () => all.isLive && all.states.get(market.id)?.data.fee_bps === 30);
  const fees = changes.flatMap((event) => (event.type === 'change' ? [event.frame.data.fee_bps] : []));
  assert.deepEqual(
    fees,
    Array.from({ length: 30 }, (_, at) => at + 1),
    `seed ${SEED}`,
  );
  await server.admin.patchMarket(market.id, { fee_bps: 50 });
  await trade();
  await eventually('the trade', async () => live.tickers.get(market.id)?.trades === 1);
  await server.kill();
  await server.start();
  await trade();
  await server.admin.patchMarket(market.id, { status: 'locked' });
  const come = () => [
    all.states.get(market.id)?.data.status,
    live.tickers.get(market.id)?.trades,
    sum(candles),
    [all, live, series].map(({ isLive }) => isLive),
    candles.slice(-6),
  ];
  await eventually(
    () => `all of it: ${JSON.stringify(come())}`,
    async () => {
      const [status, trades, ofCandles] = come();
      return status === 'locked' && trades === 2 && ofCandles === 2;
    },
  );
  assert.ok(changes.some(({ type }) => type === 'stale'));
  // The ticker of the lock comes with its next round.
  await eventually('the newest ticker', async () =>
    isDeepStrictEqual(live.tickers.get(market.id), await maker.reconnected().client.ticker(market.id)),
  );
  const closed = candles.flatMap((e) => (e.type === 'candle' && !e.frame.data.is_open ? [e.frame.data.start] : []));
  assert.deepEqual(closed, [...new Set(closed)].sort());
});

/** Trades in the newest states of all candles. */
function sum(events: readonly CandleEvent[]): number {
  const byStart = new Map<number, number>();
  for (const event of events) if (event.type === 'candle') byStart.set(event.frame.data.start, event.frame.data.trades);
  return [...byStart.values()].reduce((total, trades) => total + trades, 0);
}

test('a selection that the exchange refuses ends its stream alone', async (t) => {
  const stream = new ExchangeStream({ baseUrl: server.baseUrl, times: TIMES });
  t.after(() => stream.close());
  const wrong = stream.openMarketChanges({ markets: [UNKNOWN] });
  const right = stream.openTickers({ markets: [market.id] });
  await assert.rejects(async () => {
    for await (const event of wrong) assert.ok(event.type !== 'change');
  }, StreamError);
  for await (const event of right) if (event.type === 'ticker') break;
  right.close();
  stream.openTickers({ markets: [market.id] }).close();
});
