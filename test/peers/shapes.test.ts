/** Requests in the shapes of py-clob-client, the two channels, faults on request, and what is wrong with a request. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';
import { PolymarketBot, PolymarketSocket } from '../support/polymarketBot.ts';
import { startFacade } from '../support/polymarketRig.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const facade = await startFacade({ after }, server);
const NO_NEWS = { custom_feature_enabled: false } as const;
const BID = { side: 'BUY', makerAmount: '4000000', takerAmount: '10000000' } as const;

async function makeScene() {
  const market = await makeMarket(server);
  const bot = await new PolymarketBot(facade.host).signIn();
  const token = market.yes_token_id;
  await eventually(
    'the market is listed',
    async () => (await bot.send('GET', `/tick-size?token_id=${token}`)).status === 200,
  );
  return { market, token, bot, other: await makeTrader(server) };
}

test('an order of the older struct is placed, found, filled and cancelled', async () => {
  const { market, token, bot, other } = await makeScene();
  const placed = await bot.place(token, BID);
  assert.deepEqual([placed.status, placed.body.status], [200, 'live']);
  await other.place(market, { outcomeIndex: 1, price: '0.60', size: '4' });
  const { body: open } = await bot.ask('GET', '/data/orders?next_cursor=MA==');
  assert.deepEqual(
    open.data.map(({ id, size_matched, price }: Json) => [id, size_matched, price]),
    [[placed.body.orderID, '4', '0.40']],
  );
  const { body: trades } = await bot.ask('GET', `/data/trades?asset_id=${token}&next_cursor=MA==`);
  const [{ trader_side, maker_orders }] = trades.data;
  assert.deepEqual(
    [trader_side, maker_orders[0].order_id, maker_orders[0].matched_amount],
    ['MAKER', placed.body.orderID, '4'],
  );
  const cancelled = await bot.ask('DELETE', '/order', { orderID: placed.body.orderID });
  assert.deepEqual(cancelled.body, { canceled: [placed.body.orderID], not_canceled: {} });
  const again = await bot.ask('POST', '/order', await bot.order(token, BID, 'GTC', { salt: 1 }));
  assert.match(again.body.error, /DUPLICATED/);
});

test('an amount of USDC is spent over several levels, but for less than a lot, and never exceeded', async () => {
  const { market, token, bot, other } = await makeScene();
  const levels = ['0.60', '0.57', '0.55', '0.50', '0.45'];
  for (const price of levels) await other.place(market, { outcomeIndex: 1, price, size: '7.5' });
  const before = BigInt((await bot.ask('GET', '/balance-allowance?asset_type=COLLATERAL')).body.balance);
  const { body } = await bot.place(token, { side: 'BUY', makerAmount: '14000000', takerAmount: '20000000' }, 'FOK');
  assert.equal(body.status, 'matched', JSON.stringify(body));
  const after_ = BigInt((await bot.ask('GET', '/balance-allowance?asset_type=COLLATERAL')).body.balance);
  const spent = before - after_;
  // A lot of 0.0001 tokens costs at most 55 millionths where the last level is at 0.55.
  assert.ok(spent <= 14_000_000n && spent > 14_000_000n - 55n, `${spent}`);
  const beyond = await bot.place(token, { side: 'BUY', makerAmount: '14000000', takerAmount: '20000000' }, 'FOK');
  assert.match(beyond.body.error, /FOK_ORDER_NOT_FILLED/);
  assert.equal((await bot.ask('GET', '/balance-allowance?asset_type=COLLATERAL')).body.balance, String(after_));
});

test('the channels have the book, its changes, own orders and each state of a trade', async () => {
  const { market, token, bot, other } = await makeScene();
  const book = new PolymarketSocket(`${bot.socketHost}/ws/market`, { type: 'market', assets_ids: [token] });
  const own = new PolymarketSocket(`${bot.socketHost}/ws/user`, { type: 'user', auth: bot.key, markets: [] });
  for (const socket of [book, own]) await socket.subscribed();
  await eventually('the book has come', async () => book.of('book').length === 1);
  const { body } = await bot.place(token, BID);
  await eventually('the order has come', async () => own.of('order').length === 1);
  await other.place(market, { outcomeIndex: 1, price: '0.60', size: '4' });
  await eventually('the trade has come in each state', async () => own.of('trade').length === 3);
  assert.deepEqual(
    own.of('trade').map(({ status }) => status),
    ['MATCHED', 'MINED', 'CONFIRMED'],
  );
  await bot.ask('DELETE', '/cancel-all');
  await eventually('the end has come', async () => own.of('order').length === 3);
  assert.deepEqual(
    own.of('order').map(({ id, type, size_matched, original_size }) => [id, type, size_matched, original_size]),
    ['PLACEMENT', 'UPDATE', 'CANCELLATION'].map((type, index) => [body.orderID, type, index === 0 ? '0' : '4', '10']),
  );
  await eventually('the level is gone', async () => book.of('price_change').length === 3);
  assert.deepEqual(
    book
      .of('price_change')
      .map(({ price_changes: [{ price, size, side, best_bid }] }) => [price, size, side, best_bid]),
    [
      ['0.40', '10', 'BUY', '0.40'],
      ['0.40', '6', 'BUY', '0.40'],
      ['0.40', '0', 'BUY', ''],
    ],
  );
  const [{ price, size, side }] = book.of('last_trade_price');
  assert.deepEqual([price, size, side], ['0.40', '4', 'SELL']);
  for (const socket of [book, own]) socket.close();
});

test('a reader that asks for it gets the best prices, and the news of markets: new ones, and decisions', async () => {
  const { market, token, bot, other } = await makeScene();
  const at = `${bot.socketHost}/ws/market`;
  const asked = { type: 'market', assets_ids: [token], custom_feature_enabled: true };
  const [reader, plain] = [new PolymarketSocket(at, asked), new PolymarketSocket(at, { ...asked, ...NO_NEWS })];
  for (const socket of [reader, plain]) await socket.subscribed();
  await eventually('the book has come', async () => reader.of('book').length === 1);
  await other.place(market, { price: '0.40', size: '5' });
  await other.place(market, { price: '0.39', size: '5' });
  await other.place(market, { price: '0.41', size: '5' });
  await eventually('both changes of the best price', async () => reader.of('best_bid_ask').length === 2);
  assert.deepEqual(
    reader.of('best_bid_ask').map(({ asset_id, best_bid, best_ask }) => [asset_id, best_bid, best_ask]),
    ['0.40', '0.41'].map((price) => [token, price, '']),
  );
  const opened = await makeMarket(server, { title: 'Is this one new?', ticks_per_unit: 1000 });
  const found = (type: string, id: string) => () => Promise.resolve(reader.of(type).find((row) => row.id === id));
  const news = await eventually('the new market', found('new_market', opened.id));
  assert.deepEqual(
    [news.question, news.assets_ids, news.order_price_min_tick_size, news.outcomes],
    ['Is this one new?', [opened.yes_token_id, opened.no_token_id], '0.001', ['Yes', 'No']],
  );
  await server.admin.resolveMarket(market.id, { outcome_index: 1 });
  const decided = await eventually('the decision', found('market_resolved', market.id));
  assert.deepEqual([decided.winning_asset_id, decided.winning_outcome], [market.no_token_id, 'No']);
  for (const type of ['best_bid_ask', 'new_market', 'market_resolved']) assert.deepEqual(plain.of(type), []);
  for (const socket of [reader, plain]) socket.close();
});

test('a proxy or Safe is that of the first signer who shows an order of it', async () => {
  const { token, bot } = await makeScene();
  const thief = await new PolymarketBot(facade.host).signIn();
  const maker = `0x${'ab'.repeat(19)}${(Date.now() % 256).toString(16).padStart(2, '0')}`;
  const proxied = { maker, signatureType: 1 };
  assert.equal((await bot.place(token, BID, 'GTC', proxied)).body.status, 'live');
  assert.equal((await bot.place(token, BID, 'GTC', proxied)).body.status, 'live');
  assert.match((await thief.place(token, BID, 'GTC', proxied)).body.error, /belongs to another signer/);
  assert.match((await thief.place(token, BID, 'GTC', { maker })).body.error, /has to be the signer/);
  assert.match((await thief.place(token, BID, 'GTC', { maker, signatureType: 3 })).body.error, /type 3/);
});

test('a fault comes when it is asked for, and no oftener', async () => {
  const { market, token, bot, other } = await makeScene();
  const set = (faults: object) => bot.send('POST', '/control/faults', JSON.stringify(faults));
  assert.equal((await set({ earthquake: 1 })).status, 400);
  assert.equal((await set({ rejected_orders: -1 })).status, 400);
  await set({ rejected_orders: 1 });
  assert.match((await bot.place(token, BID)).body.error, /rejected by request/);
  assert.equal((await bot.place(token, BID)).body.status, 'live');
  await set({ too_many_requests: 2 });
  const statuses = [];
  for (let count = 0; count < 3; count++) statuses.push((await bot.send('GET', '/time')).status);
  assert.deepEqual(statuses, [429, 429, 200]);
  const own = new PolymarketSocket(`${bot.socketHost}/ws/user`, { type: 'user', auth: bot.key });
  await own.subscribed();
  await bot.place(token, { ...BID, makerAmount: '3000000' });
  await eventually('the order has come', async () => own.of('order').length > 0);
  await set({ failed_settlements: 1, late_fills_ms: 600_000 });
  await other.place(market, { outcomeIndex: 1, price: '0.60', size: '4' });
  assert.deepEqual((await bot.ask('GET', '/data/trades')).body.data, []);
  await set({ late_fills_ms: 0 });
  assert.deepEqual(
    (await bot.ask('GET', '/data/trades')).body.data.map(({ status }: Json) => status),
    ['FAILED'],
  );
  await other.place(market, { outcomeIndex: 1, price: '0.60', size: '1' });
  await eventually('the trade has come', async () => own.of('trade').some(({ status }) => status === 'CONFIRMED'));
  await set({ disconnect: true });
  await own.closed;
});

test('what is wrong with a request is its answer, and ends nothing', async () => {
  const { token, bot } = await makeScene();
  const order = await bot.order(token, BID);
  for (const [status, path, body] of [
    [400, '/order', { ...order, orderType: 'IOC' }],
    [400, '/order', { ...order, owner: 'another' }],
    [400, '/order', { ...order, order: { ...order.order, side: 'HOLD' } }],
    [400, '/order', { ...order, order: { ...order.order, salt: 2 } }],
    [400, '/order', { ...order, order: { ...order.order, signature: '0x' } }],
    [400, '/order', { ...order, order: { ...order.order, makerAmount: '-1' } }],
    [400, '/order', { ...order, order: null }],
    [400, '/order', { ...order, postOnly: true, orderType: 'FOK' }],
    [400, '/order', 'text'],
    [400, '/orders', {}],
    [400, '/orders', Array.from({ length: 16 }, () => order)],
    [404, '/nowhere', {}],
  ] as const) {
    const answer = await bot.ask('POST', path, body);
    assert.deepEqual(
      [answer.status, typeof answer.body.error],
      [status, 'string'],
      JSON.stringify([path, answer.body]),
    );
  }
  for (const [changed, path] of [
    [{ POLY_SIGNATURE: 'AAAA' }, '/data/orders'],
    [{ POLY_PASSPHRASE: 'another' }, '/data/orders'],
    [{ POLY_TIMESTAMP: '1' }, '/data/orders'],
    [{ POLY_ADDRESS: `0x${'1'.repeat(40)}` }, '/data/orders'],
    [{ POLY_API_KEY: '' }, '/balance-allowance?asset_type=COLLATERAL'],
  ] as const) {
    assert.equal((await bot.ask('GET', path, undefined, changed)).status, 401, JSON.stringify(changed));
  }
  assert.equal((await bot.send('POST', '/books', '[')).status, 400);
  assert.equal((await bot.send('POST', '/books', JSON.stringify([{ token_id: 7 }]))).status, 400);
  assert.equal((await bot.send('POST', '/books', 'x'.repeat(300_000))).status, 413);
  const bad = new PolymarketSocket(`${bot.socketHost}/ws/user`, { type: 'user', auth: { ...bot.key, secret: 'A' } });
  await bad.closed;
  assert.deepEqual((await bot.ask('GET', '/data/orders')).body.data, []);
  assert.deepEqual(facade.errors, []);
});

test('keys, accounts and the names of orders are there after a restart', async () => {
  const file = join(temporaryDirectory(), 'polymarket.db');
  const market = await makeMarket(server);
  const first = await startFacade({ after }, server, {}, file);
  const bot = await new PolymarketBot(first.host).signIn();
  const { body } = await bot.place(market.yes_token_id, BID);
  assert.equal(body.status, 'live', JSON.stringify(body));
  first.close();
  const second = await startFacade({ after }, server, {}, file);
  const { key } = bot;
  const same = bot.at(second.host);
  assert.deepEqual((await same.attest('GET', '/auth/derive-api-key')).body, key);
  const { data } = (await same.ask('GET', '/data/orders')).body;
  assert.deepEqual(
    data.map(({ id }: Json) => id),
    [body.orderID],
  );
});

test('a port belongs to one of these programs: clients of another never come to it', async () => {
  // A port that the system has chosen is never shared.
  const port = await freePort();
  await startFacade({ after }, server, {}, ':memory:', port);
  await assert.rejects(startFacade({ after }, server, {}, ':memory:', port), /is taken/);
});

test('accounts are opened up to the most, and none where money is not play money', async () => {
  const few = await startFacade({ after }, server, { mostAccounts: 0 });
  assert.equal((await new PolymarketBot(few.host).attest('POST', '/auth/api-key')).status, 503);
  const own = await startFacade({ after }, server, { isPlay: false, hasFaults: false });
  const bot = new PolymarketBot(own.host);
  assert.equal((await bot.attest('POST', '/auth/api-key')).status, 403);
  assert.equal((await bot.send('POST', '/control/faults', '{}')).status, 404);
});
