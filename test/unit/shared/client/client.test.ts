import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createVerifier } from '../../../../engine/verify/createVerifier.ts';
import { TICKS_PER_UNIT } from '../../../../shared/base/codes.ts';
import { tryParseHex } from '../../../../shared/base/hex.ts';
import { tickToPrice, unitsToDecimal } from '../../../../shared/base/units.ts';
import {
  AdminClient,
  ApiError,
  addressOf,
  draftOrder,
  ExchangeClient,
  floorSize,
  signOrder,
} from '../../../../shared/client/index.ts';
import { orderDigest } from '../../../../shared/crypto/eip712.ts';
import { AUTH_HEADER, NONCE_FORM, stringToSignV2 } from '../../../../shared/crypto/hmac.ts';
import { keccak256 } from '../../../../shared/crypto/keccak.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const PRIVATE_KEY = '0x0000000000000000000000000000000000000000000000000000000000000001';
const WALLET = '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf';
const CREDENTIALS = { keyId: 'key-1', secret: 'c2VjcmV0LXNlY3JldA', passphrase: 'open sesame' };
const MARKET = {
  id: '0190a6f0-7b1c-7abc-8def-0123456789ab',
  yes_token_id: '11',
  no_token_id: '22',
  ticks_per_unit: 100,
};
const CONFIG = {
  chain_id: 137,
  exchange_address: '0xab27b729d9cc4cb1c00960700446924159e9298d',
  eip712_domain: { name: 'Prediction Market Exchange', version: '1' },
};
const DOMAIN = { ...CONFIG.eip712_domain, chainId: 137, verifyingContract: CONFIG.exchange_address };
const INTENT = { market: MARKET, outcomeIndex: 0, side: 'BUY', price: '0.65', size: '100', feeRateBps: 50 } as const;
const NOW_SEC = 1_790_000_000;
const ORDER_HASH = `0x${'ab'.repeat(32)}`;

type Received = { method: string; url: string; headers: IncomingHttpHeaders; body: string };
type Answer = { status?: number; headers?: Record<string, string>; body: unknown };

/** A server that records requests and answers by "METHOD path". */
let server: Server;
let baseUrl: string;
let received: Received[] = [];
let answers: Record<string, Answer> = {};

