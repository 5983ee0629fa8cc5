/** A server with front threads (RULES.md 6.13), as clients and operators see it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { BookSides } from '../../shared/api/books.ts';
import { fileScope } from '../support/fileScope.ts';
import { requestOver } from '../support/keptAlive.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { requestBytes } from '../support/wire.ts';

type PreparedRequest = { readonly headers: Record<string, string>; readonly body: string };
/** The code of an error. */
type Answer = { readonly status: number; readonly code: string | null };

const server = await startServer(fileScope, { GATEWAYS: '3', ADMIN_PORT: '0' });
const market = await makeMarket(server);

/** A read over the only connection of the agent, which some thread has. */
async function readBook(agent: Agent, path: string): Promise<BookSides> {
  const { status, body } = await requestOver(agent, server.baseUrl + path);
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

/** The values of a metric of each thread. */
async function byThread(name: string): Promise<Record<string, number>> {
  const answer = await fetch(`${server.adminUrl}/metrics`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  const lines = [...(await answer.text()).matchAll(new RegExp(`^${name}\\{thread="(\\d+)"\\} (\\S+)$`, 'gm'))];
  return Object.fromEntries(lines.map(([, thread, value]) => [thread!, Number(value)]));
}

test('connections of traders are spread over the front threads, and all see the same exchange', async (t) => {
  const [alice, bob] = [await makeTrader(server), await makeTrader(server)];
  const streams = await Promise.all([1, 2, 3, 4].map(() => StreamClient.open(t, server.baseUrl)));
  for (const stream of streams) await stream.subscribe({ markets: [market.id], snapshot: true });
  const order = await alice.place(market, { side: 'BUY', price: '0.50', size: '2' });
  await bob.place(market, { outcomeIndex: 1, price: '0.50', size: '2' });
  for (const stream of streams) await stream.until(({ channel }) => channel === 'trade');
  assert.equal((await alice.client.getOrder(order.order_hash)).status, 'filled');
  const open = await byThread('exchange_thread_connections');
  assert.equal(open['0'], 0, 'the gateway thread has none');
  assert.ok(open['1']! >= 2 && open['2']! >= 2, JSON.stringify(open));
  const calls = await byThread('exchange_front_calls_total');
  assert.ok(calls['1']! > 0 && calls['2']! > 0, JSON.stringify(calls));
});

test('what any thread has acknowledged is in what every other thread shows', async () => {
  const traders = await Promise.all([1, 2, 3, 4].map(() => makeTrader(server)));
  const agents = Array.from({ length: 6 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const path = `/v1/orders/book/${market.id}?levels=100`;
  const before = await byThread('exchange_front_answers_total');
  await Promise.all(
    traders.map(async (trader, index) => {
      const cents = 10 + index;
      for (let placed = 1; placed <= 12; placed++) {
        await trader.place(market, { side: 'BUY', price: `0.${cents}`, size: '1' });
        for (const book of await Promise.all(agents.map((agent) => readBook(agent, path)))) {
          const level = book.bids.find(({ price }) => Number(price) === cents / 100);
          assert.equal(level?.num_orders, placed, JSON.stringify(book));
        }
      }
    }),
  );
  for (const agent of agents) agent.destroy();
  const after = await byThread('exchange_front_answers_total');
  for (const thread of ['1', '2']) assert.ok(after[thread]! > before[thread]!, `thread ${thread} has answered itself`);
  const reads = await fetch(`${server.adminUrl}/metrics`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  const counted =
    /^exchange_requests_total\{method="GET",route="\/v1\/orders\/book\/:market_id",status="200"\} (\d+)$/m;
  assert.equal(
    Number(counted.exec(await reads.text())![1]),
    traders.length * 12 * agents.length,
    'each is counted once',
  );
});

/** Connections that the front threads have between them. */
class Connections {
  readonly agents = Array.from({ length: 6 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));

  constructor(t: TestContext) {
    t.after(() => {
      for (const agent of this.agents) agent.destroy();
    });
  }

  /** Sends a request over each connection, all at the same time. */
  send(to: TestServer, method: string, path: string, prepare: (index: number) => PreparedRequest): Promise<Answer[]> {
    return Promise.all(
      this.agents.map(async (agent, index) => {
        const { headers, body } = prepare(index);
        const answer = await requestOver(agent, to.baseUrl + path, { method, headers, body });
        return { status: answer.status, code: answer.body === '' ? null : (JSON.parse(answer.body).code ?? null) };
      }),
    );
  }
}

function countOf(answers: readonly Answer[], status: number, code: string | null = null): number {
  return answers.filter((answer) => answer.status === status && answer.code === code).length;
}

test('one of several copies of a signed request is accepted, whichever threads they reach', async (t) => {
  const trader = await makeTrader(server);
  const connections = new Connections(t);
  for (let round = 0; round < 8; round++) {
    const signed = trader.client.prepareSigned('GET', '/v1/user/balances');
    const answers = await connections.send(server, 'GET', '/v1/user/balances', () => signed);
    assert.equal(countOf(answers, 200), 1, JSON.stringify(answers));
    assert.equal(countOf(answers, 401, 'UNAUTHORIZED'), answers.length - 1, JSON.stringify(answers));
  }
});

test('a request with an idempotency key is carried out once, whichever threads its repeats reach', async (t) => {
  const trader = await makeTrader(server);
  const connections = new Connections(t);
  const path = `/v1/markets/${market.id}/split`;
  for (let round = 1; round <= 4; round++) {
    const key = randomUUID();
    const answers = await connections.send(server, 'POST', path, () => {
      const signed = trader.client.prepareSigned('POST', path, { amount: '1000000' });
      return { ...signed, headers: { ...signed.headers, 'idempotency-key': key, 'content-type': 'application/json' } };
    });
    const inFlight = countOf(answers, 409, 'IDEMPOTENCY_KEY_IN_PROGRESS');
    assert.ok(countOf(answers, 200) >= 1, JSON.stringify(answers));
    assert.equal(countOf(answers, 200) + inFlight, answers.length, JSON.stringify(answers));
    assert.equal((await trader.holdings(market)).yes, round * 1_000_000, 'one of them was carried out');
  }
});

test('a key that was revoked is refused by every thread', async (t) => {
  const trader = await makeTrader(server);
  const connections = new Connections(t);
  const path = '/v1/user/balances';
  const prepare = (): PreparedRequest => trader.client.prepareSigned('GET', path);
  assert.equal(countOf(await connections.send(server, 'GET', path, prepare), 200), 6);
  await server.admin.revokeApiKey(trader.credentials.keyId);
  const answers = await connections.send(server, 'GET', path, prepare);
  assert.equal(countOf(answers, 401, 'API_KEY_UNAUTHORIZED'), 6, JSON.stringify(answers));
});

test('limits of keys and of addresses are one limit for all threads', async (t) => {
  const limited = await startServer(t, { SHARDS: '1', GATEWAYS: '3', RATE_LIMITS: 'on' });
  const own = await makeMarket(limited);
  const trader = await makeTrader(limited);
  const { key_id: keyId, ...key } = await limited.admin.createApiKey(trader.userId, {
    scopes: ['read:account'],
    rate_limit_override: { requests: 7, window_seconds: 60 },
  });
  const { client } = trader.withKey({ keyId, secret: key.secret, passphrase: key.passphrase });
  const connections = new Connections(t);
  const signed = (): PreparedRequest => client.prepareSigned('GET', '/v1/user/balances');
  const ofKey: Answer[] = [];
  for (let round = 0; round < 3; round++) {
    ofKey.push(...(await connections.send(limited, 'GET', '/v1/user/balances', signed)));
  }
  assert.equal(countOf(ofKey, 200), 7, JSON.stringify(ofKey));
  assert.equal(countOf(ofKey, 429, 'RATE_LIMITED'), ofKey.length - 7, JSON.stringify(ofKey));
  const path = `/v1/orders/book/${own.id}`;
  const ofAddress: Answer[] = [];
  for (let round = 0; round < 7; round++) {
    ofAddress.push(...(await connections.send(limited, 'GET', path, () => ({ headers: {}, body: '' }))));
  }
  assert.equal(countOf(ofAddress, 200), 30, JSON.stringify(ofAddress));
  assert.equal(countOf(ofAddress, 429, 'RATE_LIMITED'), ofAddress.length - 30, JSON.stringify(ofAddress));
});

test('a request before the answer to another closes the connection (RULES.md 6.13)', async () => {
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  const read = requestBytes('GET', '/v1/time', [], Buffer.alloc(0));
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (part) => {
    text += part;
  });
  socket.write(Buffer.concat([read, read]));
  await once(socket, 'close');
  assert.equal(text, '');
  assert.equal((await server.request('GET', '/v1/time')).status, 200);
});

test('a stop closes the sockets of every front thread, and the process ends with code 0', async (t) => {
  const streams = [await StreamClient.open(t, server.baseUrl), await StreamClient.open(t, server.baseUrl)];
  assert.equal(await server.stop(), 0);
  for (const stream of streams) assert.equal((await stream.closed).code, 1001);
});
