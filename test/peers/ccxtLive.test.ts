/**
 * The class of CCXT against a real exchange: every method that `has` claims is called, and its structures are checked.
 * A method that is claimed and not called here fails the last test.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { loadCcxt, NO_CCXT } from '../support/ccxtPeer.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';
import * as shapes from './ccxtShapes.ts';
import { readFixtures, StaticRecorder } from './ccxtStatic.ts';
import { makeOwner, type Owner, pmxOf } from './ccxtWorld.ts';

const server = await sharedServer();
const called = new Set<string>(['createLimitOrder', 'createMarketOrder', 'prediction', 'ws']);
const skip = NO_CCXT;
const PATIENCE = { timeout: 120_000 };
const recorder = new StaticRecorder(server.baseUrl);
const opened: Json[] = [];
after(() => Promise.all(opened.map((exchange) => exchange.close())));

/** Notes each method that is called. */
async function exchangeOf(owner?: Owner): Promise<Json> {
  const exchange = await pmxOf(server, owner);
  opened.push(exchange);
  const recorded = recorder.wrap(exchange);
  return new Proxy(exchange, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      called.add(String(name));
      return recorded(String(name), value.bind(target));
    },
  });
}

type World = { market: OrderMarket; exchange: Json; open: Json; yes: string; no: string; other: Trader };
let world: Promise<World> | undefined;

/** An account behind the class, another one that trades with it, and a market of an event. */
async function makeWorld(): Promise<World> {
  const owner = await makeOwner(server);
  const event = await server.admin.createEvent({ title: 'The weather of tomorrow', category: 'Weather' });
  const market = await makeMarket(server, { title: 'Will it snow in Ulm?', event_id: event.id });
  const [exchange, open] = [await exchangeOf(owner), await exchangeOf()];
  const rows: Json[] = await open.fetchMarkets({ query: 'snow Ulm' });
  const found = rows.find(({ id }) => id === market.id);
  const [yes, no] = found.outcomes.map(({ outcome }: Json) => outcome);
  return { market, exchange, open, yes, no, other: await makeTrader(server, { requestsPerSecond: 1000 }) };
}

async function theWorld(): Promise<World> {
  world ??= makeWorld();
  return world;
}

test('markets, events and outcomes are found, with their precision, limits and fees', {
  skip,
  ...PATIENCE,
}, async () => {
  const { open, yes, no, market } = await theWorld();
  for (const row of await open.fetchMarkets()) shapes.assertMarket(open, row);
  const events: Json[] = await open.fetchEvents({ query: 'weather' });
  const event = events.find(({ title }) => title === 'The weather of tomorrow');
  shapes.assertEvent(open, event);
  assert.deepEqual(
    event.markets.map(({ id }: Json) => id),
    [market.id],
  );
  shapes.assertEvent(open, await open.fetchEvent(event.slug));
  assert.equal((await open.fetchEvent(event.id)).slug, event.slug, 'by the id of one that is known');

  const cold = await exchangeOf();
  assert.deepEqual((await cold.fetchOutcome(no)).info, { market_id: market.id, outcome_index: 1 }, 'by its handle');
  const byToken = await exchangeOf();
  const outcome = await byToken.fetchOutcome(market.yes_token_id);
  assert.equal(outcome.outcome, yes, 'by its token');
  assert.deepEqual(outcome.precision, { amount: 0.0001, price: 0.01 });
  const { limits, taker, tickSize } = byToken.market(outcome.market);
  assert.deepEqual([limits.price, taker, tickSize], [{ min: 0.01, max: 0.99 }, 0.005, 0.01]);
  const { ccxt } = await loadCcxt();
  await assert.rejects(open.fetchOutcome('NO_SUCH_MARKET_12345678:YES'), ccxt.BadSymbol);
  assert.equal((await open.fetchStatus()).status, 'ok');
  assert.ok(Math.abs((await open.fetchTime()) - Date.now()) < 60_000);
});

