/** The requests that the clients' methods send, and their handling of answers that need a further request. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import {
  AdminClient,
  ApiError,
  ApprovalNeededError,
  draftOrder,
  ExchangeClient,
  OrderSigner,
} from '../../../../shared/client/index.ts';
import { parseRecording } from '../../../../shared/client/stream/recording.ts';
import { AUTH_HEADER } from '../../../../shared/crypto/hmac.ts';
import type { Json } from '../../../support/server.ts';

const CREDENTIALS = { keyId: 'key-1', secret: 'c2VjcmV0LXNlY3JldA', passphrase: 'open sesame' };
const PRIVATE_KEY = `0x${'00'.repeat(31)}01`;
const CONTRACTS = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`];
const MARKET = { id: 'm1', yes_token_id: '11', no_token_id: '22', ticks_per_unit: 100 };
const INTENT = { market: MARKET, outcomeIndex: 0, side: 'BUY', price: '0.65', size: '100', feeRateBps: 50 } as const;

type Request = { readonly name: string; readonly body: Json; readonly headers: Record<string, unknown> };

/** A server that records requests; `answer` gives status and body. */
async function serve(t: TestContext, answer: (request: Request, count: number) => readonly [number, object]) {
  const received: Request[] = [];
  const server = createServer(async (incoming, response) => {
    let text = '';
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk;
    const body = text === '' ? null : JSON.parse(text);
    received.push({ name: `${incoming.method} ${incoming.url}`, body, headers: incoming.headers });
    const [status, content] = answer(received.at(-1)!, received.length);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(content));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const echo = ({ name }: Request): readonly [number, object] => [200, { name }];

test('every method of the trading client sends the request of its route', async (t) => {
  const { received, baseUrl } = await serve(t, echo);
  const client = new ExchangeClient({ baseUrl, credentials: CREDENTIALS, idempotencyKeys: 'given' });
  const order = { salt: '1' } as never;
  const settings = { window_seconds: 60, max_filled_token_quantity_atomic: '5' } as never;
  const placing = { idempotencyKey: 'k', deadlineMs: 1_790_000_000_000 };
  const calls: [string, unknown, () => Promise<unknown>][] = [
    ['POST /v1/orders', order, () => client.placeOrder(order, placing)],
    ['POST /v1/orders/cancel-replace', { cancel_hash: 'h', new_order: order }, () => client.cancelReplace('h', order)],
    ['PUT /v1/orders/h%2F1/amend', { new_order: order }, () => client.amendOrder('h/1', order)],
    ['POST /v1/orders/batch', { orders: [order] }, () => client.placeOrders([order])],
    ['GET /v1/auth/sessions', null, () => client.sessions.list()],
    ['DELETE /v1/auth/sessions/s%2F1', null, () => client.sessions.end('s/1')],
    ['POST /v1/auth/revoke-all', null, () => client.sessions.revokeAll()],
    ['DELETE /v1/orders/batch', { order_hashes: ['h'] }, () => client.cancelOrders(['h'], 'k')],
    ['DELETE /v1/orders/h%2F1?tombstone=1', null, () => client.cancelWithTombstone('h/1')],
    ['DELETE /v1/orders/by-client-id/a%2Fb', null, () => client.cancelByClientId('a/b')],
    ['GET /v1/orders/h%2F1/queue', null, () => client.queuePosition('h/1')],
    ['GET /v1/user/order-groups', null, () => client.orderGroups()],
    ['PUT /v1/user/order-groups/g%2F1', settings, () => client.setOrderGroup('g/1', settings)],
    ['POST /v1/user/order-groups/g%2F1/reset', null, () => client.resetOrderGroup('g/1')],
    ['GET /v1/orders/open/m%2F1?limit=5&cursor=7', null, () => client.openOrders('m/1', { limit: 5, cursor: 7 })],
    ['DELETE /v1/orders/cancel-market', { market_id: 'm' }, () => client.cancelMarket('m')],
    ['POST /v1/orders/heartbeat', {}, () => client.heartbeat()],
    ['GET /v1/rate-limits', null, () => client.rateLimits()],
    ['GET /v1/user/redeemable', null, () => client.redeemable()],
    ['POST /v1/user/positions/m%2F1/claim', null, () => client.claim('m/1')],
    ['GET /v1/orders/book/m%2F1?l3=true&levels=3', null, () => client.bookOrders('m/1', { levels: 3 })],
    ['GET /v1/orders/book/m%2F1?both=true&levels=3', null, () => client.bothBooks('m/1', { levels: 3 })],
    ['GET /v1/market-data/m%2F1/bbo?outcome_index=1', null, () => client.bbo('m/1', { outcome_index: 1 })],
    [
      'POST /v1/market-data/bbo',
      [{ market_id: 'm', outcome_index: 0 }],
      () => client.bbos([{ market_id: 'm', outcome_index: 0 }]),
    ],
  ];
  for (const [name, body, call] of calls) {
    assert.deepEqual(await call(), { name });
    assert.deepEqual(received.at(-1)?.body, body, name);
  }
  const keys = received.map(({ headers }) => headers['idempotency-key']);
  assert.deepEqual(keys.filter(Boolean), ['k', 'k']);
  assert.equal(received[0].headers['x-svc-deadline'], '1790000000000');
  assert.equal(received[1].headers['x-svc-deadline'], undefined);
  const unsigned = received.filter(({ headers }) => headers[AUTH_HEADER.SIGNATURE] === undefined);
  assert.deepEqual(
    unsigned.map(({ name }) => name),
    calls.slice(-1).map(([name]) => name),
  );
});

test('every method of the administrator sends the request of its route', async (t) => {
  const { received, baseUrl } = await serve(t, echo);
  const admin = new AdminClient({ baseUrl: `${baseUrl}/`, token: 'top-secret' });
  const contracts = { exchange_address: 'e', chain_id: 1 } as never;
  const [u, m] = ['u/1', 'm/1'];
  const calls: [string, unknown, () => Promise<unknown>][] = [
    ['PUT /admin/markets/m%2F1/rebate', { rebate_bps: 5 }, () => admin.setRebate(m, 5)],
    ['GET /admin/users', null, () => admin.listUsers()],
    ['GET /admin/users/u%2F1', null, () => admin.user(u)],
    ['GET /admin/users?limit=5&cursor=7', null, () => admin.listUsers({ limit: 5, cursor: 7 })],
    ['PUT /admin/users/u%2F1/state', { state: 'frozen' }, () => admin.setAccountState(u, 'frozen')],
    ['GET /admin/users/u%2F1/wallets', null, () => admin.listWallets(u)],
    ['DELETE /admin/users/u%2F1/wallets/w%2F1', null, () => admin.removeWallet(u, 'w/1')],
    ['GET /admin/users/u%2F1/delegates', null, () => admin.listDelegates(u)],
    ['DELETE /admin/users/u%2F1/delegates/a%2F1/b', null, () => admin.removeDelegate(u, 'a/1', 'b')],
    ['POST /admin/users/u%2F1/delegates', { maker: 'a', signer: 'b' }, () => admin.addDelegate(u, 'a', 'b')],
    ['GET /admin/users/u%2F1/api-keys', null, () => admin.listApiKeys(u)],
    ['POST /admin/api-keys/k%2F1/rotate', null, () => admin.rotateApiKey('k/1')],
    ['POST /admin/markets/m%2F1/resolve', { outcome_index: 1 }, () => admin.resolveMarket(m, { outcome_index: 1 })],
    ['POST /admin/markets/m%2F1/cancel', { payouts: [1, 0] }, () => admin.cancelMarket(m, [1, 0])],
    ['POST /admin/markets/m%2F1/cancel', {}, () => admin.cancelMarket(m)],
    ['POST /admin/markets/m%2F1/settle', null, () => admin.settleMarket(m)],
    ['POST /admin/markets/m%2F1/deploy', null, () => admin.deployMarket(m)],
    ['GET /admin/platform', null, () => admin.platform()],
    ['GET /admin/operations', null, () => admin.operations()],
    ['GET /admin/markets/a%2Fb/holders', null, () => admin.marketHolders('a/b')],
    ['POST /admin/platform/contracts', contracts, () => admin.changeContracts(contracts)],
    [
      'POST /admin/platform/drills',
      { refusal: 'SETTLEMENT_UNHEALTHY', enabled: true },
      () => admin.setDrill('SETTLEMENT_UNHEALTHY', true),
    ],
    ['POST /admin/platform/alert-test', null, () => admin.testAlert()],
    ['GET /admin/platform/backup', null, () => admin.backups()],
    ['POST /admin/platform/backup', { rate: 5 }, () => admin.backUp({ rate: 5 })],
    ['GET /admin/approvals?limit=5', null, () => admin.approvals({ limit: 5, cursor: undefined })],
    ['GET /admin/approvals/a%2F1', null, () => admin.approval('a/1')],
    ['POST /admin/approvals/a%2F1/approve', null, () => admin.approve('a/1')],
    ['POST /admin/approvals/a%2F1/reject', null, () => admin.reject('a/1')],
    ['GET /admin/audit?operator=ada', null, () => admin.audit({ operator: 'ada' })],
    ['GET /admin/audit', null, () => admin.audit()],
    [
      'POST /admin/operators',
      { name: 'ada', roles: ['viewer'] },
      () => admin.createOperator({ name: 'ada', roles: ['viewer'] }),
    ],
    ['GET /admin/operators', null, () => admin.operators()],
    ['DELETE /admin/operators/o%2F1', null, () => admin.revokeOperator('o/1')],
  ];
  for (const [name, body, call] of calls) {
    assert.deepEqual(await call(), { name });
    const { headers, body: sent } = received.at(-1)!;
    assert.deepEqual([sent, headers['authorization']], [body, 'Bearer top-secret'], name);
  }
});

test('a request is given up after ten seconds, or the time that the caller gives it', async (t) => {
  const { baseUrl } = await serve(t, echo);
  const timeout = t.mock.method(AbortSignal, 'timeout');
  for (const options of [{ baseUrl }, { baseUrl, timeoutMs: 250 }]) {
    await new ExchangeClient(options).time();
    await new AdminClient({ ...options, token: 't' }).ledger();
  }
  assert.deepEqual(
    timeout.mock.calls.map(({ arguments: [ms] }) => ms),
    [10_000, 10_000, 250, 250],
  );
});

test('a change that waits for a second operator is no result (RULES.md 9.17)', async (t) => {
  const approval = { id: 'a1', kind: 'withdrawal', requested_by: 'ada' };
  const { baseUrl } = await serve(t, () => [202, approval]);
  const admin = new AdminClient({ baseUrl, token: 't' });
  const movement = { amount_usdc_micro: '5' };
  for (const call of [
    () => admin.withdraw('u', movement),
    () => admin.resolveMarket('m', { outcome_index: 0 }),
    () => admin.cancelMarket('m'),
    () => admin.changeContracts({} as never),
  ]) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof ApprovalNeededError);
      assert.deepEqual(error.approval, approval);
      assert.equal(error.message, 'withdrawal a1 waits for the approval of a second operator');
      return true;
    });
  }
});

