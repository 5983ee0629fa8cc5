/**
 * One row for each call of a method of an official client, in their order, with the answer that it must get. A row that
 * expects an error says so; everywhere else an answer with `error` is a failure.
 */
import assert from 'node:assert/strict';
import type { Json } from '../support/server.ts';
import { postOrder } from './clients.ts';

export type World = {
  readonly client: Json;
  /** The same wallet without an API key. */
  readonly wallet: Json;
  readonly token: string;
  readonly other: string;
  readonly condition: string;
  readonly version: 1 | 2;
  /** Orders of one row for those that follow. */
  readonly kept: Map<string, Json>;
};
type Check = (answer: Json, world: World) => void;
export type Row = {
  readonly method: string;
  readonly of?: 1 | 2;
  readonly call: (world: World) => unknown;
  /** Null for an error with this status. */
  readonly expect: Check | { readonly status: number };
};

const HASH = /^0x[0-9a-f]{64}$/;
const has = (members: readonly string[], answer: Json): void => {
  for (const name of members) assert.ok(name in answer, `${name} is missing in ${JSON.stringify(answer)}`);
};
const page =
  (least: number, ...members: string[]): Check =>
  (answer) => {
    has(['limit', 'count', 'next_cursor', 'data'], answer);
    assert.ok(answer.data.length >= least && answer.count === answer.data.length);
    for (const row of answer.data) has(members, row);
  };
const is =
  (expected: unknown): Check =>
  (answer) =>
    assert.deepEqual(answer, expected);
const live: Check = (answer) => {
  assert.deepEqual([answer.success, answer.status, answer.errorMsg], [true, 'live', '']);
  assert.match(answer.orderID, HASH);
};
const matched: Check = (answer) => {
  assert.deepEqual([answer.success, answer.status], [true, 'matched']);
  assert.ok(answer.tradeIDs.length > 0 && answer.transactionsHashes.length === answer.tradeIDs.length);
};
const refused = { status: 400 };
const missing = { status: 501 };
const buy = (token: string, price: number, size: number) => ({ tokenID: token, price, size, side: 'BUY' });
const post = ({ client, version }: World, order: Json, kind: string, postOnly = false) =>
  postOrder(client, version, order, kind, postOnly);
const keep =
  (name: string, check: Check): Check =>
  (answer, world) => {
    check(answer, world);
    world.kept.set(name, answer);
  };
const soon = () => Math.floor(Date.now() / 1000) + 3600;
const MARKET = ['condition_id', 'tokens', 'minimum_tick_size', 'minimum_order_size', 'accepting_orders', 'market_slug'];
const SIMPLE = ['condition_id', 'tokens', 'rewards', 'active', 'closed', 'archived', 'accepting_orders'];
const both = ({ token, other }: World) => [
  { token_id: token, side: 'BUY' },
  { token_id: other, side: 'SELL' },
];

