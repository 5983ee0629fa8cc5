/** Requests that the client repeats, and requests that it never repeats, over a `fetch` that the test answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, ExchangeClient, keyOfContent, OrderSigner } from '../../../../shared/client/index.ts';
import { draftOrder } from '../../../../shared/client/order.ts';
import { AUTH_HEADER } from '../../../../shared/crypto/hmac.ts';
import { answer, line, lost, type Outcome, refusal, type Sent } from '../../../support/fetchLine.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const CREDENTIALS = { keyId: 'key-1', secret: 'c2VjcmV0LXNlY3JldA', passphrase: 'open sesame' };
const MARKET = {
  id: '0190a6f0-7b1c-7abc-8def-0123456789ab',
  yes_token_id: '11',
  no_token_id: '22',
  ticks_per_unit: 100,
};
const DOMAIN = { name: 'X', version: '1', chainId: 137, verifyingContract: `0x${'ab'.repeat(20)}` };
const SIGNER = new OrderSigner(`0x${'0'.repeat(63)}1`, DOMAIN);
const INTENT = { market: MARKET, outcomeIndex: 0, side: 'BUY', price: '0.65', size: '100', feeRateBps: 50 } as const;
const NOW_MS = 1_790_000_000_000;
const KEY_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const AT_ONCE = { firstPauseMs: 0, mostPauseMs: 0 };

function clientOf(fetch: typeof globalThis.fetch, options: object = {}): ExchangeClient {
  return new ExchangeClient({
    baseUrl: 'http://exchange',
    credentials: CREDENTIALS,
    fetch,
    retry: AT_ONCE,
    ...options,
  });
}

const keyOf = ({ headers }: Sent): string | null => headers.get('idempotency-key');

test('an order whose answer is lost is sent again as the same request, signed anew', async () => {
  const { sent, fetch } = line([lost, () => refusal(503, 'OUTCOME_UNKNOWN', 0), () => answer(200, { status: 'open' })]);
  const { body } = SIGNER.sign(draftOrder(INTENT));
  assert.deepEqual(await clientOf(fetch).placeOrder(body), { status: 'open' });
  assert.equal(sent.length, 3);
  assert.equal(new Set(sent.map((request) => request.body)).size, 1);
  assert.equal(new Set(sent.map(({ headers }) => headers.get(AUTH_HEADER.NONCE))).size, 3);
  const [key] = new Set(sent.map(keyOf));
  assert.match(key!, KEY_FORM);
  assert.deepEqual(sent.map(keyOf), [key, key, key]);
  assert.equal(key, keyOfContent('POST', '/v1/orders', JSON.stringify(body)), 'another process would send it too');
});

test('another salt gives another idempotency key, and so does another route', async () => {
  const { sent, fetch } = line([() => answer(200, {})]);
  const client = clientOf(fetch);
  const [one, other] = [SIGNER.sign(draftOrder(INTENT)).body, SIGNER.sign(draftOrder(INTENT)).body];
  await client.placeOrder(one);
  await clientOf(fetch).placeOrder(structuredClone(one));
  await client.placeOrder(other);
  await client.placeOrders([one]);
  await client.cancelReplace('0x1', one);
  await client.amendOrder('0x1', one);
  assert.equal(keyOf(sent[0]), keyOf(sent[1]));
  assert.equal(new Set(sent.map(keyOf)).size, 5);
  for (const request of sent) assert.match(keyOf(request)!, KEY_FORM);
});

test('a batch of cancels has a key of its own each time it is called, and one may be given or left out', async () => {
  const { sent, fetch } = line([() => answer(200, {})]);
  const client = clientOf(fetch);
  await client.cancelOrders(['0x1']);
  await client.cancelOrders(['0x1']);
  await client.cancelOrders(['0x1'], 'mine');
  const { body } = SIGNER.sign(draftOrder(INTENT));
  await client.placeOrder(body, { idempotencyKey: null });
  await clientOf(fetch, { idempotencyKeys: 'given' }).placeOrder(body);
  await clientOf(fetch, { idempotencyKeys: 'given' }).cancelOrders(['0x1']);
  const keys = sent.map(keyOf);
  assert.notEqual(keys[0], keys[1]);
  assert.deepEqual(keys.slice(2), ['mine', null, null, null]);
});

test('each split and merge has a key of its own, which all its attempts carry, unless one is given', async () => {
  const { sent, fetch } = line([lost, () => answer(200, {})]);
  const client = clientOf(fetch);
  await client.split(MARKET.id, 5n);
  await client.split(MARKET.id, 5n);
  await client.merge(MARKET.id, 5n);
  await client.merge(MARKET.id, 5n, 'mine');
  await clientOf(fetch, { idempotencyKeys: 'given' }).split(MARKET.id, 5n);
  const keys = sent.map(keyOf);
  assert.equal(keys[0], keys[1]);
  for (const key of keys.slice(0, 4)) assert.match(key!, /^[0-9a-f-]{36}$/);
  assert.equal(new Set(keys.slice(1, 4)).size, 3);
  assert.deepEqual(keys.slice(4), ['mine', null]);
});

/** Requests that are sent when every attempt ends like this: by a read, by a keyed order or split, by a claim. */
const CASES: readonly [string, () => Outcome, number, number, number][] = [
  ['rate limit', () => refusal(429, 'RATE_LIMITED', 0), 4, 4, 4],
  ['busy', () => refusal(503, 'ENGINE_BUSY', 0), 4, 4, 4],
  ['not connected', () => lost('ECONNREFUSED'), 4, 4, 4],
  ['lost answer', lost, 4, 4, 1],
  ['time-out', () => new DOMException('late', 'TimeoutError'), 4, 4, 1],
  ['unknown outcome', () => refusal(503, 'OUTCOME_UNKNOWN', 0), 4, 4, 1],
  ['key in progress', () => refusal(409, 'IDEMPOTENCY_KEY_IN_PROGRESS'), 4, 4, 1],
  ['a gateway before the exchange', () => new Response('<html>', { status: 502 }), 4, 4, 1],
  ['a gateway with a code of its own', () => Response.json({ code: 'BAD_GATEWAY' }, { status: 502 }), 4, 4, 1],
  ['a firewall', () => new Response('<html>', { status: 403 }), 4, 4, 1],
  ['a proxy in place of the exchange', () => new Response('<html>', { status: 520 }), 4, 4, 1],
  ['a page with status 200', () => new Response('<html>', { status: 200 }), 4, 4, 1],
  ['a cut answer', () => new Response('{"status":"op', { status: 200 }), 4, 4, 1],
  ['a code that the exchange does not have', () => refusal(409, 'WAF_BLOCKED'), 4, 4, 1],
  ['a date for Retry-After', () => new Response('', { status: 503, headers: { 'retry-after': 'soon' } }), 4, 4, 1],
  ['pause', () => refusal(503, 'PLATFORM_PAUSED', 0), 1, 1, 1],
  ['no leader', () => refusal(503, 'NOT_MATCHING_LEADER', 0), 1, 1, 1],
  ['post-only phase', () => refusal(503, 'POST_ONLY_PHASE', 0), 1, 1, 1],
  ['internal error', () => refusal(500, 'INTERNAL_ERROR'), 1, 1, 1],
  ['refusal', () => refusal(400, 'INSUFFICIENT_BALANCE'), 1, 1, 1],
  ['redirect', () => new Response('', { status: 302, headers: { location: 'http://other' } }), 1, 1, 1],
  ['a wait that is too long', () => refusal(503, 'ENGINE_BUSY', 60), 1, 1, 1],
  ['an error of the program', () => new Error('of its own'), 1, 1, 1],
];

