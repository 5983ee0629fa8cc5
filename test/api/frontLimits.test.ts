/** Limits of keys if front threads prepare the requests that change orders: they equal those of one gateway thread. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { CONNECTIONS, type Got, ORDERS_PATH, type Sent, Side } from '../support/frontSides.ts';
import { NO_REDIS, startRedis } from '../support/redis.ts';
import type { Trader } from '../support/traders.ts';

const REQUESTS = 12;
const ROUTES = 4;
const TOO_MANY = 8;
/** No window of this length ends while a test runs. */
const LONG_SEC = 3600;

/** The trader of the side with a key of this limit. */
async function limitedTrader({ server, trader }: Side, requests: number): Promise<Trader> {
  const { key_id: keyId, ...key } = await server.admin.createApiKey(trader.userId, {
    scopes: ['trade:orders', 'trade:bulk'],
    rate_limit_override: { requests, window_seconds: LONG_SEC },
  });
  return trader.withKey({ keyId, secret: key.secret, passphrase: key.passphrase });
}

function signed({ client }: Trader, method: string, path: string, payload?: unknown): Sent {
  const { headers, body } = client.prepareSigned(method, path, payload);
  return { method, path, headers: { ...headers }, body };
}

/** The request of this number: each route has its own count. */
function requestOf(trader: Trader, { market }: Side, count: number): Sent {
  const order = (): unknown => trader.body(market, { price: '0.30', size: '1' });
  const unknown = `0x${'ab'.repeat(32)}`;
  switch (count % ROUTES) {
    case 0:
      return signed(trader, 'POST', ORDERS_PATH, order());
    case 1:
      return signed(trader, 'POST', `${ORDERS_PATH}/batch`, { orders: [order(), order()] });
    case 2:
      return signed(trader, 'DELETE', `${ORDERS_PATH}/batch`, { order_hashes: [unknown] });
    default:
      return signed(trader, 'POST', `${ORDERS_PATH}/cancel-replace`, { cancel_hash: unknown, new_order: order() });
  }
}

function verdictOf({ status, head, body }: Got): object {
  const { code } = JSON.parse(body) as { code?: string };
  return { status, code, limit: head['x-ratelimit-limit'], left: head['x-ratelimit-remaining'] };
}

test('prepared requests are counted as by one gateway thread, and a refused one leaves no nonce', async (t) => {
  const verdicts: object[][] = [];
  let prepared = 0;
  for (const gateways of [1, 3]) {
    const side = await Side.start(t, gateways, { RATE_LIMITS: 'on' });
    side.close(t);
    const trader = await limitedTrader(side, REQUESTS);
    const seen: object[] = [];
    for (let count = 0; count < ROUTES * (REQUESTS + TOO_MANY); count++) {
      const sent = requestOf(trader, side, count);
      const connection = count + Math.floor(count / ROUTES);
      const got = await side.send(sent, connection);
      seen.push(verdictOf(got));
      // On another connection, so at another front: it is refused for the limit again, and not as used.
      if (got.status === 429) seen.push(verdictOf(await side.send(sent, connection + 1)));
    }
    verdicts.push(seen);
    if (gateways > 1) prepared = await side.prepared();
  }
  assert.deepEqual(verdicts[1], verdicts[0]);
  const refused = verdicts[1]!.filter((verdict) => (verdict as { status: number }).status === 429);
  assert.equal(refused.length, 2 * TOO_MANY * ROUTES);
  assert.ok(refused.every((verdict) => (verdict as { code?: string }).code === 'RATE_LIMITED'));
  assert.ok(prepared >= ROUTES * REQUESTS, `${prepared} were prepared`);
});

test('prepared requests that wait for a counter in Redis are each carried out as sent', {
  skip: NO_REDIS,
}, async (t) => {
  const redis = await startRedis(t);
  const side = await Side.start(t, 3, { RATE_LIMITS: 'on', REDIS_URL: redis.url });
  side.close(t);
  const trader = await limitedTrader(side, 10_000);
  let count = 0;
  const send = async (index: number): Promise<void> => {
    const name = { client_order_id: `order-${index}` };
    const order = trader.body(side.market, { price: '0.10', size: String(1 + index) }, name);
    // On a busy machine a Redis that answers late counts as unreachable, and then nothing is carried out.
    const { status, body } = await eventually('an answer of Redis in time', async () => {
      const sent =
        index % 2 === 0
          ? signed(trader, 'POST', ORDERS_PATH, order)
          : signed(trader, 'POST', `${ORDERS_PATH}/batch`, { orders: [order] });
      count++;
      const got = await side.send(sent, index);
      return got.body.includes('RATE_LIMIT_DEPENDENCY_UNAVAILABLE') ? undefined : got;
    });
    assert.equal(status, 200, body);
    const answer = JSON.parse(body);
    const { client_order_id, remaining } = index % 2 === 0 ? answer : answer.results[0].response;
    assert.deepEqual([client_order_id, remaining], [name.client_order_id, String(100_000 * (1 + index))]);
  };
  for (let index = 0; index < CONNECTIONS; index++) await send(index);
  const before = (await side.prepared()) - count;
  await Promise.all(Array.from({ length: 60 }, (_, index) => send(CONNECTIONS + index)));
  assert.equal(await side.prepared(), before + count);
});
