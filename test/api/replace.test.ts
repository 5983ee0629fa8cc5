/** On a real server: one order in the place of another, and cancels that come before it (RULES.md 7.10-7.12). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { PlacementBody } from '../../shared/client/types.ts';
import { timesOf } from '../support/seeds.ts';
import { type Answer, afterEachOfFile, sharedServer, startServer } from '../support/server.ts';
import {
  assertBalanced,
  assertRefused,
  type Intent,
  makeMarket,
  makeTrader,
  marketPerShard,
  type Trader,
} from '../support/traders.ts';

const server = await sharedServer();
const CANCEL_REPLACE = '/v1/orders/cancel-replace';
const RACES = timesOf({ suite: 100, soak: 1000 });
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;
const OTHER_ORDER = 'new_order is for another market, outcome or side';

afterEachOfFile(() => assertBalanced(server));

const replace = (trader: Trader, cancel_hash: string, new_order: unknown): Promise<Answer> =>
  trader.send('POST', CANCEL_REPLACE, { cancel_hash, new_order });

const amend = (trader: Trader, hash: string, body: unknown): Promise<Answer> =>
  trader.send('PUT', `/v1/orders/${hash}/amend`, body);

/** The hash an order will have. */
function hashOf(trader: Trader, body: PlacementBody): string {
  const { maker: _m, signer: _s, signature: _g, salt, ...draft } = body;
  return trader.signer.sign(draft, { salt }).orderHash;
}

/** Each way to ask for it, with the same order and the answer of a refusal. */
const WAYS = [
  { name: 'cancel-replace', ask: replace },
  { name: 'amend', ask: (trader: Trader, hash: string, new_order: unknown) => amend(trader, hash, { new_order }) },
];