/** An exchange whose contracts are `inForce`, and which refuses signatures for others. */
async function exchangeWith(t: TestContext, inForce: () => string, refusal = 'INVALID_SIGNATURE') {
  let placements = 0;
  const { received, baseUrl } = await serve(t, ({ name }) => {
    if (name === 'GET /v1/platform/config') {
      return [200, { chain_id: 137, exchange_address: inForce(), eip712_domain: { name: 'X', version: '1' } }];
    }
    return ++placements === 1 ? [400, { error: 'refused', code: refusal }] : [200, { status: 'open' }];
  });
  return { received, client: new ExchangeClient({ baseUrl, credentials: CREDENTIALS }) };
}

test('an order signed for former contracts is signed for the new ones and sent again (RULES.md 5.6)', async (t) => {
  let [inForce] = CONTRACTS;
  const { received, client } = await exchangeWith(t, () => inForce);
  const signer = new OrderSigner(PRIVATE_KEY, await client.signingDomain());
  [, inForce] = CONTRACTS;
  const placed = await client.signAndPlace(signer, draftOrder(INTENT), { salt: '7' });
  assert.equal(placed.status, 'open');
  const bodies = received.filter(({ name }) => name === 'POST /v1/orders').map(({ body }) => body);
  assert.equal(bodies.length, 2);
  assert.equal(bodies[0].salt, bodies[1].salt);
  assert.notEqual(bodies[0].signature, bodies[1].signature);
  const domain = { name: 'X', version: '1', chainId: 137, verifyingContract: CONTRACTS[1] };
  const expected = new OrderSigner(PRIVATE_KEY, domain).sign(draftOrder(INTENT), { salt: '7' });
  assert.equal(bodies[1].signature, expected.body.signature);
  assert.equal(received.filter(({ name }) => name === 'GET /v1/platform/config').length, 2);
});

