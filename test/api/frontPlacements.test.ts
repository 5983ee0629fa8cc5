/**
 * Placements on a server with front threads, which prepare them (gateway/front/preparing.ts): every answer is the one
 * of a server with a single gateway thread (RULES.md 6.13), whatever is wrong with the request.
 */
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { AUTH_HEADER, stringToSignV1 } from '../../shared/crypto/hmac.ts';
import { fileScope } from '../support/fileScope.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const REQUESTS = timesOf({ suite: 250, soak: 5000 });
const CONNECTIONS = 4;
const PATH = '/v1/orders';

type Market = Awaited<ReturnType<typeof makeMarket>>;
type Sent = { method: string; path: string; headers: Record<string, string>; body: string };
type Got = { readonly status: number; readonly head: Record<string, unknown>; readonly body: string };
type Change = (sent: Sent, random: Random) => void;

/** One exchange with its traders, and connections that its threads have between them. */
class Side {
  readonly server: TestServer;
  readonly market: Market;
  readonly trader: Trader;
  readonly narrow: Trader;
  readonly agents = Array.from({ length: CONNECTIONS }, () => new Agent({ keepAlive: true, maxSockets: 1 }));

  private constructor(server: TestServer, market: Market, trader: Trader, narrow: Trader) {
    this.server = server;
    this.market = market;
    this.trader = trader;
    this.narrow = narrow;
  }

  static async start(gateways: number): Promise<Side> {
    const server = await startServer(fileScope, { GATEWAYS: String(gateways), ADMIN_PORT: '0' });
    const market = await makeMarket(server);
    const narrow = await makeTrader(server, { scopes: ['read:account'] });
    return new Side(server, market, await makeTrader(server), narrow);
  }

  close(t: TestContext): void {
    t.after(() => {
      for (const agent of this.agents) agent.destroy();
    });
  }

  async send({ method, path, headers, body }: Sent, connection: number): Promise<Got> {
    const agent = this.agents[connection % CONNECTIONS]!;
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request(this.server.baseUrl + path, { agent, method, headers: { ...length, ...headers } });
    sent.end(body);
    const [answer]: IncomingMessage[] = await once(sent, 'response');
    let text = '';
    for await (const part of answer!.setEncoding('utf8')) text += part;
    return { status: answer!.statusCode!, head: answer!.headers, body: text };
  }

  /** Calls that the fronts have prepared. */
  async prepared(): Promise<number> {
    const headers = { authorization: `Bearer ${this.server.adminToken}` };
    const text = await (await fetch(`${this.server.adminUrl}/metrics`, { headers })).text();
    const counts = [...text.matchAll(/^exchange_front_prepared_total\{thread="\d+"\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }
}

const single = await Side.start(1);
const fronts = await Side.start(3);

/** Two exchanges and two moments differ in ids, hashes, addresses, times and long numbers. */
function comparable({ status, head, body }: Got): unknown {
  const { date: _date, 'content-length': _length, 'x-request-id': _id, ...rest } = head;
  const plain = (text: string): string =>
    text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, 'ID')
      .replace(/0x[0-9a-f]+/gi, 'HEX')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/"(?:request_id|order_id)":"[^"]*"/g, 'REQUEST')
      .replace(/\d{9,}/g, 'NUMBER');
  return {
    status,
    head: Object.fromEntries(Object.entries(rest).map(([k, v]) => [k, plain(String(v))])),
    body: plain(body),
  };
}

function placement({ trader, market }: Side, changes: Record<string, unknown>): Sent {
  const body = trader.body(market, { price: '0.30', size: '1' }, changes);
  return { ...trader.client.prepareSigned('POST', PATH, body) };
}

function flipped(text: string, at: number): string {
  const other = text[at] === 'A' ? 'B' : 'A';
  return text.slice(0, at) + other + text.slice(at + 1);
}

/** Made before the signature: the order itself is wrong, or unusual. */
const IN_ORDER: readonly Record<string, unknown>[] = [
  {},
  {},
  {},
  { client_order_id: 'quote 17' },
  { time_in_force: 'FAK' },
  { time_in_force: 'GTD' },
  { time_in_force: 'FOK', post_only: true },
  { outcome_index: 1 },
  { outcome_index: 2 },
  { side: 'HOLD' },
  { maker_amount: '0' },
  { maker_amount: '301' },
  { token_id: '17' },
  { market_id: '6f6b1a3e-0000-4000-8000-000000000000' },
  { market_id: 'none' },
  { signature: `0x${'1b'.repeat(65)}` },
  { signature: 'none' },
  { salt: '-1' },
  { nonce: 1.5 },
  { fee_rate_bps: 7 },
  { expiration: 1 },
  { order_group: 'unknown' },
  { min_taker_net: '1' },
  { more: 1 },
  { client_order_id: 'ü' },
];

/** Made after the signature. */
const IN_REQUEST: readonly Change[] = [
  () => {},
  () => {},
  () => {},
  (sent, random) => {
    sent.headers[AUTH_HEADER.SIGNATURE] = flipped(sent.headers[AUTH_HEADER.SIGNATURE]!, random.below(40));
  },
  (sent, random) => {
    sent.body = flipped(sent.body, random.below(sent.body.length));
  },
  (sent) => {
    sent.body = ` ${sent.body}`;
  },
  (sent) => {
    sent.headers[AUTH_HEADER.PASSPHRASE] = 'wrong';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.API_KEY] = 'key_unknown';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.TIMESTAMP] = '1700000000';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.TIMESTAMP] = 'now';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.VERSION] = '3';
  },
  (sent) => {
    sent.headers[AUTH_HEADER.NONCE] = 'short';
  },
  (sent, random) => {
    const names = Object.values(AUTH_HEADER).filter((name) => name in sent.headers);
    delete sent.headers[names[random.below(names.length)]!];
  },
  (sent) => {
    sent.headers['authorization'] = 'Bearer token';
  },
  (sent) => {
    sent.headers['idempotency-key'] = randomUUID();
  },
  (sent) => {
    sent.headers['idempotency-key'] = 'none';
  },
  (sent) => {
    sent.headers['x-svc-deadline'] = 'soon';
  },
  (sent) => {
    sent.headers['x-svc-deadline'] = '1700000000000';
  },
  (sent) => {
    sent.headers['x-svc-deadline'] = String(Date.now() + 60_000);
  },
  (sent) => {
    sent.headers['x-forwarded-for'] = '10.1.2.3';
    sent.headers['origin'] = 'https://other.example';
  },
  (sent) => {
    sent.headers['connection'] = 'close';
  },
  (sent) => {
    sent.path += '?a=1';
  },
  (sent) => {
    sent.method = 'PUT';
  },
  (sent) => {
    sent.headers['x-other'] = 'ü';
  },
];