for (const [name, outcome, reads, keyed, claims] of CASES) {
  test(`retries after ${name}: ${reads} of a read, ${keyed} of an order or split, ${claims} of a claim`, async () => {
    const { sent, fetch } = line([outcome]);
    const client = clientOf(fetch);
    const { body } = SIGNER.sign(draftOrder(INTENT));
    for (const [expected, call] of [
      [reads, () => client.balances()],
      [keyed, () => client.placeOrder(body)],
      [keyed, () => client.split(MARKET.id, 1_000_000n)],
      [claims, () => client.claim(MARKET.id)],
    ] as const) {
      sent.length = 0;
      await assert.rejects(call);
      assert.equal(sent.length, expected);
    }
    sent.length = 0;
    await assert.rejects(client.with({ retry: false }).balances());
    await assert.rejects(client.health());
    assert.equal(sent.length, 2);
  });
}

test('a lost answer stays unknown after an answer that says nothing about the order', async () => {
  const { body } = SIGNER.sign(draftOrder(INTENT));
  for (const later of [
    () => refusal(503, 'ENGINE_BUSY', 0),
    () => refusal(503, 'PLATFORM_PAUSED', 0),
    () => lost('ECONNREFUSED'),
    () => refusal(401, 'UNAUTHORIZED'),
  ]) {
    const { cause } = await clientOf(line([lost, later]).fetch)
      .placeOrder(body)
      .catch((error) => error);
    assert.equal(cause?.code, 'UND_ERR_SOCKET');
  }
  const decided = line([lost, () => refusal(400, 'INSUFFICIENT_BALANCE')]);
  await assert.rejects(clientOf(decided.fetch).placeOrder(body), { code: 'INSUFFICIENT_BALANCE' });
});

