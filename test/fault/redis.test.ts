/** Counters in Redis: the same answers as in process, shared, and what happens when Redis is slow or gone. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type Count, type CounterStore, MemoryCounterStore } from '../../gateway/access/counterStore.ts';
import { RedisCounterStore } from '../../gateway/access/redisCounterStore.ts';
import { createLogger } from '../../gateway/base/log.ts';
import type { OrderRecord } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { NO_REDIS, redisToStart, startRedis, type TestRedis } from '../support/redis.ts';
import { type Answer, startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { assertRefused, makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const T0 = 1_790_000_000_000;
/** No window of this length ends while a test runs. */
const LONG_SEC = 3600;
const options = { skip: NO_REDIS };

/** @param patienceMs for tests that are not about a slow Redis: a busy machine can make any Redis a slow one. */
async function connected(t: TestContext, { url }: TestRedis, patienceMs = 300_000): Promise<RedisCounterStore> {
  const store = new RedisCounterStore(url, createLogger('silent'), patienceMs);
  t.after(() => store.close());
  await isAnswering(store);
  return store;
}

function isAnswering(store: CounterStore): Promise<unknown> {
  return eventually('Redis answers', async () => (await store.peek([], T0)) !== 'unavailable');
}

async function countOne(store: CounterStore, subject: string, requests: number, windowSec = LONG_SEC): Promise<Count> {
  const count = await store.count(subject, { requests, windowSec }, T0);
  assert.ok(count !== 'unavailable');
  return count;
}

/** A reset depends on the part of the window that is left, so on the moment at which a test runs. */
function verdict({ allowed, remaining, resetMs }: Count): object {
  assert.ok(resetMs > T0 && resetMs <= T0 + LONG_SEC * 1000, 'the window began before, and still lasts');
  return { allowed, remaining };
}

describe('RedisCounterStore', options, () => {
  test('decides as the counters in process do', async (t) => {
    const redis = await connected(t, await startRedis(t));
    const memory = new MemoryCounterStore(10);
    for (const [subject, requests] of [...Array(8).fill(['a', 6]), ['b', 1], ['b', 1], ['a', 3], ['a', 9], ['a', 9]]) {
      const [expected, found] = [await countOne(memory, subject, requests), await countOne(redis, subject, requests)];
      assert.deepEqual(verdict(found), verdict(expected), `${subject} of ${requests}`);
    }
    const quotas = ['c', 'b', 'd', 'a'].map((subject) => ({ subject, limit: { requests: 9, windowSec: LONG_SEC } }));
    const left = async (store: CounterStore) => ((await store.peek(quotas, T0)) as Count[]).map((row) => row.remaining);
    assert.deepEqual(await left(redis), await left(memory));
    assert.deepEqual(await left(redis), await left(memory), 'looking counts nothing');
  });

  test('says when the next request may come, and when the whole quota is free again', async (t) => {
    const redis = await connected(t, await startRedis(t));
    await countOne(redis, 'a', 3);
    const quota = { subject: 'a', limit: { requests: 3, windowSec: LONG_SEC } };
    await eventually('the first is 20 ms old', async () => {
      const [first] = (await redis.peek([quota], T0)) as Count[];
      return first!.resetMs <= T0 + LONG_SEC * 1000 - 20;
    });
    for (let index = 0; index < 2; index++) await countOne(redis, 'a', 3);
    const { allowed, retryMs, resetMs } = await countOne(redis, 'a', 3);
    assert.ok(!allowed && retryMs > T0, 'the next may come when the oldest leaves');
    assert.ok(resetMs >= retryMs + 20, 'and all are free when the newest has left');
    const lowered = await countOne(redis, 'a', 1);
    assert.equal(lowered.retryMs, lowered.resetMs, 'under a lower limit all three have to leave first');
    assert.equal((await countOne(redis, 'a', 9)).retryMs, T0, 'with room there is nothing to wait for');
  });

  test('all gateways together never admit more than the limit, however many ask at once', async (t) => {
    const redis = await startRedis(t);
    const stores = [await connected(t, redis), await connected(t, redis), await connected(t, redis)];
    const asked = Array.from({ length: 60 }, (_, index) => countOne(stores[index % 3], 'a', 25));
    const admitted = (await Promise.all(asked)).filter(({ allowed }) => allowed);
    assert.equal(admitted.length, 25);
    assert.deepEqual(
      admitted.map(({ remaining }) => remaining).sort((a, b) => b - a),
      [...Array(25).keys()].reverse(),
    );
  });

  test('admits again when the oldest request has left the window', async (t) => {
    const store = await connected(t, await startRedis(t));
    await countOne(store, 'a', 1, 1);
    await eventually('the window ends', async () => {
      return (await countOne(store, 'a', 1, 1)).allowed;
    });
  });

  test('cannot decide while Redis hangs: at first when it has waited, then without asking', async (t) => {
    const redis = await startRedis(t);
    const store = await connected(t, redis, 50);
    const limit = { requests: 9, windowSec: LONG_SEC };
    redis.hang();
    assert.equal(await store.count('a', limit, T0), 'unavailable');
    assert.equal(store.count('a', limit, T0), 'unavailable', 'not even a promise');
    assert.equal(store.peek([{ subject: 'a', limit }], T0), 'unavailable');
    redis.goOn();
    // 50 ms are little on a busy machine, so that more than one count may find Redis too slow.
    await eventually('it counts again', async () => {
      const count = await store.count('a', limit, T0);
      return count !== 'unavailable' && count.allowed;
    });
  });

  test('comes back by itself when Redis was gone, with a Redis that has forgotten everything', async (t) => {
    const redis = await startRedis(t);
    const store = await connected(t, redis);
    await countOne(store, 'a', 1);
    await redis.kill();
    await eventually('the loss is noticed', async () => store.peek([], T0) === 'unavailable');
    assert.equal(store.count('a', { requests: 1, windowSec: LONG_SEC }, T0), 'unavailable');
    assert.ok(await redis.start());
    await isAnswering(store);
    assert.deepEqual(verdict(await countOne(store, 'a', 1)), { allowed: true, remaining: 0 });
  });

  test('cannot decide while Redis refuses to store', async (t) => {
    const redis = await startRedis(t);
    const store = await connected(t, redis);
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    assert.equal(await store.count('a', { requests: 9, windowSec: LONG_SEC }, T0), 'unavailable');
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await eventually(
      'Redis stores',
      async () => (await store.count('b', { requests: 9, windowSec: 1 }, T0)) !== 'unavailable',
    );
  });
});