/** The book before it: Yes is bid for at 0.40, and offered at 0.50 (10), 0.51 (10) and 0.55 (10). */
const PUBLIC: readonly Row[] = [
  { method: 'getOk', call: ({ client }) => client.getOk(), expect: is('OK') },
  {
    method: 'getServerTime',
    call: ({ client }) => client.getServerTime(),
    expect: (answer) => assert.ok(Math.abs(answer - Date.now() / 1000) < 60),
  },
  { method: 'getVersion', of: 2, call: ({ client }) => client.getVersion(), expect: is(2) },
  { method: 'getMarkets', call: ({ client }) => client.getMarkets(), expect: page(1, ...MARKET) },
  { method: 'getSamplingMarkets', call: ({ client }) => client.getSamplingMarkets(), expect: page(1, ...MARKET) },
  { method: 'getSimplifiedMarkets', call: ({ client }) => client.getSimplifiedMarkets(), expect: page(1, ...SIMPLE) },
  {
    method: 'getSamplingSimplifiedMarkets',
    call: ({ client }) => client.getSamplingSimplifiedMarkets(),
    expect: page(1, ...SIMPLE),
  },
  {
    method: 'getMarket',
    call: ({ client, condition }) => client.getMarket(condition),
    expect: (answer, { token, other }) =>
      assert.deepEqual(
        answer.tokens.map((each: Json) => each.token_id),
        [token, other],
      ),
  },
  { method: 'getMarket', call: ({ client }) => client.getMarket(`0x${'1'.repeat(64)}`), expect: { status: 404 } },
  {
    method: 'getClobMarketInfo',
    of: 2,
    call: ({ client, condition }) => client.getClobMarketInfo(condition),
    expect: (answer, { token }) => assert.deepEqual([answer.t[0].t, answer.mts, answer.nr], [token, 0.01, false]),
  },
  {
    method: 'getOrderBook',
    call: ({ client, token }) => client.getOrderBook(token),
    expect: (answer) => {
      assert.deepEqual(answer.bids, [{ price: '0.40', size: '10' }]);
      assert.deepEqual(
        answer.asks.map(({ price }: Json) => price),
        ['0.55', '0.51', '0.50'],
      );
      assert.deepEqual([answer.tick_size, answer.neg_risk, answer.min_order_size], ['0.01', false, '1']);
    },
  },
  { method: 'getOrderBook', call: ({ client }) => client.getOrderBook('1'), expect: { status: 404 } },
  { method: 'getOrderBook', call: ({ client }) => client.getOrderBook('none'), expect: refused },
  {
    method: 'getOrderBookHash',
    call: async ({ client, other }) => {
      const book = await client.getOrderBook(other);
      return [book.hash, await client.getOrderBookHash(book)];
    },
    expect: ([sent, computed]) => assert.equal(sent, computed),
  },
  {
    method: 'getOrderBooks',
    call: (world) => world.client.getOrderBooks(both(world)),
    expect: (answer, { token, other }) =>
      assert.deepEqual(
        answer.map((each: Json) => each.asset_id),
        [token, other],
      ),
  },
  { method: 'getMidpoint', call: ({ client, token }) => client.getMidpoint(token), expect: is({ mid: '0.45' }) },
  {
    method: 'getMidpoints',
    call: (world) => world.client.getMidpoints(both(world)),
    expect: (answer, { token, other }) => assert.deepEqual(answer, { [token]: '0.45', [other]: '0.55' }),
  },
  { method: 'getPrice', call: ({ client, token }) => client.getPrice(token, 'BUY'), expect: is({ price: '0.40' }) },
  { method: 'getPrice', call: ({ client, token }) => client.getPrice(token, 'SELL'), expect: is({ price: '0.50' }) },
  { method: 'getPrice', call: ({ client, token }) => client.getPrice(token, 'HOLD'), expect: refused },
  {
    method: 'getPrices',
    call: (world) => world.client.getPrices(both(world)),
    expect: (answer, { token, other }) =>
      assert.deepEqual(answer, { [token]: { BUY: '0.40' }, [other]: { SELL: '0.60' } }),
  },
  { method: 'getSpread', call: ({ client, token }) => client.getSpread(token), expect: is({ spread: '0.10' }) },
  {
    method: 'getSpreads',
    call: (world) => world.client.getSpreads(both(world)),
    expect: (answer, { token, other }) => assert.deepEqual(answer, { [token]: '0.10', [other]: '0.10' }),
  },
  {
    method: 'getLastTradePrice',
    call: ({ client, token }) => client.getLastTradePrice(token),
    expect: (answer) => has(['price', 'side'], answer),
  },
  {
    method: 'getLastTradesPrices',
    call: (world) => world.client.getLastTradesPrices(both(world)),
    expect: (answer) => assert.equal(answer.length, 2),
  },
  { method: 'getTickSize', call: ({ client, token }) => client.getTickSize(token), expect: is('0.01') },
  { method: 'getNegRisk', call: ({ client, token }) => client.getNegRisk(token), expect: is(false) },
  { method: 'getFeeRateBps', call: ({ client, token }) => client.getFeeRateBps(token), expect: is(50) },
  { method: 'getFeeExponent', of: 2, call: ({ client, token }) => client.getFeeExponent(token), expect: is(0) },
  {
    method: 'getPricesHistory',
    call: ({ client, token }) => client.getPricesHistory({ market: token, interval: '1d', fidelity: 1 }),
    expect: (answer) => assert.ok(Array.isArray(answer.history)),
  },
  {
    method: 'calculateMarketPrice',
    call: ({ client, token }) => client.calculateMarketPrice(token, 'BUY', 7),
    expect: is(0.51),
  },
];

