/** Refused placements: by which error, in which order of several, and that nothing of them is kept. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { afterEachOfFile, sharedServer } from '../support/server.ts';
import { assertBalanced, assertMissing, assertRefused, deposit, makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN_MARKET = '01900000-0000-7000-8000-000000000000';
const nowSec = (): number => Math.floor(Date.now() / 1000);

afterEachOfFile(() => assertBalanced(server));

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

  test('a refusal names what is missing: USDC for a buy, tokens for a sell', async () => {
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

  test('the remainder of the smallest order after its fee can be sold, and merged to the last token', async () => {
    const [market, alice, bob] = [await makeMarket(server), await makeTrader(server), await makeTrader(server)];
    const sell = (size: string, more: object = {}) => bob.body(market, { side: 'SELL', price: '0.40', size, ...more });
    await bob.client.split(market.id, 2_000_000);
    await bob.place(market, { side: 'SELL', price: '0.50', size: '2' });
    await alice.place(market, { price: '0.50', size: '1' });
    assert.equal((await alice.holdings(market)).yes, 995_000);
    const mine = (size: string, more: object = {}) =>
      alice.body(market, { side: 'SELL', price: '0.60', size, ...more });
    for (const size of ['0.9949', '0.0001']) {
      assertRefused(await alice.post(mine(size)), 400, 'BELOW_MIN_SIZE', 'order below minimum size');
    }
    const { order_hash } = await alice.client.placeOrder(mine('0.995'));
    assertRefused(await alice.post(mine('0.995')), 400, 'BELOW_MIN_SIZE', 'order below minimum size');
    const replaced = await alice.client.cancelReplace(order_hash, mine('0.995', { price: '0.50' }));
    await alice.client.cancelOrder(replaced.order.order_hash);
    await bob.place(market, { price: '0.30', size: '5' });
    const sold = await alice.client.placeOrder(mine('0.995', { price: '0.30', timeInForce: 'FOK' }));
    assert.equal(sold.status, 'filled');
    assert.equal((await alice.holdings(market)).yes, 0);

    await bob.client.cancelAll();
    const before = await bob.holdings(market);
    assert.deepEqual([before.yes, before.no], [1_990_025, 2_000_000], 'a fee leaves less than a lot');
    const sets = before.yes;
    assertRefused(
      await bob.send('POST', `/v1/markets/${market.id}/split`, { amount: '150' }),
      400,
      'INVALID_LOT',
      'amount is not a multiple of the lot size',
    );
    await bob.client.merge(market.id, 1);
    await bob.client.merge(market.id, sets - 1);
    const after = await bob.holdings(market);
    assert.deepEqual([after.yes, after.no], [before.yes - sets, before.no - sets]);
    assert.equal(after.usdc, before.usdc + sets);
    assertRefused(await bob.post(sell('0.5')), 400, 'BELOW_MIN_SIZE', 'order below minimum size');
    await assertBalanced(server);
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