test('pauses double up to their maximum, half of each is random, and Retry-After is waited for', async (t) => {
  const pauses: number[] = [];
  const { setTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (call: () => void, ms: number) => {
    pauses.push(ms);
    return setTimeout(call, 0);
  });
  const policy = { attempts: 6, firstPauseMs: 100, mostPauseMs: 1000 };
  for (const [random, expected] of [
    [() => 0, [50, 100, 200, 400, 500]],
    [() => 1, [100, 200, 400, 800, 1000]],
  ] as const) {
    pauses.length = 0;
    await assert.rejects(clientOf(line([lost]).fetch, { retry: { ...policy, random } }).balances());
    assert.deepEqual(pauses, expected);
  }
  pauses.length = 0;
  const { fetch } = line([() => refusal(429, 'RATE_LIMITED', 3), () => answer(200, {})]);
  await clientOf(fetch, { retry: { ...policy, random: () => 0 } }).balances();
  assert.deepEqual(pauses, [3025]);
});

test('a signal ends the request and the pause after it, with its own reason', async () => {
  const reason = new Error('changed my mind');
  for (const isDuringPause of [true, false]) {
    const aborting = new AbortController();
    const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
      init!.signal!.throwIfAborted();
      setImmediate(() => aborting.abort(reason));
      if (isDuringPause) throw lost();
      return new Promise((_, reject) => init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason)));
    };
    const client = clientOf(fetch as typeof globalThis.fetch, { retry: { firstPauseMs: 60_000, mostPauseMs: 60_000 } });
    await assert.rejects(client.with({ signal: aborting.signal }).balances(), reason);
    await assert.rejects(client.with({ signal: aborting.signal }).balances(), reason, 'nor is it begun again');
  }
});

test('a clock that is wrong is noticed at the first refusal, and right from then on', async () => {
  const serverSec = NOW_MS / 1000 + 3600;
  const early = (): Response =>
    answer(401, {
      error: 'timestamp outside acceptable window',
      code: 'UNAUTHORIZED',
      details: { step: 'timestamp', server_time: serverSec },
    });
  const { sent, fetch } = line([early, () => answer(200, {})]);
  const client = clientOf(fetch, { clock: new ManualClock(NOW_MS) });
  assert.equal(client.clockOffsetMs, 0);
  await client.balances();
  await client.with({ timeoutMs: 60_000 }).balances();
  const stamps = sent.map(({ headers }) => Number(headers.get(AUTH_HEADER.TIMESTAMP)));
  assert.deepEqual(stamps, [NOW_MS / 1000, serverSec, serverSec]);
  assert.equal(client.clockOffsetMs, 3_600_500);
  const wrong = line([early]);
  await assert.rejects(clientOf(wrong.fetch, { clock: new ManualClock(serverSec * 1000) }).balances(), ApiError);
  assert.equal(wrong.sent.length, 1, 'a time that agrees is refused for another reason');
});

test('the difference of the clocks is measured, and one below two seconds is none', async () => {
  for (const [aheadSec, measured, used] of [
    [-90, -89_500, -89_500],
    [1, 1500, 0],
    [0, 500, 0],
  ]) {
    const { fetch } = line([() => answer(200, { time: NOW_MS / 1000 + aheadSec })]);
    const client = clientOf(fetch, { clock: new ManualClock(NOW_MS) });
    assert.equal(await client.measureClock(), measured);
    assert.equal(client.clockOffsetMs, used);
  }
});

test('every answer can be watched, with the limit of its endpoint and nothing secret', async () => {
  const headers = {
    'x-request-id': 'r-7',
    'idempotency-replayed': 'true',
    'x-ratelimit-limit': '20',
    'x-ratelimit-window-seconds': '1',
    'x-ratelimit-remaining': '19',
    'x-ratelimit-reset': '1790000001',
  };
  const watched: object[] = [];
  const { fetch } = line([() => refusal(429, 'RATE_LIMITED', 0), () => answer(200, {}, headers)]);
  const onAnswer = (info: object): unknown => watched.push(info);
  await clientOf(fetch, { clock: new ManualClock(NOW_MS), onAnswer }).balances();
  const common = { method: 'GET', path: '/v1/user/balances', elapsedMs: 0 };
  assert.deepEqual(watched, [
    { ...common, status: 429, attempt: 1, requestId: null, isReplayed: false, rateLimit: null },
    {
      ...common,
      status: 200,
      attempt: 2,
      requestId: 'r-7',
      isReplayed: true,
      rateLimit: { limit: 20, windowSeconds: 1, remaining: 19, resetSec: 1_790_000_001 },
    },
  ]);
});

test('amounts of splits and merges are whole and exact', async () => {
  const { sent, fetch } = line([() => answer(200, {})]);
  const client = clientOf(fetch);
  await client.split(MARKET.id, 2n ** 60n);
  await client.merge(MARKET.id, 5);
  assert.deepEqual(
    sent.map(({ body }) => body),
    ['{"amount":"1152921504606846976"}', '{"amount":"5"}'],
  );
  for (const amount of [0.5, Number.NaN, 2 ** 60]) assert.throws(() => client.split(MARKET.id, amount), RangeError);
});