test('orders are placed, changed and cancelled, one and many, and read back', { skip, ...PATIENCE }, async () => {
  const { exchange, yes, no } = await theWorld();
  const placed = await exchange.createOrder(yes, 'limit', 'buy', 10.00005, 0.4, { clientOrderId: 'first' });
  shapes.assertOrder(exchange, placed, 'open');
  assert.deepEqual([placed.amount, placed.remaining, placed.clientOrderId], [10, 10, 'first'], 'cut off at the lot');
  const read = await exchange.fetchOrder(placed.id);
  shapes.assertOrder(exchange, read, 'open');
  assert.deepEqual([read.price, read.amount, read.side, read.outcome, read.timeInForce], [0.4, 10, 'buy', yes, 'GTC']);

  const edited = await exchange.editOrder(placed.id, yes, 'limit', 'buy', 5, 0.41, { postOnly: true });
  shapes.assertOrder(exchange, edited, 'open');
  assert.notEqual(edited.id, placed.id);
  const refused = { outcome: no, type: 'limit', side: 'sell', amount: 1, price: 0.5 };
  const batch = await exchange.createOrders([
    { outcome: yes, type: 'limit', side: 'buy', amount: 3, price: 0.3 },
    { outcome: no, type: 'limit', side: 'buy', amount: 3, price: 0.2, params: { timeInForce: 'PO' } },
    refused,
  ]);
  shapes.assertOrder(exchange, batch[0], 'open');
  shapes.assertOrder(exchange, batch[1], 'open');
  assert.deepEqual([batch[2].status, batch[2].info.code], ['rejected', 'INSUFFICIENT_BALANCE']);

  const open: Json[] = await exchange.fetchOpenOrders(yes);
  assert.deepEqual(new Set(open.map(({ id }) => id)), new Set([edited.id, batch[0].id]));
  for (const order of open) shapes.assertOrder(exchange, order, 'open');
  const all = async (): Promise<Json[]> => exchange.fetchOpenOrders();
  await eventually('the list has all three', async () => (await all()).length === 3);
  assert.deepEqual((await exchange.cancelOrder(batch[0].id)).status, 'canceled');
  const cancelled = await exchange.cancelOrders([batch[1].id, placed.id]);
  assert.deepEqual(
    cancelled.map(({ status, info }: Json) => [status, info.code]),
    [
      ['canceled', undefined],
      [undefined, 'ORDER_NOT_CANCELLABLE'],
    ],
  );
  assert.equal((await exchange.cancelAllOrders(no))[0].info.cancelled, 0);
  assert.equal((await exchange.cancelAllOrders())[0].info.cancelled, 1);
  const closed = await eventually('the four have ended', async () => {
    const rows: Json[] = await exchange.fetchClosedOrders();
    return rows.length === 4 && rows;
  });
  for (const order of closed as Json[]) shapes.assertOrder(exchange, order, 'canceled');
  assert.equal((await exchange.fetchOrders(yes)).length, 3);
  assert.equal((await exchange.fetchOrders(undefined, undefined, 2)).length, 2);
});