const KEYS: readonly Row[] = [
  {
    method: 'createApiKey',
    call: ({ wallet }) => wallet.createApiKey(7),
    expect: (answer) => has(['key', 'secret', 'passphrase'], answer),
  },
  {
    method: 'deriveApiKey',
    call: ({ wallet }) => wallet.deriveApiKey(7),
    expect: (answer) => assert.match(answer.key, /^[0-9a-f-]{36}$/),
  },
  {
    method: 'createOrDeriveApiKey',
    call: async ({ wallet }) => [await wallet.deriveApiKey(), await wallet.createOrDeriveApiKey()],
    expect: ([derived, again]) => assert.deepEqual(derived, again),
  },
  {
    method: 'getApiKeys',
    call: ({ client }) => client.getApiKeys(),
    expect: ({ apiKeys }) => assert.equal(apiKeys.length, 2),
  },
  { method: 'getClosedOnlyMode', call: ({ client }) => client.getClosedOnlyMode(), expect: is({ closed_only: false }) },
  {
    method: 'updateBalanceAllowance',
    call: ({ client }) => client.updateBalanceAllowance({ asset_type: 'COLLATERAL' }),
    expect: ({ balance }) => assert.equal(balance, '10000000000'),
  },
];

const ORDERS: readonly Row[] = [
  {
    method: 'createOrder',
    call: ({ client, token }) => client.createOrder(buy(token, 0.3, 10)),
    expect: keep('signed', (answer) => assert.equal(answer.takerAmount, '10000000')),
  },
  {
    method: 'postOrder',
    call: ({ client, kept }) => client.postOrder(kept.get('signed')),
    expect: keep('first', live),
  },
  { method: 'postOrder', call: ({ client, kept }) => client.postOrder(kept.get('signed')), expect: refused },
  {
    method: 'postOrder',
    call: ({ client, kept }) => client.postOrder({ ...kept.get('signed'), takerAmount: '20000000' }),
    expect: refused,
  },
  {
    method: 'getOrder',
    call: ({ client, kept }) => client.getOrder(kept.get('first').orderID),
    expect: (answer, { token }) => {
      assert.deepEqual([answer.status, answer.side, answer.price, answer.original_size], ['LIVE', 'BUY', '0.30', '10']);
      assert.deepEqual([answer.asset_id, answer.size_matched, answer.order_type], [token, '0', 'GTC']);
    },
  },
  { method: 'getOrder', call: ({ client }) => client.getOrder(`0x${'1'.repeat(64)}`), expect: { status: 404 } },
  {
    method: 'createAndPostOrder',
    call: (world) => post(world, { ...buy(world.token, 0.31, 10), expiration: soon() }, 'GTD'),
    expect: keep('dated', live),
  },
  { method: 'createAndPostOrder', call: (world) => post(world, buy(world.token, 0.32, 10), 'GTC', true), expect: live },
  {
    method: 'createAndPostOrder',
    call: (world) => post(world, buy(world.token, 0.5, 10), 'GTC', true),
    expect: refused,
  },
  { method: 'createAndPostOrder', call: (world) => post(world, buy(world.token, 0.3, 0.5), 'GTC'), expect: refused },
  {
    method: 'createAndPostOrder',
    call: (world) => post(world, buy(world.token, 0.3, 1_000_000), 'GTC'),
    expect: refused,
  },
  {
    method: 'postOrders',
    call: async ({ client, token, other }) => {
      const orders = [await client.createOrder(buy(token, 0.2, 5)), await client.createOrder(buy(other, 0.2, 5))];
      return client.postOrders(orders.map((order) => ({ order, orderType: 'GTC' })));
    },
    expect: (answer) =>
      assert.deepEqual(
        answer.map(({ status }: Json) => status),
        ['live', 'live'],
      ),
  },
  {
    method: 'getOpenOrders',
    call: ({ client }) => client.getOpenOrders(),
    expect: (rows) => assert.equal(rows.length, 5),
  },
  {
    method: 'getOpenOrders',
    call: ({ client, other }) => client.getOpenOrders({ asset_id: other }),
    expect: (rows) => assert.equal(rows.length, 1),
  },
  {
    method: 'cancelOrder',
    call: ({ client, kept }) => client.cancelOrder({ orderID: kept.get('first').orderID }),
    expect: (answer, { kept }) => assert.deepEqual(answer, { canceled: [kept.get('first').orderID], not_canceled: {} }),
  },
  {
    method: 'cancelOrders',
    call: ({ client, kept }) => client.cancelOrders([kept.get('first').orderID, kept.get('dated').orderID]),
    expect: ({ canceled, not_canceled }, { kept }) =>
      assert.deepEqual(
        [canceled, Object.keys(not_canceled)],
        [[kept.get('dated').orderID], [kept.get('first').orderID]],
      ),
  },
  {
    method: 'cancelMarketOrders',
    call: ({ client, condition, other }) => client.cancelMarketOrders({ market: condition, asset_id: other }),
    expect: ({ canceled }) => assert.equal(canceled.length, 1),
  },
  {
    method: 'cancelAll',
    call: ({ client }) => client.cancelAll(),
    expect: ({ canceled }) => assert.equal(canceled.length, 2),
  },
  {
    method: 'isOrderScoring',
    call: ({ client }) => client.isOrderScoring({ order_id: '0x1' }),
    expect: is({ scoring: false }),
  },
  {
    method: 'areOrdersScoring',
    call: ({ client }) => client.areOrdersScoring({ orderIds: ['0x1'] }),
    expect: is({ '0x1': false }),
  },
];