test('a signature that is wrong for the contracts in force, and any other refusal, is not sent again', async (t) => {
  for (const refusal of ['INVALID_SIGNATURE', 'INSUFFICIENT_BALANCE']) {
    const { received, client } = await exchangeWith(t, () => CONTRACTS[0].toUpperCase().replace('X', 'x'), refusal);
    const domain = { ...(await client.signingDomain()), verifyingContract: CONTRACTS[0] };
    const signer = new OrderSigner(PRIVATE_KEY, domain);
    await assert.rejects(client.signAndPlace(signer, draftOrder(INTENT)), (error) => {
      return error instanceof ApiError && error.code === refusal;
    });
    assert.equal(received.filter(({ name }) => name === 'POST /v1/orders').length, 1, refusal);
  }
});

test('the parts of a market that signing needs are in its record and its tick size', async (t) => {
  let tokens: object = { yes_token_id: '11', no_token_id: '22' };
  const { baseUrl } = await serve(t, ({ name }) => {
    return [200, name.endsWith('tick-size') ? { ticks_per_unit: 1000, lot_size_atomic: '1' } : { id: 'm1', ...tokens }];
  });
  const client = new ExchangeClient({ baseUrl });
  const market = { id: 'm1', yes_token_id: '11', no_token_id: '22', ticks_per_unit: 1000 };
  assert.deepEqual(await client.orderMarket('m1'), market);
  tokens = {};
  await assert.rejects(client.orderMarket('m1'), /has no tokens yet/);
});