test('an order that the exchange or the grid refuses rejects, and leaves nothing', { skip, ...PATIENCE }, async () => {
  const { exchange, open, yes } = await theWorld();
  const { ccxt } = await loadCcxt();
  const refused: [Json, string, string, number, number | undefined, Json][] = [
    [ccxt.InvalidOrder, 'limit', 'buy', 10, 0.405, {}],
    [ccxt.InvalidOrder, 'limit', 'buy', 10, 1, {}],
    [ccxt.InvalidOrder, 'limit', 'buy', 0, 0.4, {}],
    [ccxt.InvalidOrder, 'limit', 'buy', 0.00001, 0.4, {}],
    [ccxt.InvalidOrder, 'stop', 'buy', 10, 0.4, {}],
    [ccxt.InvalidOrder, 'limit', 'long', 10, 0.4, {}],
    [ccxt.InvalidOrder, 'limit', 'buy', 10, 0.4, { postonly: true }],
    [ccxt.InvalidOrder, 'limit', 'buy', 10, 0.4, { timeInForce: 'DAY' }],
    [ccxt.InvalidOrder, 'limit', 'buy', 10, 0.4, { timeInForce: 'GTD' }],
    [ccxt.InvalidOrder, 'market', 'buy', 10, 0.4, { timeInForce: 'GTC' }],
    [ccxt.ArgumentsRequired, 'limit', 'buy', 10, undefined, {}],
    [ccxt.InsufficientFunds, 'limit', 'buy', 100_000, 0.4, {}],
    [ccxt.InsufficientFunds, 'limit', 'sell', 10, 0.4, {}],
    [ccxt.OrderNotFillable, 'limit', 'buy', 10, 0.01, { timeInForce: 'IOC' }],
    [ccxt.OrderNotFillable, 'limit', 'buy', 10, 0.01, { timeInForce: 'FOK' }],
  ];
  for (const [kind, type, side, amount, price, params] of refused) {
    const row = JSON.stringify([type, side, amount, price, params]);
    await assert.rejects(exchange.createOrder(yes, type, side, amount, price, params), kind, row);
  }
  const unknown = `0x${'1'.repeat(64)}`;
  await assert.rejects(exchange.fetchOrder(unknown), ccxt.OrderNotFound);
  await assert.rejects(exchange.cancelOrder(unknown), ccxt.OrderNotFound);
  await assert.rejects(open.fetchBalance(), ccxt.AuthenticationError);
  assert.deepEqual(await exchange.fetchOpenOrders(yes), []);
});

test('trades, positions, balances, tickers, books and candles agree', { skip, ...PATIENCE }, async () => {
  const { exchange, open, market, yes, no, other } = await theWorld();
  await other.place(market, { outcomeIndex: 1, price: '0.55', size: '20' });
  await other.place(market, { outcomeIndex: 0, price: '0.40', size: '6' });
  const bought = await exchange.createOrder(yes, 'market', 'buy', 12, 0.5);
  shapes.assertOrder(exchange, bought, 'closed');
  assert.deepEqual([bought.filled, bought.average, bought.cost], [12, 0.45, 5.4]);
  const book = await open.fetchOrderBook(yes);
  shapes.assertBook(open, book);
  assert.deepEqual([book.bids, book.asks], [[[0.4, 6]], [[0.45, 8]]]);
  const books = await open.fetchOrderBooks([yes, no], 5);
  for (const row of Object.values(books)) shapes.assertBook(open, row);
  assert.deepEqual([books[no].bids, books[no].asks], [[[0.55, 8]], [[0.6, 6]]]);

  const mine = await eventually('the trade is listed', async () => {
    const rows: Json[] = await exchange.fetchMyTrades(yes);
    return rows.length === 1 && rows[0];
  });
  shapes.assertTrade(exchange, mine);
  assert.deepEqual([mine.side, mine.price, mine.amount, mine.takerOrMaker], ['buy', 0.45, 12, 'taker']);
  assert.deepEqual([mine.order, mine.fee], [bought.id, { cost: 0.06, currency: yes }]);
  const candles = await eventually('a candle', async () => {
    const rows: Json[] = await open.fetchOHLCV(no, '1h');
    return rows.length === 1 && rows;
  });
  for (const candle of candles as Json[]) shapes.assertCandle(candle);
  assert.deepEqual((candles as Json[])[0].slice(1), [0.55, 0.55, 0.55, 0.55, 12]);
  assert.deepEqual(await open.fetchOHLCV(yes, '1m', Date.now() - 10 * 86_400_000, 5), []);
  for (const [outcome, side, price] of [
    [yes, 'buy', 0.45],
    [no, 'sell', 0.55],
  ] as const) {
    const [trade] = await open.fetchTrades(outcome);
    shapes.assertTrade(open, trade);
    assert.deepEqual([trade.id, trade.side, trade.price, trade.outcome], [mine.id, side, price, outcome]);
    const ticker = await eventually('its ticker', async () => {
      const row = await open.fetchTicker(outcome);
      return row.baseVolume === 12 && row;
    });
    shapes.assertTicker(open, ticker);
    const { [outcome]: same } = open.indexBy(Object.values(await open.fetchTickers([outcome])), 'outcome');
    const { info: _, timestamp, datetime, ...shown } = ticker;
    const { info: __, timestamp: ___, datetime: ____, ...computed } = same;
    assert.deepEqual(computed, shown, 'the ticker of No is the mirror of that of Yes');
  }
  for (const ticker of Object.values(await open.fetchTickers())) shapes.assertTicker(open, ticker);
  assert.equal((await open.fetchOpenInterest(yes)).openInterestAmount, 12);

  const positions = await eventually('the position', async () => {
    const rows: Json[] = await exchange.fetchPositions([yes]);
    return rows.length === 1 && rows;
  });
  for (const position of positions as Json[]) shapes.assertPosition(position);
  const position = await exchange.fetchPosition(yes);
  assert.deepEqual([position.outcome, position.side], [yes, 'long']);
  assert.equal((await exchange.fetchPosition(no)).contracts, 0);
  const balance = await exchange.fetchBalance();
  shapes.assertBalance(balance, 'USDC');
  shapes.assertBalance(balance, yes);
  assert.equal(balance[yes].total, position.contracts);
  assert.equal(balance.USDC.total, 994.6);
  const fee = await exchange.fetchTradingFee(yes);
  assert.deepEqual([fee.maker, fee.taker, fee.outcome], [0.005, 0.005, yes]);
});

