/** The orders and trades that an account reads, open and past, over HTTP on a real server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../shared/client/http.ts';
import type { UserTrade } from '../../shared/client/types.ts';
import { isOnChain } from '../support/backend.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';

afterEachOfFile(() => assertBalanced(server));

describe('reading', () => {
  test('open orders are those of the caller in the market, oldest first, fills included', async () => {
    const [market, other] = [await makeMarket(server), await makeMarket(server)];
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const hashes: string[] = [];
    for (const price of ['0.30', '0.50', '0.10', '0.40']) {
      hashes.push((await alice.place(market, { price, size: '2' })).order_hash);
    }
    await alice.place(other, { price: '0.30', size: '2' });
    await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '1' });
    await alice.client.cancelOrder(hashes[2]);
    const open = await alice.client.openOrders(market.id);
    assert.deepEqual(
      open.map(({ order_hash }) => order_hash),
      [hashes[0], hashes[1], hashes[3]],
    );
    assert.deepEqual(
      open.map(({ status, remaining }) => [status, remaining]),
      [
        ['open', '600000'],
        ['partially_filled', '500000'],
        ['open', '800000'],
      ],
    );
    assert.deepEqual(await bob.client.openOrders(market.id), []);
    for (const id of [UNKNOWN_MARKET, 'x']) {
      assertRefused(await alice.send('GET', `/v1/orders/open/${id}`), 404, 'NOT_FOUND', 'market not found');
    }
  });

  test('an order reads the same before and after it closed, except for the fields that closing changes', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.client.split(market.id, 10_000_000);
    const placed = await alice.place(market, { side: 'SELL', price: '0.70', size: '10' });
    await bob.place(market, { price: '0.70', size: '4' });
    const before = await alice.client.getOrder(placed.order_hash);
    assert.deepEqual([before.filled_amount, before.remaining], ['4000000', '6000000']);
    await bob.place(market, { price: '0.70', size: '6' });
    const closed = await alice.client.getOrder(placed.order_hash);
    assert.deepEqual(closed, {
      ...before,
      status: 'filled',
      remaining: '0',
      filled_amount: '10000000',
      filled_token_quantity_atomic: '10000000',
      average_fill_price: '0.70000000',
    });
  });

  test('orders signed under another fee stay open and cancellable but leave the book until it returns', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.50', size: '2' });
    await server.admin.patchMarket(market.id, { fee_bps: 30 });
    assert.deepEqual((await alice.client.book(market.id)).bids, []);
    assert.equal((await alice.client.getOrder(placed.order_hash)).status, 'open');
    const passing = await bob.place(market, { outcomeIndex: 1, price: '0.60', size: '2', feeRateBps: 30 });
    assert.deepEqual([passing.status, passing.matches], ['open', 0]);
    await bob.client.cancelOrder(passing.order_hash);
    await server.admin.patchMarket(market.id, { fee_bps: 50 });
    assert.equal((await alice.client.book(market.id)).bids[0].token_quantity_atomic, '2000000');
    await server.admin.patchMarket(market.id, { fee_bps: 30 });
    await alice.client.cancelOrder(placed.order_hash);
    assert.equal((await alice.holdings(market)).reserved, 0);
  });
});

/** RULES.md 14.8: the ledger settles at once, a chain begins with nothing but the time of the match. */
async function assertSettlement(trader: Trader, { id, matched_at, settlement_status }: UserTrade): Promise<void> {
  const first = { status: isOnChain ? 'pending' : 'settled', at: matched_at };
  const found = await trader.client.tradeSettlement(id);
  assert.deepEqual([found.trade_id, found.history[0]], [id, first]);
  if (isOnChain) return;
  assert.equal(settlement_status, 'settled');
  assert.deepEqual(found, {
    ...{ trade_id: id, settlement_status: 'settled', history: [first] },
    ...{ batch_id: null, transaction_hash: null, block_number: null, reason: null, unwound_at: null },
  });
}