describe('cancel-replace', () => {
  test('the old order is cancelled and the new one placed, with the money of the old', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server, { depositMicro: 5_000_000 })];
    const old = await alice.place(market, { price: '0.50', size: '10' });
    const body = alice.body(market, { outcomeIndex: 1, price: '0.25', size: '20' });
    const answer = await replace(alice, old.order_hash.toUpperCase().replace('0X', '0x'), body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { cancelled_order_hash, order } = answer.body;
    assert.equal(cancelled_order_hash, old.order_hash);
    assert.deepEqual(
      { ...order, order_id: '' },
      {
        order_id: '',
        order_hash: hashOf(alice, body),
        status: 'open',
        matches: 0,
        fills: [],
        remaining: '5000000',
        remaining_status: 'open',
      },
    );
    assert.equal((await alice.client.getOrder(old.order_hash)).status, 'cancelled');
    assert.deepEqual(await alice.holdings(market), { usdc: 0, reserved: 5_000_000, yes: 0, no: 0 });
  });

  test('the new order may match at once, but never the old one', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    await bob.place(market, { outcomeIndex: 1, price: '0.45', size: '4' });
    const old = await alice.place(market, { price: '0.50', size: '10' });
    const { order } = await alice.client.cancelReplace(
      old.order_hash,
      alice.body(market, { price: '0.55', size: '10' }),
    );
    assert.deepEqual([order.status, order.matches, order.fills[0].price], ['partially_filled', 1, '0.55']);
  });

  test('the expected remainder is checked: after a fill the request is refused with the real one', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    await bob.client.split(market.id, 20_000_000);
    let { order_hash } = await alice.place(market, { price: '0.50', size: '10' });
    await bob.place(market, { side: 'SELL', price: '0.50', size: '4' });
    const ways = {
      amend: (expected_remaining: unknown) =>
        amend(alice, order_hash, { new_order: alice.body(market, { price: '0.50', size: '6' }), expected_remaining }),
      replace: (expected_remaining: unknown) =>
        alice.send('POST', CANCEL_REPLACE, {
          cancel_hash: order_hash,
          new_order: alice.body(market, { price: '0.50', size: '6' }),
          expected_remaining,
        }),
    };
    for (const ask of Object.values(ways)) {
      const refused = await ask('5000000');
      assertRefused(refused, 409, 'REMAINING_CHANGED', 'another amount remains of the order');
      assert.deepEqual(refused.body.details, { remaining: '3000000' });
      for (const wrong of ['0', '-1', '1.5', 3_000_000]) {
        assertRefused(await ask(wrong), 400, 'VALIDATION_ERROR', 'invalid expected_remaining');
      }
    }
    assert.equal((await alice.client.getOrder(order_hash)).status, 'partially_filled', 'nothing was changed');
    const amended = await ways.amend('3000000');
    const gone = {
      order_hash,
      remaining: '3000000',
      filled_amount: '2000000',
      filled_token_quantity_atomic: '4000000',
    };
    assert.deepEqual([amended.status, amended.body.replaced_order], [200, gone]);
    order_hash = amended.body.order_hash;
    const replaced = await ways.replace('3000000');
    assert.deepEqual(
      [replaced.status, replaced.body.replaced_order],
      [200, { order_hash, remaining: '3000000', filled_amount: '0', filled_token_quantity_atomic: '0' }],
    );
    order_hash = replaced.body.order.order_hash;
    const sdk = alice.client.amendOrder(order_hash, alice.body(market, { price: '0.50', size: '6' }), {
      expectedRemaining: 1n,
    });
    await assert.rejects(sdk, { code: 'REMAINING_CHANGED', details: { remaining: '3000000' } });
  });

  test('fills that race an amend never make it buy more than was left', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    await bob.client.split(market.id, 100_000_000);
    for (let round = 0; round < 10; round++) {
      const { order_hash } = await alice.place(market, { price: '0.50', size: '3' });
      const sell = bob.post(bob.body(market, { side: 'SELL', price: '0.50', size: '1', timeInForce: 'FAK' }));
      const body = { new_order: alice.body(market, { price: '0.50', size: '3' }), expected_remaining: '1500000' };
      const [answer, sold] = await Promise.all([amend(alice, order_hash, body), sell]);
      assert.equal(sold.status, 200, JSON.stringify(sold.body));
      if (answer.status !== 200) assert.deepEqual(answer.body.details, { remaining: '1000000' });
      await alice.client.cancelAll();
    }
  });

  test('whatever refuses the new order, the old one keeps its place', async () => {
    const [market, bob] = [await makeMarket(server), await makeTrader(server)];
    const alice = await makeTrader(server, { depositMicro: 5_000_000 });
    await bob.place(market, { outcomeIndex: 1, price: '0.30', size: '2' });
    const old = await alice.place(market, { price: '0.50', size: '10' });
    const sleeping = await alice.client.getOrder(old.order_hash);
    const cases: [PlacementBody | Record<string, unknown>, number, string][] = [
      [alice.body(market, { price: '0.50', size: '10.01' }), 400, 'INSUFFICIENT_BALANCE'],
      [alice.body(market, { price: '0.70', size: '1', postOnly: true }), 400, 'POST_ONLY_WOULD_CROSS'],
      [alice.body(market, { price: '0.70', size: '5', timeInForce: 'FOK' }), 400, 'FOK_NOT_FILLED'],
      [alice.body(market, { price: '0.40', size: '2' }, { signature: '0x' }), 400, 'INVALID_SIGNATURE'],
      [alice.body(market, { price: '0.40', size: '2', feeRateBps: 20 }), 422, 'FEE_RATE_MISMATCH'],
      [bob.body(market, { price: '0.40', size: '2' }), 403, 'FORBIDDEN'],
      [alice.body(market, { price: '0.40', size: '2' }, { side: 'HOLD' }), 400, 'VALIDATION_ERROR'],
    ];
    for (const { ask } of WAYS) {
      for (const [body, status, code] of cases) {
        const answer = await ask(alice, old.order_hash, body);
        assert.deepEqual([answer.status, answer.body.code], [status, code]);
      }
    }
    assert.deepEqual(await alice.client.getOrder(old.order_hash), sleeping);
    assert.deepEqual(await alice.holdings(market), { usdc: 0, reserved: 5_000_000, yes: 0, no: 0 });
  });

  test('an old order that is unknown, foreign, closed or of another market gives way to nothing', async () => {
    const [market, bob, alice] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const body = () => alice.body(market, { price: '0.40', size: '2' });
    const foreign = await bob.place(market, { price: '0.50', size: '2' });
    const closed = await alice.place(market, { price: '0.50', size: '2' });
    await alice.client.cancelOrder(closed.order_hash);
    // Ids are random: among four markets both shards have some.
    const others = await Promise.all([1, 2, 3, 4].map(() => makeMarket(server)));
    const elsewhere = await Promise.all(others.map((other) => alice.place(other, { price: '0.50', size: '2' })));
    for (const { ask } of WAYS) {
      assertRefused(await ask(alice, UNKNOWN_HASH, body()), 404, 'NOT_FOUND', 'order not found');
      assertRefused(await ask(alice, foreign.order_hash, body()), 404, 'NOT_FOUND', 'order not found');
      const late = await ask(alice, closed.order_hash, body());
      assertRefused(late, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
      for (const { order_hash } of elsewhere) {
        assertRefused(await ask(alice, order_hash, body()), 400, 'VALIDATION_ERROR', OTHER_ORDER);
      }
    }
    assert.deepEqual(await alice.client.openOrders(market.id), []);
  });

  test('replacing a closed order is 409 on any number of shards', async () => {
    const lone = await startServer({ after }, { SHARDS: '1' });
    for (const [at, shards] of [
      [server, 2],
      [lone, 1],
    ] as const) {
      const [alice, bob] = [await makeTrader(at), await makeTrader(at)];
      const markets = [...(await marketPerShard(at, shards)), await makeMarket(at)];
      for (const of of markets) {
        const cancelled = await alice.place(of, { price: '0.50', size: '2' });
        await alice.client.cancelOrder(cancelled.order_hash);
        await alice.place(of, { price: '0.50', size: '2' });
        const filled = await alice.place(of, { outcomeIndex: 1, price: '0.50', size: '2' });
        assert.equal(filled.status, 'filled');
        for (const [market, { ask }] of markets.flatMap((one) => WAYS.map((way) => [one, way] as const))) {
          for (const { order_hash } of [cancelled, filled]) {
            const late = await ask(alice, order_hash, alice.body(market, { price: '0.40', size: '2' }));
            assertRefused(late, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
          }
          const unknown = await ask(alice, UNKNOWN_HASH, alice.body(market, { price: '0.40', size: '2' }));
          assertRefused(unknown, 404, 'NOT_FOUND', 'order not found');
          const foreign = await ask(bob, filled.order_hash, bob.body(market, { price: '0.40', size: '2' }));
          assertRefused(foreign, 404, 'NOT_FOUND', 'order not found');
        }
      }
      for (const market of markets) assert.deepEqual(await alice.client.openOrders(market.id), []);
    }
  });

  test('form errors name the field, also inside of new_order', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.40', size: '2' });
    const post = (json: unknown) => alice.send('POST', CANCEL_REPLACE, json);
    const cases: [unknown, string, string][] = [
      [{ new_order: body }, 'missing field: cancel_hash', 'cancel_hash'],
      [{ cancel_hash: UNKNOWN_HASH }, 'missing field: new_order', 'new_order'],
      [{ cancel_hash: '0x12', new_order: body }, 'invalid cancel_hash', 'cancel_hash'],
      [{ cancel_hash: UNKNOWN_HASH, new_order: body, mode: 'fast' }, 'unknown field: mode', 'mode'],
      [
        { cancel_hash: UNKNOWN_HASH, new_order: { ...body, maker_amount: '0' } },
        'invalid maker_amount',
        'new_order.maker_amount',
      ],
    ];
    for (const [json, message, field] of cases) {
      const answer = await post(json);
      assertRefused(answer, 400, 'VALIDATION_ERROR', message);
      assert.equal(answer.body.details.field, field);
    }
  });
});