const TRADES: readonly Row[] = [
  {
    method: 'createMarketOrder',
    call: ({ client, token }) => client.createMarketOrder({ tokenID: token, amount: 7, side: 'BUY' }),
    expect: keep('market', (answer) => assert.equal(answer.makerAmount, '7000000')),
  },
  {
    // 10 at 0.50 and the rest at 0.51: the whole amount but for less than a lot, 0.0001 tokens.
    method: 'postOrder',
    call: ({ client, kept }) => client.postOrder(kept.get('market'), 'FOK'),
    expect: (answer, world) => {
      matched(answer, world);
      assert.ok(Number(answer.makingAmount) <= 7 && Number(answer.makingAmount) > 7 - 0.000051, answer.makingAmount);
      world.kept.set('bought', answer);
    },
  },
  {
    method: 'createAndPostMarketOrder',
    call: ({ client, token }) =>
      client.createAndPostMarketOrder({ tokenID: token, amount: 5000, price: 0.6, side: 'BUY' }),
    expect: refused,
  },
  {
    method: 'createAndPostMarketOrder',
    call: ({ client, token }) => client.createAndPostMarketOrder({ tokenID: token, amount: 4, side: 'SELL' }),
    expect: (answer, world) => {
      matched(answer, world);
      assert.deepEqual([answer.makingAmount, answer.takingAmount], ['4', '1.6']);
    },
  },
  {
    method: 'createAndPostMarketOrder',
    call: ({ client, token }) =>
      client.createAndPostMarketOrder({ tokenID: token, amount: 1, side: 'BUY', price: 0.51 }, undefined, 'FAK'),
    expect: matched,
  },
  {
    method: 'getTrades',
    call: ({ client }) => client.getTrades(),
    expect: (rows, { kept, condition }) => {
      assert.equal(rows.length, 5);
      for (const row of rows) {
        assert.deepEqual([row.status, row.trader_side, row.market], ['CONFIRMED', 'TAKER', condition]);
        assert.match(row.transaction_hash, HASH);
      }
      assert.ok(rows.some((row: Json) => row.taker_order_id === kept.get('bought').orderID));
    },
  },
  {
    method: 'getTrades',
    call: ({ client, kept }) => client.getTrades({ id: kept.get('bought').tradeIDs[0] }),
    expect: (rows, { kept }) =>
      assert.deepEqual(
        rows.map(({ id }: Json) => id),
        [kept.get('bought').tradeIDs[0]],
      ),
  },
  {
    method: 'getTradesPaginated',
    call: ({ client, condition }) => client.getTradesPaginated({ market: condition }),
    expect: ({ trades, next_cursor }) => assert.deepEqual([trades.length, next_cursor], [5, 'LTE=']),
  },
  {
    method: 'getOrder',
    call: ({ client, kept }) => client.getOrder(kept.get('bought').orderID),
    expect: (answer, { kept }) =>
      assert.deepEqual(
        [answer.status, answer.size_matched, answer.order_type],
        ['MATCHED', kept.get('bought').takingAmount, 'FOK'],
      ),
  },
  {
    method: 'getBalanceAllowance',
    call: ({ client, token }) => client.getBalanceAllowance({ asset_type: 'CONDITIONAL', token_id: token }),
    expect: ({ balance }) => assert.ok(Number(balance) > 9_000_000),
  },
  {
    method: 'getBalanceAllowance',
    call: ({ client }) => client.getBalanceAllowance({ asset_type: 'GOLD' }),
    expect: refused,
  },
  {
    method: 'getNotifications',
    call: ({ client }) => client.getNotifications(),
    expect: keep('notices', (rows) => has(['id', 'type', 'owner', 'payload'], rows[0])),
  },
  {
    method: 'dropNotifications',
    call: async ({ client, kept }) => {
      const ids = kept.get('notices').map(({ id }: Json) => id);
      return [await client.dropNotifications({ ids }), await client.getNotifications()];
    },
    expect: is(['OK', []]),
  },
  {
    method: 'postHeartbeat',
    call: async ({ client }) => {
      const { heartbeat_id } = await client.postHeartbeat();
      return client.postHeartbeat(heartbeat_id);
    },
    expect: ({ heartbeat_id }) => assert.match(heartbeat_id, /^[0-9a-f-]{36}$/),
  },
  { method: 'postHeartbeat', call: ({ client }) => client.postHeartbeat('another'), expect: refused },
];