describe('a Redis that refuses to count', options, () => {
  /** A log whose lines the test reads. */
  async function logging(t: TestContext, { url }: TestRedis) {
    const lines: string[] = [];
    const log = createLogger('info', { write: (line: string) => void lines.push(line) });
    const store = new RedisCounterStore(url, log, 300_000);
    t.after(() => store.close());
    await isAnswering(store);
    return { store, lines };
  }
  const limit = { requests: 9, windowSec: LONG_SEC };

  test('a replica that keeps the connection is left, and its end of it is one line of the log', async (t) => {
    const [redis, other] = [await startRedis(t), await startRedis(t)];
    const { store, lines } = await logging(t, redis);
    const before = lines.length;
    await redis.command('REPLICAOF', '127.0.0.1', String(other.port));
    assert.equal(await store.count('a', limit, T0), 'unavailable');
    const connected = await redis.connectionsReceived();
    await eventually('it is asked over new connections', async () => {
      assert.equal(await store.count('a', limit, T0), 'unavailable');
      return (await redis.connectionsReceived()) > connected + 8;
    });
    assert.equal(lines.length, before + 1, lines.join(''));
    assert.match(lines[before], /READONLY/);
    await redis.command('REPLICAOF', 'NO', 'ONE');
    await isAnswering(store);
    assert.ok((await countOne(store, 'b', 9)).allowed);
    assert.equal(lines.length, before + 2);
  });

  test('a Redis that cannot save, or is still loading, counts again once it can', async (t) => {
    const redis = await startRedis(t);
    const { store, lines } = await logging(t, redis);
    const before = lines.length;
    await redis.failSaving();
    assert.equal(await store.count('a', limit, T0), 'unavailable');
    assert.match(lines[before], /MISCONF/);
    await redis.command('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'no');
    await isAnswering(store);
    assert.equal(lines.length, before + 2);
  });
});

describe('a server whose counters are in Redis', options, () => {
  const DECISION = 'x-ratelimit-decision';
  const UNDECIDED = 'RATE_LIMIT_DEPENDENCY_UNAVAILABLE';

  /** The server gives Redis 50 ms. On a busy machine Redis may take longer, so this asks until it has decided. */
  function decided<T extends { readonly body: Answer['body'] }>(ask: () => Promise<T>): Promise<T> {
    return eventually('Redis decides', async () => {
      const answer = await ask();
      return answer.body.code !== UNDECIDED && answer;
    });
  }

  function assertUndecided(answer: Answer): void {
    assertRefused(answer, 429, UNDECIDED, 'rate limit authority unavailable');
    assert.equal(answer.headers.get(DECISION), 'dependency_unavailable');
    assert.match(answer.headers.get('x-ratelimit-limit')!, /^[0-9]+$/);
    assert.match(answer.headers.get('x-ratelimit-window-seconds')!, /^[0-9]+$/);
    for (const name of ['remaining', 'reset']) assert.equal(answer.headers.get(`x-ratelimit-${name}`), null);
  }

  test('refuses limited requests while Redis hangs, and still cancels', async (t) => {
    const redis = await startRedis(t);
    const server = await startServer(t, { SHARDS: '1', RATE_LIMITS: 'on', REDIS_URL: redis.url });
    const market = await makeMarket(server);
    const alice = await makeTrader(server);
    const first = await decided(() => alice.post(alice.body(market, { price: '0.40', size: '2' })));
    const { order_hash } = first.body;
    await decided(() => alice.post(alice.body(market, { price: '0.41', size: '2' })));
    const counted = await decided(() => alice.send('GET', '/v1/user/balances'));
    assert.equal(counted.headers.get('x-ratelimit-remaining'), '9');

    redis.hang();
    for (let index = 0; index < 3; index++) {
      assertUndecided(await alice.post(alice.body(market, { price: '0.42', size: '2' })));
    }
    assertUndecided(await alice.send('GET', '/v1/rate-limits'));
    assertUndecided(await server.request('GET', '/v1/markets'));
    assertUndecided(await server.request('POST', '/v1/orders', {}));
    const cancelled = await alice.send('DELETE', `/v1/orders/${order_hash}`);
    assert.deepEqual([cancelled.status, cancelled.headers.get(DECISION)], [200, 'allowed']);
    assert.equal((await alice.send('POST', '/v1/orders/heartbeat', {})).status, 200);
    const { body } = await alice.send('DELETE', '/v1/orders/cancel-all');
    assert.equal(body.cancelled, 1);
    const ready = await server.request('GET', '/ready');
    assert.deepEqual([ready.status, ready.body.status], [503, 'degraded']);

    redis.goOn();
    await eventually('orders are taken again', async () => {
      return (await alice.post(alice.body(market, { price: '0.42', size: '2' }))).status === 200;
    });
  });

  test('an order on a socket that waits for its count is placed as sent, whatever is read meanwhile', async (t) => {
    const redis = await startRedis(t);
    const server = await startServer(t, { SHARDS: '1', RATE_LIMITS: 'on', REDIS_URL: redis.url });
    const market = await makeMarket(server);
    const scopes = ['read:account', 'trade:orders', 'stream:user'] as const;
    const open = async (): Promise<{ trader: Trader; socket: StreamClient }> => {
      const trader = await makeTrader(server, { scopes: [...scopes] });
      const { headers } = trader.client.prepareSigned('GET', '/v1/ws');
      return { trader, socket: await StreamClient.open(t, server.baseUrl, headers) };
    };
    const sides = [await open(), await open()];
    // All are sent at once, by turns, so that messages of the other socket are read while an order waits for Redis.
    const sent = Array.from({ length: 8 }, (_, index) => {
      const { trader, socket } = sides[index % 2];
      const body = trader.body(market, { price: '0.30', size: String(2 + index) });
      const place = async () => (await socket.ask('order', { action: 'place', ...body })).data;
      return { body, answered: decided(place) };
    });
    for (const { body, answered } of sent) {
      const data = await answered;
      assert.deepEqual([data.status, data.body.remaining], [200, body.maker_amount], JSON.stringify(data));
    }
    for (const [index, { trader }] of sides.entries()) {
      const { body } = await decided(() => trader.send('GET', `/v1/orders/open/${market.id}`));
      const amounts = body.map(({ remaining }: OrderRecord) => remaining).sort();
      const expected = sent.filter((_, at) => at % 2 === index).map(({ body }) => body.maker_amount);
      assert.deepEqual(amounts, expected.sort(), 'each rests once, with its own amount');
    }
  });

  test('starts without Redis, takes cancels, and orders once there is one', async (t) => {
    const redis = await redisToStart(t);
    const server = await startServer(t, { SHARDS: '1', RATE_LIMITS: 'off' });
    const market = await makeMarket(server);
    const alice = await makeTrader(server);
    await alice.place(market, { price: '0.40', size: '2' });
    await server.restart({ RATE_LIMITS: 'on', REDIS_URL: redis.url });
    const later = alice.reconnected();
    const body = () => later.body(market, { price: '0.42', size: '2' });
    assertUndecided(await later.post(body()));
    assert.equal((await later.send('DELETE', '/v1/orders/cancel-all')).body.cancelled, 1);
    assert.ok(await redis.start());
    await eventually('orders are taken', async () => (await later.post(body())).status === 200);
    const { password } = new URL(redis.url);
    assert.ok(![...server.stdout, ...server.stderr].some((line) => line.includes(password)));
    assert.equal(await server.stop(), 0, 'and ends in order');
  });
});
