/** Orders over HTTP on a real server: what is answered, what moves, and what every refusal leaves untouched. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../shared/client/http.ts';
import type { OrderRecord, UserTrade } from '../../shared/client/types.ts';
import { isOnChain } from '../support/backend.ts';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import {
  assertBalanced,
  assertMissing,
  assertRefused,
  delegateOnChain,
  deposit,
  makeMarket,
  makeTrader,
  type Trader,
} from '../support/traders.ts';

const server = await sharedServer();
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const HASH = /^0x[0-9a-f]{64}$/;
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
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
    // 50 bps of what each received: 50,000 tokens of the buyer, 32,500 micro of the seller.
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
    // On the signed scale: 4 of 10 tokens at 0.65; what was really paid is in the average.
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
  test('a FOK that fits fills at once, one that does not leaves no trace', async () => {
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

  test('a FAK takes what is there and its rest is killed with nothing remaining', async () => {
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
    const expirationSec = nowSec() + 2;
    const intent = { price: '0.30', size: '10', timeInForce: 'GTD', expirationSec } as const;
    const placed = await alice.place(market, intent);
    assert.equal(placed.status, 'open');
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

describe('refusals of a placement', () => {
  test('the same signed order is a duplicate for ever, also once it was cancelled', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.50', size: '2' });
    const { order_hash } = await alice.client.placeOrder(body);
    assertRefused(await alice.post(body), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
    await alice.client.cancelOrder(order_hash);
    assertRefused(await alice.post(body), 409, 'ORDER_PLACEMENT_FAILED', 'duplicate order');
  });

  test('a fee other than the canonical one is refused with the right one in the message', async () => {
    const market = await makeMarket(server, { fee_bps: 30 });
    const alice = await makeTrader(server);
    const answer = await alice.post(alice.body(market, { price: '0.50', size: '2' }));
    assertRefused(answer, 422, 'FEE_RATE_MISMATCH', 'fee_rate_bps mismatch: expected 30');
    assert.equal((await alice.place(market, { price: '0.50', size: '2', feeRateBps: 30 })).status, 'open');
  });

  test('what is missing is told: USDC for a buy, tokens for a sell', async () => {
    const market = await makeMarket(server);
    const alice = await makeTrader(server, { depositMicro: 5_000_000 });
    await alice.place(market, { price: '0.50', size: '4' });
    const buy = await alice.post(alice.body(market, { price: '0.50', size: '6.0002' }));
    assertMissing(buy, {
      asset: 'USDC',
      required: '3000100',
      available: '3000000',
      reserved: '2000000',
    });
    const sell = await alice.post(alice.body(market, { side: 'SELL', price: '0.90', size: '1' }));
    assertMissing(sell, { asset: 'TOKEN', required: '1000000', available: '0', reserved: '0' });
    assert.equal((await alice.place(market, { price: '0.50', size: '6' })).status, 'open', 'the last dollar is usable');
  });

  test('an order in the past, off the grid or too small is refused for that', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const past = alice.body(market, { price: '0.5', size: '2', timeInForce: 'GTD', expirationSec: nowSec() - 1 });
    assertRefused(await alice.post(past), 400, 'ORDER_EXPIRED', 'order already expired');
    const intent = { price: '0.5', size: '2' };
    const offTick = alice.bodyOf(market, intent, 1_005_000, 2_000_000);
    assertRefused(await alice.post(offTick), 400, 'INVALID_TICK', 'price is not a multiple of the tick size');
    const offLot = alice.bodyOf(market, intent, 1_000_005, 2_000_010);
    assertRefused(await alice.post(offLot), 400, 'INVALID_LOT', 'amount is not a multiple of the lot size');
    const small = alice.body(market, { price: '0.5', size: '0.9999' });
    assertRefused(await alice.post(small), 400, 'BELOW_MIN_SIZE', 'order below minimum size');
  });

  test('a signature that is not the signer’s, or none at all, is invalid', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.5', size: '2' });
    const bobs = bob.body(market, { price: '0.5', size: '2' });
    const wrong = [bobs.signature, '', '0x', '0x1234', `0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`, 'signature'];
    for (const signature of wrong) {
      const answer = await alice.post({ ...body, signature });
      assertRefused(answer, 400, 'INVALID_SIGNATURE', 'invalid order signature');
    }
    const changed = await alice.post({ ...body, salt: '1' });
    assertRefused(changed, 400, 'INVALID_SIGNATURE', 'invalid order signature');
    assert.equal((await alice.post(body)).status, 200, 'no refusal has used the order up');
  });

  test('the wallet of another account is forbidden', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const answer = await alice.post(bob.body(market, { price: '0.5', size: '2' }));
    assertRefused(answer, 403, 'FORBIDDEN', 'maker is not a wallet of this account');
  });

  test('a market that is unknown, pending or locked takes no orders', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const intent = { price: '0.5', size: '2' };
    const unknown = await alice.post(alice.body(market, intent, { market_id: UNKNOWN_MARKET }));
    assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
    await server.admin.patchMarket(market.id, { status: 'locked' });
    assertRefused(await alice.post(alice.body(market, intent)), 400, 'MARKET_NOT_ACTIVE', 'market not active');
    await server.admin.patchMarket(market.id, { status: 'active' });
    assert.equal((await alice.post(alice.body(market, intent))).status, 200);
    const pending = await makeMarket(server, { trading_starts_at: new Date(Date.now() + 3_600_000).toISOString() });
    assertRefused(await alice.post(alice.body(pending, intent)), 400, 'MARKET_NOT_ACTIVE', 'market not active');
  });

  test('a paused platform takes no placement but every cancel', async (t) => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.5', size: '2' });
    await server.admin.pause();
    t.after(() => server.admin.resume());
    const answer = await alice.post(alice.body(market, { price: '0.5', size: '2' }));
    assertRefused(answer, 503, 'PLATFORM_PAUSED', 'platform is paused');
    assert.deepEqual(await alice.client.cancelOrder(placed.order_hash), { message: 'order cancelled' });
    assert.equal((await alice.client.cancelAll()).cancelled, 0);
    assert.equal((await alice.client.cancelMarket(market.id)).cancelled, 0);
  });

  test('every form error names its field and stores nothing', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.5', size: '2' });
    const wrong: [Record<string, unknown>, string][] = [
      [{ side: 'HOLD' }, 'invalid side'],
      [{ side: undefined }, 'invalid side'],
      [{ maker_amount: '0' }, 'invalid maker_amount'],
      [{ maker_amount: 1_000_000 }, 'invalid maker_amount'],
      [{ maker_amount: '1000000000000001' }, 'invalid maker_amount'],
      [{ taker_amount: '-5' }, 'invalid taker_amount'],
      [{ taker_amount: '1.5' }, 'invalid taker_amount'],
      [{ time_in_force: 'IOC' }, 'invalid time_in_force'],
      [{ time_in_force: 'GTD' }, 'GTD orders require an expiration time'],
      [{ taker: alice.address }, 'invalid taker'],
      [{ market_id: 'x' }, 'invalid market_id'],
      [{ outcome_index: 2 }, 'invalid outcome_index'],
      [{ outcome_index: 1 }, 'token_id does not match outcome_index'],
      [{ token_id: '17' }, 'token_id does not match outcome_index'],
      [{ nonce: -1 }, 'invalid nonce'],
      [{ post_only: 'yes' }, 'invalid post_only'],
      [{ post_only: true, time_in_force: 'FOK' }, 'post_only cannot be combined with FOK or FAK'],
      [{ min_taker_net: '5' }, 'min_taker_net is for FOK and FAK orders'],
      [{ self_trade_prevention: 'all' }, 'invalid self_trade_prevention'],
      [{ salt: undefined }, 'missing field: salt'],
      [{ sied: 'BUY' }, 'unknown field: sied'],
    ];
    for (const [changes, message] of wrong) {
      assertRefused(await alice.post({ ...body, ...changes }), 400, 'VALIDATION_ERROR', message);
    }
    for (const json of [[], null, 'BUY', 5]) {
      assertRefused(await alice.post(json), 400, 'VALIDATION_ERROR', 'invalid body');
    }
    assert.deepEqual(await alice.client.openOrders(market.id), []);
    assert.equal((await alice.post(body)).status, 200, 'no refusal has used the order up');
  });

  test('an order wrong in many ways is refused for the first, then for the next as each is healed', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server, { depositMicro: 0 }), await makeTrader(server)];
    await server.admin.patchMarket(market.id, { status: 'locked' });
    const spec = { maker: bob.address, fee: 20, seconds: nowSec() - 5, usdc: 1_005, tokens: 2_010, signature: '0x' };
    const codes: string[] = [];
    const attempt = async (): Promise<void> => {
      const intent = { price: '0.5', size: '2', timeInForce: 'GTD', expirationSec: spec.seconds } as const;
      const draft = alice.body(market, { ...intent, feeRateBps: spec.fee });
      const { maker: _m, signer: _s, salt: _n, signature: _g, ...rest } = draft;
      const amounts = { maker_amount: String(spec.usdc), taker_amount: String(spec.tokens) };
      const { body } = alice.signer.sign({ ...rest, ...amounts }, { maker: spec.maker });
      const answer = await alice.post(spec.signature === '' ? body : { ...body, signature: spec.signature });
      codes.push(answer.body.code ?? answer.body.status);
    };
    await attempt();
    await server.admin.patchMarket(market.id, { status: 'active' });
    await attempt();
    spec.seconds = nowSec() + 3600;
    spec.usdc = 1_007;
    await attempt();
    spec.usdc = 1_005;
    await attempt();
    spec.usdc = 1_000;
    spec.tokens = 2_000;
    await attempt();
    spec.usdc = 1_000_000;
    spec.tokens = 2_000_000;
    await attempt();
    spec.signature = '';
    await attempt();
    spec.maker = alice.address;
    await attempt();
    spec.fee = 50;
    await attempt();
    await deposit(server, alice.userId, alice.address, 1_000_000);
    await attempt();
    assert.deepEqual(codes, [
      'MARKET_NOT_ACTIVE',
      'ORDER_EXPIRED',
      'INVALID_TICK',
      'INVALID_LOT',
      'BELOW_MIN_SIZE',
      'INVALID_SIGNATURE',
      'FORBIDDEN',
      'FEE_RATE_MISMATCH',
      'INSUFFICIENT_BALANCE',
      'open',
    ]);
  });

  test('a key without the scope, and no key at all, place nothing', async () => {
    const market = await makeMarket(server);
    const reader = await makeTrader(server, { scopes: ['read:account'] });
    const body = reader.body(market, { price: '0.5', size: '2' });
    assertRefused(await reader.post(body), 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    const answer = await server.request('POST', '/v1/orders', body);
    assertRefused(answer, 401, 'UNAUTHORIZED', 'missing required API key headers');
  });
});

describe('cancelling', () => {
  test('a cancel gives the money back at once; the second one is a conflict', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.50', size: '8' });
    const path = `/v1/orders/${placed.order_hash}`;
    const answer = await alice.send('DELETE', path);
    assert.deepEqual([answer.status, answer.body], [200, { message: 'order cancelled' }]);
    assert.deepEqual(await alice.holdings(market), { usdc: 1_000_000_000, reserved: 0, yes: 0, no: 0 });
    assert.equal((await alice.client.getOrder(placed.order_hash)).status, 'cancelled');
    assertRefused(await alice.send('DELETE', path), 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
  });

  test('a partly filled order keeps its fills and a filled one cannot be cancelled', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.50', size: '8' });
    const taken = await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '3' });
    await alice.client.cancelOrder(placed.order_hash);
    const record = await alice.client.getOrder(placed.order_hash);
    assert.deepEqual([record.status, record.filled_amount, record.remaining], ['cancelled', '1500000', '2500000']);
    const filled = await bob.send('DELETE', `/v1/orders/${taken.order_hash}`);
    assertRefused(filled, 409, 'ORDER_NOT_CANCELLABLE', 'order cannot be cancelled');
  });

  test('the order of another account does not exist, open or closed', async () => {
    const market = await makeMarket(server);
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    const placed = await alice.place(market, { price: '0.50', size: '8' });
    const path = `/v1/orders/${placed.order_hash}`;
    for (const method of ['GET', 'DELETE']) {
      assertRefused(await bob.send(method, path), 404, 'NOT_FOUND', 'order not found');
    }
    assert.equal((await alice.client.getOrder(placed.order_hash)).status, 'open');
    await alice.client.cancelOrder(placed.order_hash);
    for (const method of ['GET', 'DELETE']) {
      assertRefused(await bob.send(method, path), 404, 'NOT_FOUND', 'order not found');
    }
  });

  test('an unknown hash is not found and a malformed one invalid', async () => {
    const alice = await makeTrader(server);
    for (const method of ['GET', 'DELETE']) {
      assertRefused(await alice.send(method, `/v1/orders/${UNKNOWN_HASH}`), 404, 'NOT_FOUND', 'order not found');
      for (const hash of ['0x12', 'abc', UNKNOWN_HASH.slice(2), `${UNKNOWN_HASH}00`, UNKNOWN_HASH.replace('b', 'g')]) {
        const answer = await alice.send(method, `/v1/orders/${hash}`);
        assertRefused(answer, 400, 'VALIDATION_ERROR', 'invalid order hash');
      }
    }
  });

  test('a hash is read in either case', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const { order_hash } = await alice.place(market, { price: '0.50', size: '8' });
    const upper = `0x${order_hash.slice(2).toUpperCase()}`;
    assert.equal((await alice.client.getOrder(upper)).order_hash, order_hash);
    await alice.client.cancelOrder(upper);
    assert.equal((await alice.client.getOrder(upper)).order_hash, order_hash);
  });

  test('a cancel sent right behind its placement finds the order', async () => {
    const [market, alice] = [await makeMarket(server), await makeTrader(server)];
    const body = alice.body(market, { price: '0.50', size: '8' });
    const { maker: _m, signer: _s, signature: _g, salt, ...draft } = body;
    const { orderHash } = alice.signer.sign(draft, { salt });
    const [placed, cancelled] = await Promise.all([alice.post(body), alice.send('DELETE', `/v1/orders/${orderHash}`)]);
    assert.equal(placed.status, 200);
    // Over two connections the cancel may still arrive first, and then there is nothing to cancel.
    const { status } = await alice.client.getOrder(orderHash);
    assert.deepEqual([cancelled.status, status], cancelled.status === 200 ? [200, 'cancelled'] : [404, 'open']);
  });

  test('cancel-all reaches every market of every shard and nobody else', async () => {
    const markets = await Promise.all([1, 2, 3, 4].map(() => makeMarket(server)));
    const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
    for (const market of markets) {
      await alice.place(market, { price: '0.50', size: '2' });
      await alice.place(market, { outcomeIndex: 1, price: '0.20', size: '2' });
    }
    const bobs = await bob.place(markets[0], { price: '0.10', size: '2' });
    const answer = await alice.send('DELETE', '/v1/orders/cancel-all');
    assert.deepEqual([answer.status, answer.body.cancelled, typeof answer.body.message], [200, 8, 'string']);
    for (const market of markets) assert.deepEqual(await alice.client.openOrders(market.id), []);
    assert.equal((await bob.client.getOrder(bobs.order_hash)).status, 'open');
    assert.equal((await alice.client.cancelAll()).cancelled, 0);
    assert.equal((await alice.holdings(markets[0])).reserved, 0);
  });

  test('cancel-market takes one market, or one outcome of it', async () => {
    const [market, other, alice] = [await makeMarket(server), await makeMarket(server), await makeTrader(server)];
    for (const outcomeIndex of [0, 0, 1] as const) {
      await alice.place(market, { outcomeIndex, price: '0.20', size: '2' });
      await alice.place(other, { outcomeIndex, price: '0.20', size: '2' });
    }
    const answer = await alice.send('DELETE', '/v1/orders/cancel-market', { market_id: market.id, outcome_index: 0 });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { message: answer.body.message, market_id: market.id, cancelled: 2 });
    assert.equal((await alice.client.cancelMarket(market.id)).cancelled, 1);
    assert.equal((await alice.client.openOrders(other.id)).length, 3);
  });

  test('mass cancels check body and scope', async () => {
    const alice = await makeTrader(server);
    const wrong: [unknown, string][] = [
      [{}, 'missing field: market_id'],
      [{ market_id: 'x' }, 'invalid market_id'],
      [{ market_id: UNKNOWN_MARKET, outcome_index: 2 }, 'invalid outcome_index'],
      [{ market_id: UNKNOWN_MARKET, outcome: 0 }, 'unknown field: outcome'],
      [[], 'invalid body'],
    ];
    for (const [body, message] of wrong) {
      const answer = await alice.send('DELETE', '/v1/orders/cancel-market', body);
      assertRefused(answer, 400, 'VALIDATION_ERROR', message);
    }
    const unknown = await alice.send('DELETE', '/v1/orders/cancel-market', { market_id: UNKNOWN_MARKET });
    assertRefused(unknown, 404, 'NOT_FOUND', 'market not found');
    const limited = await makeTrader(server, { scopes: ['trade:orders', 'read:account'] });
    for (const [path, body] of [
      ['/v1/orders/cancel-all', undefined],
      ['/v1/orders/cancel-market', { market_id: UNKNOWN_MARKET }],
    ] as const) {
      const answer = await limited.send('DELETE', path, body);
      assertRefused(answer, 403, 'INSUFFICIENT_SCOPE', 'API key lacks the required scope');
    }
  });
});

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

  test('an order reads the same before and after it closed but for what the closing changed', async () => {
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

  test('is used by one open order of the account at a time, while a repeat is still told that it is one', async () => {
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