test('the book, trades, orders and balance are watched', { skip, ...PATIENCE }, async () => {
  const { exchange, open, market, yes, no, other } = await theWorld();
  const first = await open.watchOrderBook(no);
  shapes.assertBook(open, first);
  assert.deepEqual([first.bids.length, first.asks.length], [1, 1]);
  const next = open.watchOrderBook(no, 1);
  const orders = exchange.watchOrders(yes);
  const trades = open.watchTrades(no);
  const mine = exchange.watchMyTrades();
  const balance = exchange.watchBalance();
  const isOpen = (): boolean => Object.values(exchange.clients).some((client: Json) => client.isConnected === true);
  await eventually('the private socket is open', async () => isOpen());
  await other.place(market, { price: '0.42', size: '5' });
  const cut = await next;
  shapes.assertBook(open, cut);
  assert.deepEqual([cut.bids, cut.asks], [[[0.55, 8]], [[0.58, 5]]], 'a level of Yes is one of No');

  const sold = await exchange.createOrder(yes, 'limit', 'sell', 4, 0.42);
  shapes.assertOrder(exchange, sold, 'closed');
  const [order] = await orders;
  shapes.assertOrder(exchange, order, 'closed');
  assert.deepEqual([order.id, order.filled, order.average], [sold.id, 4, 0.42]);
  const [trade] = await trades;
  shapes.assertTrade(open, trade);
  assert.deepEqual([trade.side, trade.price, trade.amount], ['buy', 0.58, 4]);
  const [own] = await mine;
  shapes.assertTrade(exchange, own);
  assert.deepEqual(
    [own.id, own.order, own.price, own.fee],
    [trade.id, sold.id, 0.42, { cost: 0.0084, currency: 'USDC' }],
  );
  const money = await balance;
  shapes.assertBalance(money, 'USDC');
  assert.equal(money.USDC.total, 996.2716);
});

test('every method that `has` claims was called', { skip }, async () => {
  const { pmx } = await loadCcxt();
  assert.deepEqual(
    Object.keys(new pmx({}).capabilities()).filter((name) => !called.has(name)),
    [],
  );
});

test('the static fixtures have every method that one request answers (CCXT_STATIC=write)', { skip }, async () => {
  const { exchange, market } = await theWorld();
  if (process.env['CCXT_STATIC'] === 'write') recorder.write(exchange, market.id);
  for (const kind of ['request', 'response'] as const) {
    const { methods } = readFixtures(kind);
    assert.deepEqual(
      [...recorder.methods].filter((name) => !Object.hasOwn(methods, name)),
      [],
    );
  }
});