/** The same request, signed in version 1. */
function signedInVersion1({ trader }: Side, sent: Sent): void {
  const { secret } = trader.credentials;
  const timestamp = sent.headers[AUTH_HEADER.TIMESTAMP]!;
  delete sent.headers[AUTH_HEADER.VERSION];
  delete sent.headers[AUTH_HEADER.NONCE];
  sent.headers[AUTH_HEADER.SIGNATURE] = createHmac('sha256', Buffer.from(secret, 'base64url'))
    .update(stringToSignV1(timestamp, sent.method, sent.path) + sent.body)
    .digest('base64');
}

test('placements that are spoiled in any part are answered as by one gateway thread', async (t) => {
  const seed = seedOr(31);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  for (const side of [single, fronts]) side.close(t);
  for (let count = 0; count < REQUESTS; count++) {
    const order = random.pick(IN_ORDER);
    const change = random.pick(IN_REQUEST);
    const isVersion1 = random.chance(20);
    const isAgain = random.chance(10);
    const changeSeed = random.next();
    const answers: unknown[] = [];
    for (const side of [single, fronts]) {
      const sent = placement(side, order);
      if (isVersion1) signedInVersion1(side, sent);
      change(sent, new Random(changeSeed));
      const connection = count % CONNECTIONS;
      const got = [comparable(await side.send(sent, connection))];
      // On another connection, so at another front.
      if (isAgain) got.push(comparable(await side.send(sent, connection + 1)));
      answers.push(got);
    }
    const about = `request ${count}: ${JSON.stringify(order)}, ${change}, ${isVersion1}`;
    assert.deepEqual(answers[1], answers[0], about);
  }
  assert.equal(await single.prepared(), 0);
  assert.ok((await fronts.prepared()) > REQUESTS / 20, 'the fronts have prepared many of them');
});