describe('the typed client', () => {
  before(async () => {
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      const { method = '', url = '', headers } = request;
      received.push({ method, url, headers, body });
      const answer = answers[`${method} ${url}`] ?? { status: 404, body: { error: 'not found', code: 'NOT_FOUND' } };
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received = [];
    answers = {};
  });

  test('a price and a size become exact amounts at every tick of every grid, on both sides', () => {
    for (const ticksPerUnit of TICKS_PER_UNIT) {
      const market = { ...MARKET, ticks_per_unit: ticksPerUnit };
      const lots = 1_234_567;
      const size = unitsToDecimal(lots * ticksPerUnit);
      for (let ticks = 1; ticks < ticksPerUnit; ticks++) {
        const price = tickToPrice(ticks, ticksPerUnit);
        const buy = draftOrder({ ...INTENT, market, price, size });
        const sell = draftOrder({ ...INTENT, market, price, size, side: 'SELL' });
        assert.equal(buy.maker_amount, String(lots * ticks));
        assert.equal(buy.taker_amount, String(lots * ticksPerUnit));
        assert.deepEqual([sell.taker_amount, sell.maker_amount], [buy.maker_amount, buy.taker_amount]);
      }
    }
  });

  test('a price or a size off the grid is refused, never rounded', () => {
    for (const price of ['0.655', '0', '1', '-0.5', 'half', '']) {
      assert.throws(() => draftOrder({ ...INTENT, price }), /not a step of 0\.01 between 0\.01 and 0\.99/, price);
    }
    for (const size of ['0', '-1', '1.00001', '0.000001', '1000000000.0001', 'ten', '']) {
      assert.throws(() => draftOrder({ ...INTENT, size }), /not a multiple of 0\.0001 tokens/, size);
    }
    assert.equal(draftOrder({ ...INTENT, size: '1000000000' }).taker_amount, '1000000000000000');
  });

  test('a redirect is an error, and its target sees neither the request nor the headers of the key', async () => {
    const client = new ExchangeClient({ baseUrl, credentials: CREDENTIALS });
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `${baseUrl}/elsewhere`;
      received = [];
      answers = {
        'GET /v1/user/balances': { status, headers: { location }, body: {} },
        'GET /elsewhere': { body: { usdc: {}, tokens: [] } },
      };
      await assert.rejects(client.balances(), TypeError, `status ${status}`);
      assert.deepEqual(
        received.map(({ url }) => url),
        ['/v1/user/balances'],
      );
    }
  });

  test('floorSize gives the largest size on the grid that is not above', () => {
    assert.equal(floorSize('1.234567', 100), '1.2345');
    assert.equal(floorSize('1.234567', 10_000), '1.23');
    assert.equal(floorSize('0.00001', 100), '0');
    assert.throws(() => floorSize('much', 100), RangeError);
  });

  test('the outcome selects the token, and defaults equal those of the documented body', () => {
    assert.deepEqual(draftOrder(INTENT), {
      market_id: MARKET.id,
      token_id: '11',
      side: 'BUY',
      maker_amount: '65000000',
      taker_amount: '100000000',
      nonce: 0,
      expiration: 0,
      fee_rate_bps: 50,
      outcome_index: 0,
      time_in_force: 'GTC',
      post_only: false,
    });
    assert.equal(draftOrder({ ...INTENT, outcomeIndex: 1 }).token_id, '22');
  });

  test('a member that an order does not have is refused, with the one that it looks like', () => {
    for (const name of ['postonly', 'post_only', 'PostOnly'])
      assert.throws(
        () => draftOrder({ ...INTENT, [name]: true }),
        /^TypeError: an order has no .+: it is written postOnly$/,
      );
    assert.throws(() => draftOrder({ ...INTENT, quantity: '5' } as never), /^TypeError: an order has no quantity$/);
  });

  test('a signed order verifies under its order hash, and every order has its own salt', () => {
    const first = signOrder({ ...INTENT, privateKey: PRIVATE_KEY }, DOMAIN);
    const second = signOrder({ ...INTENT, privateKey: PRIVATE_KEY }, DOMAIN);
    assert.notEqual(first.body.salt, second.body.salt);
    assert.notEqual(first.orderHash, second.orderHash);
    const { body, orderHash } = first;
    const digest = orderDigest(
      {
        salt: body.salt,
        maker: WALLET,
        signer: WALLET,
        tokenId: '11',
        makerAmount: 65_000_000,
        takerAmount: 100_000_000,
        expirationSec: 0,
        nonce: 0,
        feeRateBps: 50,
        minTakerNet: 0,
        side: 0,
      },
      DOMAIN,
    );
    assert.equal(orderHash, digest);
    const verifier = createVerifier('noble', keccak256);
    assert.ok(verifier.verify(bytesOf(orderHash), 0, bytesOf(body.signature), 0, bytesOf(WALLET), 0));
  });

  test('a delegate signs as itself for the wallet that pays', () => {
    const maker = `0x${'11'.repeat(20)}`;
    const { body } = signOrder({ ...INTENT, privateKey: PRIVATE_KEY, maker }, DOMAIN);
    assert.equal(body.maker, maker);
    assert.equal(body.signer, WALLET.toLowerCase());
  });

  test('a malformed private key is refused', () => {
    for (const key of ['', PRIVATE_KEY.slice(2), `0x${'00'.repeat(32)}`, `0x${'ff'.repeat(32)}`]) {
      assert.throws(() => addressOf(key), RangeError);
    }
    assert.equal(addressOf(PRIVATE_KEY), WALLET);
  });

  test('a signed request carries version 2 headers over exactly the path and the body it sends', async () => {
    const client = newClient();
    const { body } = signOrder({ ...INTENT, privateKey: PRIVATE_KEY }, DOMAIN);
    answers['POST /v1/orders'] = { body: { order_hash: ORDER_HASH, status: 'open', matches: 0, fills: [] } };
    const path = '/v1/user/orders/v2?status=open%2Cfilled&limit=5';
    answers[`GET ${path}`] = { body: { orders: [], total: 0, limit: 5, offset: 0 } };
    assert.equal(
      (await client.placeOrder(body, { idempotencyKey: '5f0c8e86-2d07-4d0c-9d6a-0a86e6f7d7e1' })).status,
      'open',
    );
    await client.userOrders({ status: 'open,filled', side: undefined, limit: 5 });
    assert.equal(received.length, 2);
    for (const { method, url, headers, body: sent } of received) {
      const nonce = headers[AUTH_HEADER.NONCE] as string;
      assert.match(nonce, NONCE_FORM);
      assert.equal(headers[AUTH_HEADER.VERSION], '2');
      assert.equal(headers[AUTH_HEADER.API_KEY], CREDENTIALS.keyId);
      assert.equal(headers[AUTH_HEADER.PASSPHRASE], CREDENTIALS.passphrase);
      assert.equal(headers[AUTH_HEADER.TIMESTAMP], String(NOW_SEC));
      const text = stringToSignV2(String(NOW_SEC), nonce, method, url, createHash('sha256').update(sent).digest('hex'));
      const key = Buffer.from(CREDENTIALS.secret, 'base64url');
      assert.equal(headers[AUTH_HEADER.SIGNATURE], createHmac('sha256', key).update(text).digest('base64url'));
    }
    assert.deepEqual(JSON.parse(received[0].body), body);
    assert.equal(received[0].headers['idempotency-key'], '5f0c8e86-2d07-4d0c-9d6a-0a86e6f7d7e1');
    assert.equal(received[0].headers['content-type'], 'application/json');
    assert.equal(received[1].body, '');
    assert.notEqual(received[0].headers[AUTH_HEADER.NONCE], received[1].headers[AUTH_HEADER.NONCE]);
  });

  test('every method reaches its documented route, and is signed with a key, probes apart', async () => {
    const client = newClient();
    const id = MARKET.id;
    const calls: [string, boolean, () => Promise<unknown>][] = [
      [`DELETE /v1/orders/${ORDER_HASH}`, true, () => client.cancelOrder(ORDER_HASH)],
      [`GET /v1/orders/${ORDER_HASH}`, true, () => client.getOrder(ORDER_HASH)],
      [`GET /v1/orders/open/${id}`, true, () => client.openOrders(id)],
      ['DELETE /v1/orders/cancel-all', true, () => client.cancelAll()],
      ['DELETE /v1/orders/cancel-market', true, () => client.cancelMarket(id, 1)],
      ['GET /v1/user/orders/v2', true, () => client.userOrders()],
      ['GET /v1/user/orders', true, () => client.legacyUserOrders()],
      [`GET /v1/trades/${id}/settlement`, true, () => client.tradeSettlement(id)],
      ['GET /v1/user/trades?limit=7', true, () => client.legacyUserTrades({ limit: 7 })],
      ['GET /v1/user/activity?type=fill', true, () => client.userActivity({ type: 'fill' })],
      [
        `GET /v1/user/trades/v2?market_id=${id}&side=BUY`,
        true,
        () => client.userTrades({ market_id: id, side: 'BUY' }),
      ],
      ['GET /v1/user/balances', true, () => client.balances()],
      [`POST /v1/markets/${id}/split`, true, () => client.split(id, 1_000_000)],
      [`POST /v1/markets/${id}/merge`, true, () => client.merge(id, 1_000_000)],
      [`GET /v1/market-data/${id}/fee-rate`, true, () => client.feeRate(id)],
      [`GET /v1/orders/book/${id}`, true, () => client.book(id)],
      [
        `GET /v1/orders/book/${id}?outcome_index=1&levels=5`,
        true,
        () => client.book(id, { outcome_index: 1, levels: 5 }),
      ],
      [`GET /v1/orders/book/${id}?both=true`, true, () => client.bothBooks(id)],
      [`GET /v1/market-data/${id}/tick-size`, true, () => client.tickSize(id)],
      ['GET /v1/markets?status=active&limit=1', true, () => client.markets({ status: 'active', limit: 1 })],
      ['GET /v1/markets/metadata', true, () => client.marketsMetadata()],
      ['GET /v1/sports/taxonomy', true, () => client.sportsTaxonomy()],
      ['GET /v1/events?status=live&limit=1', true, () => client.events({ status: 'live', limit: 1 })],
      [`GET /v1/markets/${id}`, true, () => client.market(id)],
      ['GET /v1/time', false, () => client.time()],
      ['GET /health', false, () => client.health()],
      ['GET /ready', false, () => client.ready()],
    ];
    for (const [route, isSigned, call] of calls) {
      answers[route] = { body: { route } };
      assert.deepEqual(await call(), { route });
      assert.equal(AUTH_HEADER.SIGNATURE in received.at(-1)!.headers, isSigned, route);
    }
    const bodies = received.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body));
    assert.deepEqual(bodies, [{ market_id: id, outcome_index: 1 }, { amount: '1000000' }, { amount: '1000000' }]);
  });

  test('a path segment from outside cannot reach another route', async () => {
    await assert.rejects(newClient().getOrder('../admin?x=1'), ApiError);
    assert.equal(received[0].url, '/v1/orders/..%2Fadmin%3Fx%3D1');
  });

  test('without credentials public routes work and a signed one is refused before it is sent', async () => {
    const client = new ExchangeClient({ baseUrl });
    answers['GET /v1/time'] = { body: { time: NOW_SEC } };
    assert.deepEqual(await client.time(), { time: NOW_SEC });
    await assert.rejects(client.balances(), /needs an API key/);
    await assert.rejects(
      client.placeOrder(signOrder({ ...INTENT, privateKey: PRIVATE_KEY }, DOMAIN).body),
      /needs an API key/,
    );
    assert.equal(received.length, 1);
  });

  test('a refusal is an ApiError with status, code, message, details and the seconds to wait', async () => {
    const details = { asset: 'USDC', required: '2', available: '1' };
    const refusal = { error: 'insufficient balance', code: 'INSUFFICIENT_BALANCE', details };
    answers['GET /v1/user/balances'] = { status: 400, headers: { 'retry-after': '3' }, body: refusal };
    await assert.rejects(newClient().balances(), (error) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.status, 400);
      assert.equal(error.code, 'INSUFFICIENT_BALANCE');
      assert.equal(error.message, 'insufficient balance');
      assert.deepEqual(error.details, details);
      assert.equal(error.retryAfter, 3);
      return true;
    });
  });

  test('a request that was signed before the exchange restarted is signed again, once', async () => {
    const client = new ExchangeClient({ baseUrl, credentials: CREDENTIALS });
    const details = { step: 'timestamp', reason: 'signed_before_start', sign_after: NOW_SEC };
    const early = { error: 'timestamp outside acceptable window', code: 'UNAUTHORIZED', details };
    answers['POST /v1/orders/heartbeat'] = { status: 401, body: early };
    await assert.rejects(client.heartbeat(), { code: 'UNAUTHORIZED' });
    const nonces = received.map(({ headers }) => headers[AUTH_HEADER.NONCE]);
    assert.deepEqual([nonces.length, new Set(nonces).size], [2, 2]);
    received = [];
    answers['POST /v1/orders/heartbeat'] = { status: 401, body: { ...early, details: { step: 'timestamp' } } };
    await assert.rejects(client.heartbeat(), { code: 'UNAUTHORIZED' });
    assert.equal(received.length, 1, 'a clock that is wrong stays wrong');
  });

  test('an answer that is not JSON is an ApiError, whatever its status', async () => {
    for (const status of [200, 502]) {
      answers['GET /health'] = { status, body: '<html>' };
      await assert.rejects(newClient().health(), { name: 'ApiError', status, code: 'UNKNOWN', retryAfter: null });
    }
  });

  test('the platform config is asked for once, again on refresh, and again after a failure', async () => {
    const client = newClient().with({ retry: false });
    answers['GET /v1/platform/config'] = { status: 503, body: { error: 'not ready' } };
    await assert.rejects(client.platformConfig(), ApiError);
    answers['GET /v1/platform/config'] = { body: CONFIG };
    assert.deepEqual(await client.signingDomain(), DOMAIN);
    await client.platformConfig();
    assert.equal(received.length, 2);
    answers['GET /v1/platform/config'] = { body: { ...CONFIG, chain_id: 80_002 } };
    await client.refreshConfig();
    assert.equal((await client.signingDomain()).chainId, 80_002);
    assert.equal(received.length, 3);
  });

  test('the administrator reaches every route with the bearer token', async () => {
    const admin = new AdminClient({ baseUrl, token: 'top-secret' });
    const market = { title: 't', description: 'd', category: 'c', trading_ends_at: '2030-01-01T00:00:00Z' };
    const calls: [string, unknown, () => Promise<unknown>][] = [
      ['POST /admin/users', { wallet_address: WALLET }, () => admin.createUser({ wallet_address: WALLET })],
      ['POST /admin/users/u1/wallets', { address: WALLET }, () => admin.addWallet('u1', WALLET)],
      [
        'POST /admin/users/u1/delegates',
        { maker: WALLET, signer: WALLET },
        () => admin.addDelegate('u1', WALLET, WALLET),
      ],
      [
        'POST /admin/users/u1/api-keys',
        { scopes: ['trade:orders'] },
        () => admin.createApiKey('u1', { scopes: ['trade:orders'] }),
      ],
      ['DELETE /admin/api-keys/key-1', undefined, () => admin.revokeApiKey('key-1')],
      [
        'POST /admin/users/u1/deposits',
        { amount_usdc_micro: '5' },
        () => admin.deposit('u1', { amount_usdc_micro: '5' }),
      ],
      [
        'POST /admin/users/u1/withdrawals',
        { amount_usdc_micro: '5', reference: 'r' },
        () => admin.withdraw('u1', { amount_usdc_micro: '5', reference: 'r' }),
      ],
      ['POST /admin/events', { slug: 's', title: 't' }, () => admin.createEvent({ slug: 's', title: 't' })],
      ['POST /admin/markets', market, () => admin.createMarket(market)],
      ['PATCH /admin/markets/m1', { status: 'locked' }, () => admin.patchMarket('m1', { status: 'locked' })],
      ['POST /admin/platform/pause', {}, () => admin.pause()],
      ['POST /admin/platform/resume', {}, () => admin.resume()],
      ['GET /admin/ledger', undefined, () => admin.ledger()],
      ['GET /admin/settlement/money?limit=2', undefined, () => admin.waitingMoney({ limit: 2 })],
    ];
    for (const [route, payload, call] of calls) {
      answers[route] = { body: { route } };
      assert.deepEqual(await call(), { route });
      const { headers, body } = received.at(-1)!;
      assert.equal(headers.authorization, 'Bearer top-secret');
      assert.deepEqual(body === '' ? undefined : JSON.parse(body), payload, route);
    }
  });

  function newClient(): ExchangeClient {
    return new ExchangeClient({ baseUrl, credentials: CREDENTIALS, clock: new ManualClock(NOW_SEC * 1000) });
  }

  function bytesOf(hex: string): Uint8Array {
    const out = new Uint8Array((hex.length - 2) / 2);
    assert.ok(tryParseHex(hex, out.length, out, 0));
    return out;
  }

  test('a connection is used for no longer than its last answer allowed, so no request meets its close', async () => {
    const connections = async (headers: Record<string, string>): Promise<number> => {
      const used = new Set<Socket>();
      const note = (request: { socket: Socket }): unknown => used.add(request.socket);
      server.on('request', note);
      // Otherwise the server would send a line of its own.
      server.keepAliveTimeout = 0;
      answers = { 'GET /v1/time': { headers, body: { time: 1 } } };
      const client = new ExchangeClient({ baseUrl });
      for (let count = 0; count < 6; count++) await client.time();
      server.off('request', note);
      return used.size;
    };
    assert.ok((await connections({ 'Keep-Alive': 'timeout=60' })) < 6);
    // Less than the margin that the client keeps.
    assert.equal(await connections({ 'Keep-Alive': 'timeout=1' }), 6);
  });
});
