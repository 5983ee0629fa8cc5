/** Many orders in one request (RULES.md 7.3) on a real server: rows that succeed and fail side by side. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BatchCancelResponse, BatchPlaceResponse } from '../../shared/client/types.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const PATH = '/v1/orders/batch';
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;

afterEachOfFile(() => assertBalanced(server));

describe('placing a batch', () => {
  test('each row is decided by itself, in order, and reported as a single order would be', async () => {
    const [market, other, alice, bob] = [
      await makeMarket(server),
      await makeMarket(server),
      await makeTrader(server, { depositMicro: 20_000_000 }),
      await makeTrader(server),
    ];
    const resting = await bob.place(market, { outcomeIndex: 1, price: '0.60', size: '2' });
    const first = alice.body(market, { price: '0.40', size: '5' });
    const answer: BatchPlaceResponse = await alice.client.placeOrders([
      first,
      alice.body(market, { price: '0.5', size: '2' }, { side: 'HOLD' }),
      first,
      alice.body(other, { price: '0.50', size: '1000' }),
      alice.body(other, { price: '0.50', size: '4', feeRateBps: 20 }),
      { ...alice.body(other, { price: '0.30', size: '4' }), client_order_id: 'four' },
      5 as never,
    ]);
    assert.deepEqual([answer.succeeded, answer.failed, answer.total], [2, 5, 7]);
    assert.deepEqual(
      answer.results.map((row) => [row.index, row.status, 'code' in row ? `${row.code}: ${row.error}` : '']),
      [
        [0, 'success', ''],
        [1, 'failed', 'VALIDATION_ERROR: invalid side'],
        [2, 'failed', 'ORDER_PLACEMENT_FAILED: duplicate order'],
        [3, 'failed', 'INSUFFICIENT_BALANCE: insufficient balance'],
        [4, 'failed', 'FEE_RATE_MISMATCH: fee_rate_bps mismatch: expected 50'],
        [5, 'success', ''],
        [6, 'failed', 'VALIDATION_ERROR: invalid body'],
      ],
    );
    const [crossed, invalid, , short, , named] = answer.results;
    assert.ok(crossed !== undefined && 'response' in crossed && named !== undefined && 'response' in named);
    const { trade_id: _, ...fill } = crossed.response.matches[0];
    assert.deepEqual(
      { ...crossed.response, matches: [fill] },
      {
        order_id: crossed.order_id,
        order_hash: crossed.order_hash,
        status: 'partially_filled',
        matches: [
          {
            price: '0.4',
            token_quantity_atomic: '2000000',
            notional_usdc_micro: '800000',
            match_type: 'mint',
            maker_order_id: resting.order_id,
          },
        ],
        remaining: '1200000',
        remaining_status: 'open',
      },
    );
    assert.deepEqual([named.response.client_order_id, named.response.matches], ['four', []]);
    assert.ok(invalid !== undefined && 'details' in invalid && short !== undefined && 'details' in short);
    assert.deepEqual(invalid.details, { field: 'side', rule: 'enum', value: 'HOLD', expected: 'BUY, SELL' });
    assert.equal((short.details as { required: string }).required, '500000000');
    assert.equal((await alice.client.getOrder(crossed.order_hash)).status, 'partially_filled');
  });

  test('rows of one market queue in the order of the request', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const bodies = Array.from({ length: 15 }, () => alice.body(market, { price: '0.40', size: '1' }));
    const { results } = await alice.client.placeOrders(bodies);
    const { bids } = await alice.client.bookOrders(market.id);
    assert.deepEqual(
      bids.map(({ id }) => id),
      results.map((row) => ('order_id' in row ? row.order_id : '')),
    );
  });

  test('a client order id is given to one row', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const named = () => ({ ...alice.body(market, { price: '0.40', size: '1' }), client_order_id: 'twice' });
    const { results } = await alice.client.placeOrders([named(), named()]);
    assert.deepEqual(
      results.map((row) => ('code' in row ? row.code : row.status)),
      ['success', 'DUPLICATE_CLIENT_ORDER_ID'],
    );
  });

  test('too many, none and no array at all refuse the whole request', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const bodies = (count: number) => ({ orders: Array.from({ length: count }, () => ({})) });
    const post = (body: unknown) => alice.send('POST', PATH, body);
    assertRefused(await post(bodies(16)), 400, 'INVALID_REQUEST', 'too many orders (max 15)');
    assertRefused(await post(bodies(50)), 400, 'INVALID_REQUEST', 'too many orders (max 15)');
    assertRefused(await post(bodies(51)), 400, 'INVALID_REQUEST', 'too many orders (max 50)');
    const none = await post(bodies(0));
    assertRefused(none, 400, 'VALIDATION_ERROR', 'no orders provided');
    assert.deepEqual(none.body.details, { field: 'orders', rule: 'minItems' });
    assertRefused(await post({}), 400, 'VALIDATION_ERROR', 'missing field: orders');
    assertRefused(await post({ orders: 'all' }), 400, 'VALIDATION_ERROR', 'invalid orders');
    assertRefused(await post({ orders: [], mode: 1 }), 400, 'VALIDATION_ERROR', 'unknown field: mode');
    assert.deepEqual(await alice.client.openOrders(market.id), []);
  });

  test('it has room for 256 KiB, needs the bulk scope, and waits while the platform is paused', async (t) => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const single = await makeTrader(server, { scopes: ['read:account', 'trade:orders'] });
    const body = { orders: [alice.body(market, { price: '0.40', size: '1' })] };
    const padded = (bytes: number) => `${JSON.stringify(body)}${' '.repeat(bytes - JSON.stringify(body).length)}`;
    const raw = (text: string) => {
      const request = alice.client.prepareSigned('POST', PATH, body);
      return server.request('POST', PATH, text, request.headers);
    };
    // Another body is signed, so a body that is parsed fails at the signature.
    assertRefused(await raw(padded(256 * 1024)), 401, 'UNAUTHORIZED', 'invalid signature');
    assertRefused(await raw(padded(256 * 1024 + 1)), 413, 'PAYLOAD_TOO_LARGE', 'request body too large');
    const refused = await single.send('POST', PATH, body);
    assertRefused(refused, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    await server.admin.pause();
    t.after(() => server.admin.resume());
    assertRefused(await alice.send('POST', PATH, body), 503, 'PLATFORM_PAUSED', 'platform is paused');
  });

  test('two clients with batches at once share the last dollar without a micro too much', async () => {
    const [market, other] = [await makeMarket(server), await makeMarket(server)];
    const alice = await makeTrader(server, { depositMicro: 10_000_000 });
    const bodies = (in_: typeof market) =>
      Array.from({ length: 15 }, () => alice.body(in_, { price: '0.50', size: '2' }));
    const answers = await Promise.all([market, other].map((in_) => alice.client.placeOrders(bodies(in_))));
    assert.equal(answers[0].succeeded + answers[1].succeeded, 10);
    for (const { results } of answers) {
      for (const row of results) if ('code' in row) assert.equal(row.code, 'INSUFFICIENT_BALANCE');
    }
    assert.deepEqual(await alice.holdings(market), { usdc: 0, reserved: 10_000_000, yes: 0, no: 0 });
  });
});

describe('cancelling a batch', () => {
  test('open orders are cancelled; unknown, closed, foreign and repeated hashes do not prevent that', async () => {
    const [market, other] = [await makeMarket(server), await makeMarket(server)];
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const one = (await alice.place(market, { price: '0.40', size: '5' })).order_hash;
    const two = (await alice.place(other, { price: '0.40', size: '5' })).order_hash;
    const gone = (await alice.place(other, { price: '0.40', size: '5' })).order_hash;
    const foreign = (await bob.place(market, { price: '0.40', size: '5' })).order_hash;
    await alice.client.cancelOrder(gone);
    const upper = `0x${two.slice(2).toUpperCase()}`;
    const answer: BatchCancelResponse = await alice.client.cancelOrders([
      UNKNOWN_HASH,
      one,
      gone,
      foreign,
      upper,
      one,
      '0x12',
    ]);
    const failed = (order_hash: string | null, code: string, error: string) => ({
      order_hash,
      status: 'failed',
      error,
      code,
    });
    assert.deepEqual(answer, {
      results: [
        failed(UNKNOWN_HASH, 'NOT_FOUND', 'order not found'),
        { order_hash: one, status: 'cancelled' },
        failed(gone, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled'),
        failed(foreign, 'NOT_FOUND', 'order not found'),
        { order_hash: two, status: 'cancelled' },
        failed(one, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled'),
        failed(null, 'VALIDATION_ERROR', 'invalid order hash'),
      ],
      cancelled: 2,
      failed: 5,
      total: 7,
    });
    assert.equal((await bob.client.getOrder(foreign)).status, 'open');
    assert.equal((await alice.holdings(market)).reserved, 0);
  });

  test('up to 200 hashes are accepted, more or none are refused, and a pause does not matter', async (t) => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const { order_hash } = await alice.place(market, { price: '0.40', size: '5' });
    const send = (order_hashes: unknown) => alice.send('DELETE', PATH, { order_hashes });
    const none = await send([]);
    assertRefused(none, 400, 'VALIDATION_ERROR', 'no order hashes provided');
    assert.deepEqual(none.body.details, { field: 'order_hashes', rule: 'minItems' });
    const many = Array.from({ length: 201 }, () => UNKNOWN_HASH);
    assertRefused(await send(many), 400, 'INVALID_REQUEST', 'too many order hashes (max 200)');
    assertRefused(await send('all'), 400, 'VALIDATION_ERROR', 'invalid order_hashes');
    const malformed = await send([5, null, { hash: UNKNOWN_HASH }, [UNKNOWN_HASH], `${UNKNOWN_HASH}0`]);
    assert.deepEqual([malformed.status, malformed.body.failed], [200, 5]);
    const failed = { order_hash: null, status: 'failed', error: 'invalid order hash', code: 'VALIDATION_ERROR' };
    for (const row of malformed.body.results) assert.deepEqual(row, failed);
    await server.admin.pause();
    t.after(() => server.admin.resume());
    const { body } = await send([...many.slice(2), order_hash]);
    assert.deepEqual([body.cancelled, body.failed, body.total], [1, 199, 200]);
  });
});