describe('amend', () => {
  async function queueOf(market: OrderMarket): Promise<string[]> {
    return (await server.request('GET', `/v1/orders/book/${market.id}?l3=1`)).body.bids.map(
      ({ id }: { id: string }) => id,
    );
  }

  test('the place in the queue is kept by a smaller quantity at the same price, and by nothing else', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const old = await alice.place(market, { price: '0.50', size: '10' });
    const behind = await bob.place(market, { price: '0.50', size: '3' });
    const change = (intent: Intent, nonce: number | string, hash: string) => {
      return amend(alice, hash, { new_order: alice.body(market, { ...intent, nonce: Number(nonce) }, { nonce }) });
    };
    const smaller = await change({ price: '0.50', size: '4' }, '7', old.order_hash);
    assert.equal(smaller.status, 200, JSON.stringify(smaller.body));
    const { order_id, order_hash, ...rest } = smaller.body;
    assert.deepEqual(rest, {
      status: 'open',
      matches: 0,
      fills: [],
      price: '0.50000000',
      maker_amount: '2000000',
      taker_amount: '4000000',
      remaining: '2000000',
      remaining_status: 'open',
      time_priority: true,
      price_changed: false,
      replaced_order: {
        order_hash: old.order_hash,
        remaining: '5000000',
        filled_amount: '0',
        filled_token_quantity_atomic: '0',
      },
    });
    assert.deepEqual(await queueOf(market), [order_id, behind.order_id]);

    const larger = (await change({ price: '0.50', size: '5' }, 8, order_hash)).body;
    assert.deepEqual([larger.time_priority, larger.price_changed], [false, false]);
    assert.deepEqual(await queueOf(market), [behind.order_id, larger.order_id]);
    const cheaper = (await change({ price: '0.49', size: '5' }, 9, larger.order_hash)).body;
    assert.deepEqual([cheaper.time_priority, cheaper.price_changed], [false, true]);
    assert.equal((await alice.client.getOrder(larger.order_hash)).status, 'cancelled');
    assert.equal((await alice.holdings(market)).reserved, 2_450_000);
  });

  test('fills at once are reported, and the remainder is that of the record', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const old = await alice.place(market, { price: '0.40', size: '10' });
    await bob.place(market, { outcomeIndex: 1, price: '0.55', size: '4' });
    const crossing = await alice.client.amendOrder(old.order_hash, alice.body(market, { price: '0.45', size: '10' }));
    assert.deepEqual([crossing.status, crossing.matches, crossing.remaining], ['partially_filled', 1, '2700000']);
    const { remaining } = await alice.client.getOrder(crossing.order_hash);
    assert.equal(remaining, crossing.remaining);
    await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '1' });
    const fak = { price: '0.50', size: '3', timeInForce: 'FAK' } as const;
    const killed = await alice.client.amendOrder(crossing.order_hash, alice.body(market, fak));
    assert.deepEqual([killed.status, killed.matches, killed.remaining], ['partially_filled', 1, '0']);
  });

  test('another side or outcome is no amend', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    await alice.client.split(market.id, 10_000_000);
    const old = await alice.place(market, { price: '0.50', size: '10' });
    for (const other of [{ side: 'SELL' }, { outcomeIndex: 1 }] as const) {
      const answer = await amend(alice, old.order_hash, {
        new_order: alice.body(market, { price: '0.60', size: '2', ...other }),
      });
      assertRefused(answer, 400, 'VALIDATION_ERROR', OTHER_ORDER);
    }
    assert.equal((await alice.client.getOrder(old.order_hash)).status, 'open');
  });

  test('bare amounts need to be signed again, and every other body names its fault', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const old = await alice.place(market, { price: '0.50', size: '10' });
    const new_order = alice.body(market, { price: '0.50', size: '2' });
    const error = 'a change of amounts needs new_order, signed again over the new amounts';
    for (const body of [{ maker_amount: '5' }, { taker_amount: 5 }, { new_order, maker_amount: '1000000' }]) {
      assertRefused(await amend(alice, old.order_hash, body), 422, 'AMEND_RESIGN_REQUIRED', error);
    }
    const missing = await amend(alice, old.order_hash, {});
    assertRefused(missing, 400, 'VALIDATION_ERROR', 'missing field: new_order');
    const unknown = await amend(alice, old.order_hash, { price: '0.4' });
    assertRefused(unknown, 400, 'VALIDATION_ERROR', 'unknown field: price');
    const malformed = await amend(alice, '0x12', { new_order });
    assertRefused(malformed, 400, 'VALIDATION_ERROR', 'invalid order hash');
    assert.equal((await alice.client.getOrder(old.order_hash)).status, 'open');
  });
});