const REWARDS: readonly Row[] = [
  {
    method: 'getEarningsForUserForDay',
    call: ({ client }) => client.getEarningsForUserForDay('2026-11-30'),
    expect: is([]),
  },
  {
    method: 'getTotalEarningsForUserForDay',
    call: ({ client }) => client.getTotalEarningsForUserForDay('2026-11-30'),
    expect: is([]),
  },
  {
    method: 'getUserEarningsAndMarketsConfig',
    call: ({ client }) => client.getUserEarningsAndMarketsConfig('2026-11-30'),
    expect: is([]),
  },
  { method: 'getRewardPercentages', call: ({ client }) => client.getRewardPercentages(), expect: is({}) },
  { method: 'getCurrentRewards', call: ({ client }) => client.getCurrentRewards(), expect: is([]) },
  {
    method: 'getRawRewardsForMarket',
    call: ({ client, condition }) => client.getRawRewardsForMarket(condition),
    expect: is([]),
  },
  { method: 'getPreMigrationOrders', of: 2, call: ({ client }) => client.getPreMigrationOrders(), expect: is([]) },
  {
    method: 'getMarketTradesEvents',
    call: ({ client, condition }) => client.getMarketTradesEvents(condition),
    expect: missing,
  },
  { method: 'createReadonlyApiKey', call: ({ client }) => client.createReadonlyApiKey(), expect: missing },
  { method: 'getReadonlyApiKeys', call: ({ client }) => client.getReadonlyApiKeys(), expect: missing },
  { method: 'deleteReadonlyApiKey', call: ({ client }) => client.deleteReadonlyApiKey('key'), expect: missing },
  {
    method: 'validateReadonlyApiKey',
    of: 1,
    call: ({ client }) => client.validateReadonlyApiKey('0x', 'k'),
    expect: missing,
  },
  { method: 'createBuilderApiKey', call: ({ client }) => client.createBuilderApiKey(), expect: missing },
  { method: 'getBuilderApiKeys', call: ({ client }) => client.getBuilderApiKeys(), expect: missing },
  { method: 'rfq.rfqConfig', of: 1, call: ({ client }) => client.rfq.rfqConfig(), expect: missing },
  { method: 'deleteApiKey', call: ({ client }) => client.deleteApiKey(), expect: is('OK') },
  { method: 'getApiKeys', call: ({ client }) => client.getApiKeys(), expect: { status: 401 } },
];

export const SCENARIO: readonly Row[] = [...PUBLIC, ...KEYS, ...ORDERS, ...TRADES, ...REWARDS];