test('of the copies of a prepared placement one is accepted, whichever front they come to', async (t) => {
  fronts.close(t);
  for (let round = 0; round < 8; round++) {
    const sent = placement(fronts, {});
    const before = await fronts.prepared();
    const answers = await Promise.all(fronts.agents.map((_, connection) => fronts.send(sent, connection)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1, JSON.stringify(answers));
    assert.equal(answers.filter(({ status }) => status === 401).length, CONNECTIONS - 1);
    assert.ok(round === 0 || (await fronts.prepared()) > before, 'they were prepared');
  }
});

test('a prepared placement with an idempotency key is carried out once', async (t) => {
  fronts.close(t);
  for (let round = 0; round < 4; round++) {
    const { trader, market } = fronts;
    const body = trader.body(market, { price: '0.30', size: '1' });
    const key = { 'idempotency-key': randomUUID() };
    const send = (connection: number): Promise<Got> => {
      const signed = trader.client.prepareSigned('POST', PATH, body);
      return fronts.send({ ...signed, headers: { ...signed.headers, ...key } }, connection);
    };
    const answers = await Promise.all(fronts.agents.map((_, connection) => send(connection)));
    const answered = answers.filter(({ status }) => status === 200);
    assert.ok(answered.length >= 1, JSON.stringify(answers));
    assert.equal(answers.filter(({ status }) => status === 409).length, CONNECTIONS - answered.length);
    const replayed = await send(round);
    assert.deepEqual([replayed.status, replayed.body], [200, answered[0]!.body]);
    const other = trader.client.prepareSigned('POST', PATH, trader.body(market, { price: '0.31', size: '1' }));
    const mismatch = { ...other, headers: { ...other.headers, ...key } };
    assert.equal((await fronts.send(mismatch, round + 1)).status, 409);
  }
});

test('a key without the scope is refused, also where a front has prepared its placement', async (t) => {
  for (const side of [single, fronts]) side.close(t);
  for (let count = 0; count < 4; count++) {
    const answers = await Promise.all(
      [single, fronts].map(async (side) => {
        const body = side.trader.body(side.market, { price: '0.30', size: '1' });
        const signed = side.narrow.client.prepareSigned('POST', PATH, body);
        return comparable(await side.send({ ...signed }, 0));
      }),
    );
    assert.deepEqual(answers[1], answers[0]);
  }
});

test('a placement with a key that is revoked, or has another secret since, is never accepted', async (t) => {
  fronts.close(t);
  const { server, market } = fronts;
  for (const end of ['revoke', 'rotate'] as const) {
    const trader = await makeTrader(server);
    let isOver = false;
    const before = await fronts.prepared();
    const sender = async (connection: number): Promise<void> => {
      for (let count = 0; count < 40; count++) {
        const wasOver = isOver;
        const signed = trader.client.prepareSigned('POST', PATH, trader.body(market, { price: '0.20', size: '1' }));
        const { status, body } = await fronts.send({ ...signed }, connection);
        if (wasOver) assert.equal(status, 401, body);
        else assert.ok(status === 200 || status === 401, body);
      }
    };
    const senders = Array.from({ length: CONNECTIONS }, (_, connection) => sender(connection));
    while ((await fronts.prepared()) < before + 10) await new Promise((resolve) => setTimeout(resolve, 5));
    const { keyId } = trader.credentials;
    if (end === 'revoke') await server.admin.revokeApiKey(keyId);
    else {
      const { secret, passphrase } = await server.admin.rotateApiKey(keyId);
      // The right passphrase beside the signature of the former secret.
      const renewed = trader.withKey({ keyId, secret, passphrase });
      isOver = true;
      const former = trader.client.prepareSigned('POST', PATH, trader.body(market, { price: '0.20', size: '1' }));
      const headers = { ...former.headers, [AUTH_HEADER.PASSPHRASE]: passphrase };
      for (let connection = 0; connection < CONNECTIONS; connection++) {
        const { status, body } = await fronts.send({ ...former, headers }, connection);
        assert.deepEqual([status, JSON.parse(body).details?.step], [401, 'signature'], body);
        const usual = renewed.client.prepareSigned('POST', PATH, trader.body(market, { price: '0.20', size: '1' }));
        assert.equal((await fronts.send({ ...usual }, connection)).status, 200);
      }
    }
    isOver = true;
    await Promise.all(senders);
  }
});

test('a placement whose body comes after its head, or in parts, is carried out', async (t) => {
  fronts.close(t);
  for (const pauseMs of [0, 5, 30]) {
    for (let count = 0; count < CONNECTIONS; count++) {
      const { headers, body } = placement(fronts, {});
      const length = { 'content-length': String(Buffer.byteLength(body)) };
      const options = { agent: fronts.agents[count]!, method: 'POST', headers: { ...headers, ...length } };
      const sent = request(fronts.server.baseUrl + PATH, options);
      sent.flushHeaders();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      sent.write(body.slice(0, 100));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      sent.end(body.slice(100));
      const [answer]: IncomingMessage[] = await once(sent, 'response');
      answer!.resume();
      assert.equal(answer!.statusCode, 200);
    }
  }
});