test(`a cancel that races a replacement ${RACES} times leaves one consistent end`, async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  const before = await alice.holdings(market);
  const ends = new Map<string, number>();
  for (let round = 0; round < RACES; round++) {
    const old = await alice.place(market, { price: '0.50', size: '2' });
    const body = alice.body(market, { price: '0.40', size: '2' });
    const cancel = () => alice.send('DELETE', `/v1/orders/${old.order_hash}`);
    const [first, second] = round % 2 === 0 ? [cancel, null] : [null, cancel];
    const cancelled = first?.();
    const replaced = WAYS[round % 4 < 2 ? 0 : 1].ask(alice, old.order_hash, body);
    const [cancelAnswer, replaceAnswer] = await Promise.all([cancelled ?? second!(), replaced]);
    const end = `${cancelAnswer.status} ${replaceAnswer.status}`;
    ends.set(end, (ends.get(end) ?? 0) + 1);
    const open = await alice.client.openOrders(market.id);
    if (end === '409 200') {
      // Replaced first: the cancel came for an order that was gone.
      assert.deepEqual(
        open.map(({ order_hash }) => order_hash),
        [hashOf(alice, body)],
      );
      await alice.client.cancelOrder(hashOf(alice, body));
    } else {
      assert.equal(end, '200 409', JSON.stringify([cancelAnswer.body, replaceAnswer.body]));
      assert.deepEqual(open, []);
    }
  }
  assert.deepEqual(await alice.holdings(market), before);
  assert.equal(
    [...ends.values()].reduce((sum, count) => sum + count),
    RACES,
  );
});

