/** Placements over HTTP on a real server: answers, resting orders, matches and movements of money. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { OrderRecord, PlacementResponse } from '../../shared/client/types.ts';
import { type Answer, afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertRefused, delegateOnChain, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const HASH = /^0x[0-9a-f]{64}$/;
const nowSec = (): number => Math.floor(Date.now() / 1000);

afterEachOfFile(() => assertBalanced(server));

describe('placing', () => {
  test('a resting order is answered open, reserves its price and is read back to the letter', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.65', size: '10' });
    assert.match(placed.order_id, UUID);
    assert.match(placed.order_hash, HASH);
    assert.deepEqual(
      { ...placed, order_id: '', order_hash: '' },
      {
        order_id: '',
        order_hash: '',
        status: 'open',
        matches: 0,
        fills: [],
        remaining: '6500000',
        remaining_status: 'open',
      },
    );
    assert.deepEqual(await alice.holdings(market), { usdc: 993_500_000, reserved: 6_500_000, yes: 0, no: 0 });
    const record = await alice.client.getOrder(placed.order_hash);
    assert.ok(Math.abs(Date.parse(record.created_at) - Date.now()) < 60_000);
    const expected: OrderRecord = {
      id: placed.order_id,
      order_hash: placed.order_hash,
      market_id: market.id,
      side: 'BUY',
      price: '0.65000000',
      status: 'open',
      remaining: '6500000',
      filled_amount: '0',
      time_in_force: 'GTC',
      post_only: false,
      created_at: record.created_at,
      filled_token_quantity_atomic: '0',
      average_fill_price: null,
      sequence: record.sequence,
      outcome_index: 0,
    };
    assert.deepEqual(record, expected);
    assert.deepEqual(await alice.client.openOrders(market.id), [expected]);
  });

  test('an unknown query parameter is refused by name on a read with a key, ignored on a public one', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    for (const path of [`/v1/orders/open/${market.id}`, '/v1/user/orders/v2', '/v1/user/balances', '/v1/rate-limits']) {
      const answer = await alice.send('GET', `${path}?limt=5`);
      assertRefused(answer, 400, 'VALIDATION_ERROR', 'unknown field: limt');
    }
    assert.equal((await server.request('GET', `/v1/orders/book/${market.id}?limt=5`)).status, 200);
  });

  test('a body that a cancel does not know is refused by name, and nothing is cancelled', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const { order_hash } = await alice.place(market, { price: '0.65', size: '10' });
    for (const path of [`/v1/orders/${order_hash}`, '/v1/orders/cancel-all', '/v1/orders/by-client-id/mine']) {
      const answer = await alice.send('DELETE', path, { market_id: market.id });
      assertRefused(answer, 400, 'VALIDATION_ERROR', 'unknown field: market_id');
    }
    assert.equal((await alice.client.openOrders(market.id)).length, 1);
    assert.equal((await alice.send('DELETE', `/v1/orders/${order_hash}`, {})).status, 200);
  });

  test('the hash of a placement is the EIP-712 digest the signer computed', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.40', size: '5' });
    const { order_hash } = await alice.client.placeOrder(body);
    const draft = { ...body, maker: undefined, signer: undefined, salt: undefined, signature: undefined };
    const again = alice.signer.sign(draft as never, { salt: body.salt });
    assert.equal(order_hash, again.orderHash);
  });

  test('a standard match moves tokens and USDC and charges both sides to the micro', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await bob.client.split(market.id, 10_000_000);
    await alice.place(market, { price: '0.65', size: '10' });
    const placed = await bob.place(market, { side: 'SELL', price: '0.60', size: '10' });
    assert.equal(placed.status, 'filled');
    assert.equal(placed.matches, 1);
    const [fill] = placed.fills;
    assert.match(fill!.trade_id, UUID);
    assert.deepEqual(
      { ...fill, trade_id: '', maker_order_id: '' },
      {
        trade_id: '',
        price: '0.65',
        token_quantity_atomic: '10000000',
        notional_usdc_micro: '6500000',
        match_type: 'standard',
        maker_order_id: '',
      },
    );
    // Each pays 50 bps of what it received: the buyer of 50,000 tokens, the seller of 32,500 micro.
    assert.deepEqual(await alice.holdings(market), { usdc: 993_500_000, reserved: 0, yes: 9_950_000, no: 0 });
    assert.deepEqual(await bob.holdings(market), {
      usdc: 990_000_000 + 6_500_000 - 32_500,
      reserved: 0,
      yes: 0,
      no: 10_000_000,
    });
  });

  test('two buyers of opposite outcomes mint sets at the price of the one who waited', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const resting = await alice.place(market, { price: '0.65', size: '10' });
    const placed = await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '10' });
    assert.equal(placed.status, 'filled');
    assert.deepEqual(
      placed.fills.map(({ trade_id: _, ...fill }) => fill),
      [
        {
          price: '0.35',
          token_quantity_atomic: '10000000',
          notional_usdc_micro: '3500000',
          match_type: 'mint',
          maker_order_id: resting.order_id,
        },
      ],
    );
    assert.deepEqual(await alice.holdings(market), { usdc: 993_500_000, reserved: 0, yes: 9_950_000, no: 0 });
    assert.deepEqual(await bob.holdings(market), { usdc: 996_500_000, reserved: 0, yes: 0, no: 9_950_000 });
  });

  test('two sellers of opposite outcomes merge sets and share the collateral', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    for (const trader of [alice, bob]) await trader.client.split(market.id, 10_000_000);
    await alice.place(market, { side: 'SELL', price: '0.60', size: '10' });
    const placed = await bob.place(market, { side: 'SELL', outcomeIndex: 1, price: '0.38', size: '10' });
    assert.equal(placed.fills[0].match_type, 'merge');
    assert.equal(placed.fills[0].price, '0.4');
    assert.deepEqual(await alice.holdings(market), {
      usdc: 990_000_000 + 6_000_000 - 30_000,
      reserved: 0,
      yes: 0,
      no: 10_000_000,
    });
    assert.deepEqual(await bob.holdings(market), {
      usdc: 990_000_000 + 4_000_000 - 20_000,
      reserved: 0,
      yes: 10_000_000,
      no: 0,
    });
  });

  test('a better price keeps the quantity and gives the rest of the money back', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.client.split(market.id, 10_000_000);
    await alice.place(market, { side: 'SELL', price: '0.55', size: '4' });
    const placed = await bob.place(market, { price: '0.65', size: '10' });
    assert.equal(placed.status, 'partially_filled');
    const record = await bob.client.getOrder(placed.order_hash);
    assert.equal(record.status, 'partially_filled');
    // On the signed scale: 4 of 10 tokens at 0.65; the price really paid is in the average.
    assert.equal(record.filled_amount, '2600000');
    assert.equal(record.remaining, '3900000');
    assert.equal(record.filled_token_quantity_atomic, '4000000');
    assert.equal(record.average_fill_price, '0.55000000');
    assert.deepEqual(await bob.holdings(market), {
      usdc: 1_000_000_000 - 2_200_000 - 3_900_000,
      reserved: 3_900_000,
      yes: 3_980_000,
      no: 0,
    });
  });

  test('the better price goes first, at one price the earlier order', async () => {
    const market = await makeMarket(server);
    const [alice, bob, carol] = [await makeTrader(server), await makeTrader(server), await makeTrader(server)];
    const first = await alice.place(market, { price: '0.60', size: '5' });
    const second = await bob.place(market, { price: '0.60', size: '5' });
    const best = await bob.place(market, { price: '0.61', size: '5' });
    const placed = await carol.place(market, { outcomeIndex: 1, price: '0.45', size: '12' });
    assert.deepEqual(
      placed.fills.map(({ maker_order_id, price, token_quantity_atomic }) => [
        maker_order_id,
        price,
        token_quantity_atomic,
      ]),
      [
        [best.order_id, '0.39', '5000000'],
        [first.order_id, '0.4', '5000000'],
        [second.order_id, '0.4', '2000000'],
      ],
    );
  });

  test('a signature by a linked delegate is accepted', async () => {
    const market = await makeMarket(server);
    const [alice, delegate] = [await makeTrader(server), await makeTrader(server, { depositMicro: 0 })];
    const body = delegate.body(market, { price: '0.50', size: '2' }, {}, alice.address);
    assertRefused(await alice.post(body), 403, 'FORBIDDEN', 'maker is not a wallet of this account');
    await delegateOnChain(server, alice.address, delegate.address);
    await server.admin.addDelegate(alice.userId, alice.address, delegate.address);
    assert.equal((await alice.post(body)).body.status, 'open');
    assert.equal((await alice.holdings(market)).reserved, 1_000_000);
  });

  test('addresses and market ids are read in either case', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.50', size: '2' }, { market_id: market.id.toUpperCase() });
    const maker = `0x${body.maker.slice(2).toUpperCase()}`;
    assert.equal((await alice.post({ ...body, maker })).status, 200);
  });

  test('a nonce as text is signed and accepted like the number', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const answer = await alice.post(alice.body(market, { price: '0.50', size: '2', nonce: 77 }, { nonce: '77' }));
    assert.equal(answer.status, 200);
  });

  test('self-trade prevention follows the order, else the key', async () => {
    const market = await makeMarket(server);
    const alice = await makeTrader(server, { selfTradePrevention: 'cancel_newest' });
    const resting = await alice.place(market, { price: '0.60', size: '5' });
    const stopped = await alice.place(market, { outcomeIndex: 1, price: '0.50', size: '5' });
    assert.deepEqual([stopped.status, stopped.matches], ['cancelled', 0]);
    // RULES.md 2.9: without this it would look like an order that rests.
    assert.equal(stopped.remaining_status, 'cancelled');
    assert.equal((await alice.client.getOrder(stopped.order_hash)).status, 'cancelled');
    assert.equal((await alice.client.getOrder(resting.order_hash)).status, 'open');
    const oldest = await alice.place(market, {
      outcomeIndex: 1,
      price: '0.50',
      size: '5',
      selfTradePrevention: 'cancel_oldest',
    });
    assert.equal(oldest.status, 'open');
    assert.equal((await alice.client.getOrder(resting.order_hash)).status, 'cancelled');
    const traded = await alice.place(market, { price: '0.50', size: '5', selfTradePrevention: 'none' });
    assert.deepEqual([traded.status, traded.matches], ['filled', 1]);
  });
});

describe('time in force', () => {
  test('a FOK that can be filled completely fills at once; otherwise it leaves no trace', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.place(market, { price: '0.60', size: '10' });
    const before = await bob.holdings(market);
    const tooLarge = bob.body(market, { outcomeIndex: 1, price: '0.40', size: '10.01', timeInForce: 'FOK' });
    assertRefused(await bob.post(tooLarge), 400, 'FOK_NOT_FILLED', 'FOK order could not be fully filled');
    assert.deepEqual(await bob.holdings(market), before);
    const fits = await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '10', timeInForce: 'FOK' });
    assert.deepEqual([fits.status, fits.matches], ['filled', 1]);
    assert.deepEqual([fits.remaining, fits.remaining_status], ['0', 'none']);
  });

  test('a FAK takes the available quantity, and the rest is killed with nothing remaining', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const nothing = bob.body(market, { outcomeIndex: 1, price: '0.40', size: '10', timeInForce: 'FAK' });
    assertRefused(await bob.post(nothing), 400, 'FAK_NO_FILL', 'FAK order had no immediate fills');
    await alice.place(market, { price: '0.60', size: '4' });
    const placed = await bob.place(market, { outcomeIndex: 1, price: '0.40', size: '10', timeInForce: 'FAK' });
    assert.deepEqual([placed.status, placed.matches], ['partially_filled', 1]);
    assert.deepEqual([placed.remaining, placed.remaining_status], ['0', 'cancelled']);
    const record = await bob.client.getOrder(placed.order_hash);
    assert.deepEqual(
      [record.status, record.remaining, record.filled_amount, record.time_in_force],
      ['cancelled', '0', '1600000', 'FAK'],
    );
    assert.deepEqual(await bob.holdings(market), { usdc: 998_400_000, reserved: 0, yes: 0, no: 3_980_000 });
    assert.deepEqual(await bob.client.openOrders(market.id), []);
  });

  test('an off-grid FAK fills at the worst tick its ratio honours and never beyond', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.client.split(market.id, 20_000_000);
    await alice.place(market, { side: 'SELL', price: '0.66', size: '10' });
    const intent = { price: '0.65', size: '10', timeInForce: 'FAK' } as const;
    // 6,507,000 for 10,000,050 is a little over 0.65: the limit is 0.65, and the offer at 0.66 stays.
    const buy = bob.bodyOf(market, intent, 6_507_000, 10_000_050);
    assertRefused(await bob.post(buy), 400, 'FAK_NO_FILL', 'FAK order had no immediate fills');
    await alice.place(market, { side: 'SELL', price: '0.65', size: '10' });
    const answer = await bob.post(bob.bodyOf(market, intent, 6_507_000, 10_000_050));
    assert.equal(answer.body.status, 'filled');
    assert.equal(answer.body.fills[0].notional_usdc_micro, '6500000');
    assert.deepEqual(await bob.holdings(market), { usdc: 993_500_000, reserved: 0, yes: 9_950_000, no: 0 });
    const record = await bob.client.getOrder(answer.body.order_hash);
    assert.deepEqual([record.status, record.remaining, record.price], ['filled', '0', '0.65069674']);
  });

  test('a ratio with no tick from 1 to D-1 has no limit', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const intent = { price: '0.5', size: '10', timeInForce: 'FOK' } as const;
    const message = 'price is not a multiple of the tick size';
    const tooLow = alice.bodyOf(market, intent, 99_000, 10_000_000);
    assertRefused(await alice.post(tooLow), 400, 'INVALID_TICK', message);
    const sellTooHigh = { ...intent, side: 'SELL' } as const;
    const body = alice.bodyOf(market, sellTooHigh, 10_000_000, 9_900_001);
    assertRefused(await alice.post(body), 400, 'INVALID_TICK', message);
  });

  test('a post-only order rests or is refused, and never trades', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.place(market, { price: '0.60', size: '10' });
    const crossing = bob.body(market, { outcomeIndex: 1, price: '0.40', size: '1', postOnly: true });
    assertRefused(await bob.post(crossing), 400, 'POST_ONLY_WOULD_CROSS', 'post-only order would cross the book');
    const resting = await bob.place(market, { outcomeIndex: 1, price: '0.39', size: '1', postOnly: true });
    assert.equal(resting.status, 'open');
    assert.equal((await bob.client.getOrder(resting.order_hash)).post_only, true);
  });

  test('a minimum net is met after the fee or nothing happens', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    await alice.place(market, { price: '0.60', size: '10' });
    const intent = { outcomeIndex: 1, price: '0.40', size: '10', timeInForce: 'FOK' } as const;
    const greedy = bob.body(market, { ...intent, minTakerNet: '9950001' });
    assertRefused(await bob.post(greedy), 400, 'MIN_NET_NOT_MET', 'minimum net not met');
    assert.equal((await bob.place(market, { ...intent, minTakerNet: '9950000' })).status, 'filled');
  });

  test('a GTD order rests until its second has come, then expires for good', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const intent = { price: '0.30', size: '10', timeInForce: 'GTD' } as const;
    let expirationSec = 0;
    let answer: Answer;
    // On a busy machine the order may take longer than its life is.
    for (let lifeSec = 2; ; lifeSec *= 2) {
      expirationSec = nowSec() + lifeSec;
      answer = await alice.post(alice.body(market, { ...intent, expirationSec }));
      if (answer.body.code !== 'ORDER_EXPIRED') break;
    }
    assert.equal(answer.body.status, 'open', JSON.stringify(answer.body));
    const placed: PlacementResponse = answer.body;
    let record = await alice.client.getOrder(placed.order_hash);
    while (record.status === 'open') {
      await pause(50);
      record = await alice.client.getOrder(placed.order_hash);
    }
    assert.equal(record.status, 'expired');
    assert.ok(Date.now() >= expirationSec * 1000);
    assert.deepEqual(await alice.holdings(market), { usdc: 1_000_000_000, reserved: 0, yes: 0, no: 0 });
    const cancelled = await alice.send('DELETE', `/v1/orders/${placed.order_hash}`);
    assertRefused(cancelled, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
  });
});