test('a recording is read up to its last whole line, and a bad line is named', () => {
  const start = '{"received_at":5,"event":"start","format":1,"market_id":"m","url":"u"}\n';
  const frame = '{"received_at":6,"frame":{"channel":"trade","sequence":7}}\n';
  const frames = [{ receivedMs: 6, frame: { channel: 'trade', sequence: 7 } }];
  for (const end of ['', '{"received_at":9,"event":"end"}\n', '{"received_at":9,"fra', '{"received_at":9}']) {
    assert.deepEqual(parseRecording(start + frame + end), { marketId: 'm', ticksPerUnit: null, frames }, end);
  }
  const withGrid = start.replace('"url"', '"ticks_per_unit":400,"url"');
  assert.equal(parseRecording(withGrid).ticksPerUnit, 400);
  assert.throws(() => parseRecording(''), /line 1: not the start/);
  assert.throws(() => parseRecording(frame), /line 1: not the start/);
  assert.throws(() => parseRecording(start.replace('"m"', '7')), /line 1: not the start/);
  assert.throws(() => parseRecording(start.replace('"format":1', '"format":2')), /line 1: format 2 is not known/);
  assert.throws(() => parseRecording(`${start}${frame}{\n`), /line 3: not a line/);
  assert.throws(() => parseRecording(`${start}{"frame":{}}\n`), /line 2: not a line/);
});