describe('a tombstone', () => {
  const bury = (trader: Trader, hash: string) => trader.send('DELETE', `/v1/orders/${hash}?tombstone=1`);

  test('a cancel before its order keeps the order out, for a minute and for this account', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.40', size: '2' });
    const hash = hashOf(alice, body);
    const plain = await alice.send('DELETE', `/v1/orders/${hash}`);
    assertRefused(plain, 404, 'NOT_FOUND', 'order not found');
    assert.equal((await bury(bob, hash)).status, 202, 'what somebody else buries is nobody else’s');
    const answer = await bury(alice, hash);
    assert.equal(answer.status, 202);
    assert.deepEqual(Object.keys(answer.body), ['message', 'tombstone_until']);
    const left = Date.parse(answer.body.tombstone_until) - Date.now();
    assert.ok(left > 30_000 && left <= 61_000, `${left} ms`);
    assertRefused(await alice.post(body), 409, 'ORDER_TOMBSTONED', 'order cancelled before arrival');
    const old = await alice.place(market, { price: '0.30', size: '2' });
    for (const { ask } of WAYS) assert.equal((await ask(alice, old.order_hash, body)).body.code, 'ORDER_TOMBSTONED');
  });

  test('an open order is cancelled, a closed order stays closed', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const { order_hash } = await alice.place(market, { price: '0.40', size: '2' });
    const answer = await bury(alice, order_hash);
    assert.deepEqual([answer.status, answer.body], [200, { message: 'order cancelled' }]);
    const again = await bury(alice, order_hash);
    assertRefused(again, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
  });

  test('a parameter that is not one is refused, not ignored', async () => {
    const alice = await makeTrader(server);
    const send = (query: string) => alice.send('DELETE', `/v1/orders/${UNKNOWN_HASH}?${query}`);
    assertRefused(await send('tombston=1'), 400, 'VALIDATION_ERROR', 'unknown field: tombston');
    assertRefused(await send('tombstone=yes'), 400, 'VALIDATION_ERROR', 'invalid tombstone');
    assertRefused(await send('tombstone=0'), 404, 'NOT_FOUND', 'order not found');
  });
});

test('a deadline that has passed refuses every way to place, one to come refuses none', async () => {
  const [market, alice] = [await makeMarket(server), await makeTrader(server)];
  const old = await alice.place(market, { price: '0.30', size: '2' });
  const body = () => alice.body(market, { price: '0.40', size: '2' });
  const send = (method: string, path: string, payload: unknown, deadline: string) => {
    const request = alice.client.prepareSigned(method, path, payload);
    return server.request(method, path, request.body, { ...request.headers, 'x-svc-deadline': deadline });
  };
  const routes: [string, string, () => unknown][] = [
    ['POST', '/v1/orders', body],
    ['POST', CANCEL_REPLACE, () => ({ cancel_hash: old.order_hash, new_order: body() })],
    ['PUT', `/v1/orders/${old.order_hash}/amend`, () => ({ new_order: body() })],
  ];
  const past = String(Date.now() - 1000);
  for (const [method, path, payload] of routes) {
    const late = await send(method, path, payload(), past);
    assertRefused(late, 400, 'DEADLINE_PASSED', 'deadline passed');
    for (const deadline of ['', 'soon', '0', '-5', '1.5', '1e13', '999999999999999']) {
      const answer = await send(method, path, payload(), deadline);
      assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid X-SVC-DEADLINE');
    }
  }
  // The key that it was refused with is spent.
  const [late, key] = [body(), randomUUID()];
  const keyed = { deadlineMs: Number(past), idempotencyKey: key };
  const refused = { code: 'DEADLINE_PASSED' };
  await assert.rejects(alice.client.placeOrder(late, keyed), refused);
  await assert.rejects(alice.client.placeOrder(late, { idempotencyKey: key }), refused);
  const batch = await send('POST', '/v1/orders/batch', { orders: [body()] }, past);
  assert.equal(batch.body.results[0].code, 'DEADLINE_PASSED');
  assert.equal((await alice.client.getOrder(old.order_hash)).status, 'open');
  const inTime = await alice.client.placeOrder(body(), { deadlineMs: Date.now() + 60_000 });
  assert.equal(inTime.status, 'open');
});