describe('the past of an account', () => {
  test('is there at once: a FAK that mints 10 of 12 is placed, filled and cancelled', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const resting = await alice.place(market, { price: '0.65', size: '10' });
    const placed = await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '12', timeInForce: 'FAK' });
    const [order_id, trade_id] = [placed.order_id, placed.fills[0]!.trade_id];
    const { activity, total, next_cursor } = await bob.client.userActivity({ market_id: market.id });
    assert.deepEqual([total, next_cursor], [3, null]);
    const [cancelled, fill, first] = activity;
    assert.deepEqual(
      [cancelled!.type, cancelled!.quantity_atomic, cancelled!.reason],
      ['cancelled', '2000000', 'fak_remainder'],
    );
    assert.deepEqual(
      [first!.type, first!.id, first!.quantity_atomic, first!.price],
      ['placed', order_id, '12000000', '0.40000000'],
    );
    const party = {
      party_order_id: order_id,
      party_side: 'BUY',
      party_outcome_index: 1,
      notional_usdc_micro: '3500000',
      token_quantity_atomic: '10000000',
    };
    const details = await server.request('GET', `/v1/markets/${market.id}`);
    const of = { id: trade_id, market_id: market.id };
    assert.deepEqual(fill, {
      ...{ ...of, type: 'fill', order_id, trade_id, side: 'BUY', outcome_index: 1, price: '0.35000000' },
      ...{ quantity_atomic: '10000000', reason: null, created_at: fill!.created_at, ...party },
      party_outcome_name: details.body.outcomes[1],
    });
    const { trades } = await bob.client.legacyUserTrades();
    assert.deepEqual(trades, [
      {
        ...{ ...of, outcome: 1, price: '0.35000000', quantity: '10000000', side: 'BUY', tx_signature: null },
        ...{ created_at: fill!.created_at, ...party },
      },
    ]);
    const [seen] = (await alice.client.userTrades({ side: 'BUY' })).trades;
    assert.deepEqual(
      [seen!.role, seen!.party_order_id, seen!.notional_usdc_micro, seen!.amount],
      ['maker', resting.order_id, '6500000', '3500000'],
    );
    assert.deepEqual(
      [seen!.order_hash, seen!.fee_amount, seen!.fee_asset],
      [resting.order_hash, '50000', 'TOKEN'],
      'the order and the fee of its own',
    );
    await assertSettlement(alice, seen!);
    const stranger = await makeTrader(server);
    for (const id of [seen!.id, seen!.market_id, 'x']) {
      const refusal = await stranger.client.tradeSettlement(id).catch((error: ApiError) => error);
      assert.ok(refusal instanceof ApiError && refusal.status === 404 && refusal.message === 'trade not found', id);
    }
    assert.deepEqual((await alice.client.legacyUserOrders()).orders, [await alice.client.getOrder(resting.order_hash)]);
    const [row] = (await bob.client.userOrders()).orders;
    assert.deepEqual(
      [row!.initial_limit_notional_usdc_micro, row!.filled_limit_notional_usdc_micro],
      ['4800000', '4000000'],
    );
    assert.equal(row!.remaining_limit_notional_usdc_micro, '0');
  });

  test('leads from cursor to cursor, and shows one account nothing of another', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    for (const price of ['0.10', '0.20', '0.30']) await alice.place(market, { price, size: '2' });
    await alice.client.cancelAll();
    const { activity } = await alice.client.userActivity();
    const types = activity.map(({ type }) => type);
    assert.deepEqual(types, [...new Array(3).fill('cancelled'), ...new Array(3).fill('placed')]);
    const seen: unknown[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await alice.client.userActivity({ limit: 2, cursor });
      seen.push(...page.activity);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    assert.deepEqual(seen, activity);
    assert.deepEqual((await bob.client.userActivity()).activity, []);
    assert.deepEqual((await bob.client.legacyUserOrders()).orders, []);
  });

  test('is refused by the name of a bad parameter, without the scope, and without a key', async () => {
    const alice = await makeTrader(server);
    const bad: [string, string][] = [
      ['orders?limit=5', 'unknown field: limit'],
      ['orders/v2?status=pending', 'invalid status'],
      ['orders/v2?limit=201', 'invalid limit'],
      ['orders/v2?since=yesterday', 'invalid since'],
      ['orders/v2?cursor=x', 'invalid cursor'],
      ['trades?market_id=1', 'invalid market_id'],
      ['trades?limit=1e9', 'invalid limit'],
      ['trades?cursor=x', 'unknown field: cursor'],
      ['trades/v2?side=buy', 'invalid side'],
      ['trades/v2?limit=101', 'invalid limit'],
      ['activity?type=trade', 'invalid type'],
      ['activity?market_id=abc', 'invalid market_id'],
      ['activity?limit=0', 'invalid limit'],
      ['activity?limit=-1', 'invalid limit'],
      ['activity?limit=ten', 'invalid limit'],
      ['activity?offset=-1', 'invalid offset'],
      ['activity?cursor=x', 'invalid cursor'],
    ];
    for (const [target, message] of bad) {
      assertRefused(await alice.send('GET', `/v1/user/${target}`), 400, 'VALIDATION_ERROR', message);
    }
    const trading = await makeTrader(server, { scopes: ['trade:orders'] });
    for (const path of ['orders', 'orders/v2', 'trades', 'trades/v2', 'activity']) {
      const refused = await trading.send('GET', `/v1/user/${path}`);
      assertRefused(refused, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
      const anonymous = await server.request('GET', `/v1/user/${path}`);
      assertRefused(anonymous, 401, 'UNAUTHORIZED', 'missing required API key headers');
    }
  });
});

describe('a client order id', () => {
  test('is echoed by the answer and in the records, open and closed', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = { ...alice.body(market, { price: '0.30', size: '5' }), client_order_id: 'my first' };
    const placed = await alice.client.placeOrder(body);
    assert.equal(placed.client_order_id, 'my first');
    assert.equal((await alice.client.getOrder(placed.order_hash)).client_order_id, 'my first');
    await alice.client.cancelOrder(placed.order_hash);
    assert.equal((await alice.client.getOrder(placed.order_hash)).client_order_id, 'my first');
  });

  test('is used by one open order of the account at a time, and a repeat is still answered as one', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const named = (trader: typeof alice) => {
      return { ...trader.body(market, { price: '0.30', size: '5' }), client_order_id: 'the one' };
    };
    const first = named(alice);
    const { order_hash } = await alice.client.placeOrder(first);
    const error = 'client_order_id is used by an open order';
    assertRefused(await alice.post(named(alice)), 409, 'DUPLICATE_CLIENT_ORDER_ID', error);
    assertRefused(await alice.post(first), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
    await bob.client.placeOrder(named(bob));
    await alice.client.cancelOrder(order_hash);
    await alice.client.placeOrder(named(alice));
  });
});
