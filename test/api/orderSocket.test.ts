/**
 * The client's orders over a socket: the methods, answers and errors of HTTP, and the state after a lost connection.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import WebSocket from 'ws';
import { ExchangeClient } from '../../shared/client/client.ts';
import { ApiError } from '../../shared/client/http.ts';
import { UnknownOutcomeError } from '../../shared/client/placedOrder.ts';
import type { OpenSocket } from '../../shared/client/stream/connection.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await sharedServer();
const market = await makeMarket(server);
const FORMS = ['json', 'binary'] as const;
const scopes = ['read:account', 'trade:orders', 'trade:bulk', 'stream:user'] as const;

const trader = () => makeTrader(server, { scopes: [...scopes] });
const clientOf = ({ credentials }: Trader, more = {}) =>
  new ExchangeClient({ baseUrl: server.baseUrl, credentials, retry: { firstPauseMs: 5 }, ...more });
const terms = { outcomeIndex: 0, side: 'BUY', price: '0.30', size: '5' } as const;
const intent = { marketId: market.id, ...terms };

/** Sockets that can be cut, and deaf ones that lose every answer; how many requests over HTTP there were beside. */
class Lines {
  isDeaf = false;
  readonly #sockets = new Set<WebSocket>();
  sent = 0;
  overHttp = 0;

  readonly openSocket: OpenSocket = (url, headers, protocol) => {
    const socket = new WebSocket(url, protocol === undefined ? [] : [protocol], { headers });
    socket.binaryType = 'arraybuffer';
    this.#sockets.add(socket);
    const send = socket.send.bind(socket);
    socket.send = ((message: string) => {
      this.sent++;
      send(message);
    }) as typeof socket.send;
    return new Proxy(socket, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
      set: (target, name, value) => {
        const isAnswer = name === 'onmessage' && value !== null;
        return Reflect.set(target, name, isAnswer ? (event: never) => this.isDeaf || value(event) : value);
      },
    }) as never;
  };

  readonly fetch: typeof fetch = (...request) => {
    this.overHttp++;
    return fetch(...request);
  };

  cut(): void {
    for (const socket of this.#sockets) socket.terminate();
    this.#sockets.clear();
  }
}

/** Replaces the ids and hashes, which differ between orders. */
function shapeOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value;
  const varies = /^(order_id|order_hash|cancelled_order_hash|server_time|tombstone_until)$/;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, varies.test(name) ? typeof member : shapeOf(member)]),
  );
}

/** Each method once, on orders of its own; refusals as their code and details. */
async function everything(client: ExchangeClient, of: Trader): Promise<Json[]> {
  const body = (price: string, clientOrderId?: string) =>
    of.body(market, { price, size: '5', ...(clientOrderId === undefined ? {} : { clientOrderId }) });
  const first = await client.placeOrder(body('0.30', 'first'));
  const second = await client.placeOrder(body('0.31', 'second'), { deadlineMs: 4_000_000_000_000 });
  const answers: Json[] = [first, second];
  const replacement = await client.cancelReplace(first.order_hash, body('0.32', 'third'));
  answers.push(replacement, await client.amendOrder(second.order_hash, of.body(market, { price: '0.31', size: '3' })));
  answers.push(await client.cancelOrder(replacement.order.order_hash));
  const batch = await client.placeOrders([body('0.33'), body('0.34', 'mine')]);
  answers.push(batch, await client.cancelByClientId('mine'), await client.cancelMarket(market.id, 0));
  answers.push(await client.cancelOrders([first.order_hash]), await client.heartbeat(), await client.cancelAll());
  answers.push(
    await client.cancelWithTombstone(`0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`),
  );
  for (const refused of [
    () => client.cancelOrder(first.order_hash),
    () => client.placeOrder({ ...body('0.30'), fee_rate_bps: 7 }),
    () => client.placeOrder({ ...body('0.30'), order_group: 'unknown' }),
  ]) {
    const error = await refused().then(
      () => assert.fail(),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof ApiError);
    answers.push({ status: error.status, code: error.code, message: error.message });
  }
  return answers;
}

for (const form of FORMS) {
  test(`over a socket in ${form} every method answers as over HTTP, and the socket is what carries it`, async (t) => {
    const [alice, bob] = [await trader(), await trader()];
    const lines = new Lines();
    const client = await clientOf(alice, { fetch: lines.fetch }).overSocket({ form, openSocket: lines.openSocket });
    t.after(() => client.close());
    assert.deepEqual(shapeOf(await everything(client, alice)), shapeOf(await everything(clientOf(bob), bob)));
    // Binary records carry no batches, groups and cancels by client order id.
    assert.equal(lines.overHttp, form === 'json' ? 0 : 4);
    assert.ok(lines.sent >= 8);
  });

  test(`an answer lost with its socket in ${form} is asked for again: there is one order`, async (t) => {
    const alice = await trader();
    const lines = new Lines();
    // On a busy machine the answer may be stored, and so be there for a repeat, long after the order is open.
    const patient = clientOf(alice, { retry: { attempts: 20, mostPauseMs: 1000 } });
    const client = await patient.overSocket({ form, openSocket: lines.openSocket });
    t.after(() => client.close());
    lines.isDeaf = true;
    const answer = client.placeOrder(alice.body(market, { price: '0.30', size: '5' }));
    await eventually('the order is open', async () => (await alice.client.openOrders(market.id)).length === 1);
    lines.isDeaf = false;
    lines.cut();
    const [open] = await alice.client.openOrders(market.id);
    assert.equal((await answer).order_hash, open!.order_hash);
    assert.equal((await alice.client.openOrders(market.id)).length, 1);
    await eventually('the socket is back', async () => {
      const before = lines.sent;
      await client.cancelAll();
      return lines.sent > before;
    });
  });
}

/** Bodies that one of the forms would carry differently from the request. */
const UNCARRIED: Record<string, Json> = {
  'a time in force that is none': { time_in_force: 'IOC' },
  'a flag that is a text': { post_only: 'true' },
  'a side that is none': { side: 'buy' },
  'a field that is none': { reduce_only: true },
  'another taker': { taker: `0x${'12'.repeat(20)}` },
  'a fee that is negative': { fee_rate_bps: -1 },
  'a fraction': { expiration: 1.5 },
  'an amount in another form': { maker_amount: '15e5' },
  'a protection that is none': { self_trade_prevention: 'cancel_all' },
  'too long a name': { client_order_id: 'x'.repeat(65) },
  'a name beyond ASCII': { client_order_id: '\u0171' },
  'another action': { action: 'heartbeat' },
  'a deadline in the body': { deadline: 4_000_000_000_000 },
};

for (const form of FORMS) {
  test(`what ${form} cannot carry to the letter is refused as over HTTP, and nothing is done`, async (t) => {
    const alice = await trader();
    const client = await clientOf(alice).overSocket({ form });
    t.after(() => client.close());
    const refusalOf = (sent: Promise<unknown>) =>
      sent.then(
        (answer) => answer,
        ({ name, status, message }) => ({ name, status, message }),
      );
    const sendings: [string, (of: ExchangeClient) => Promise<unknown>][] = Object.entries(UNCARRIED).map(
      ([name, changes]) => [name, (of) => of.placeOrder({ ...alice.body(market, terms), ...changes })],
    );
    const good = () => alice.body(market, terms);
    sendings.push(
      ['a market that is no id', (of) => of.cancelMarket('here')],
      ['an outcome that is none', (of) => of.cancelMarket(market.id, 2 as never)],
      ['a deadline that is none', (of) => of.placeOrder(good(), { deadlineMs: 0 })],
      ['a key that is none', (of) => of.placeOrder(good(), { idempotencyKey: 'k' })],
      ['a hash that is none', (of) => of.cancelReplace('0x12', good())],
    );
    for (const [name, send] of sendings) {
      const [onSocket, overHttp] = [await refusalOf(send(client)), await refusalOf(send(clientOf(alice)))];
      assert.deepEqual(onSocket, overHttp, name);
      assert.equal((overHttp as Json).name, 'ApiError', `${name}: ${JSON.stringify(overHttp)}`);
    }
    assert.deepEqual(await alice.client.openOrders(market.id), []);
  });
}

test('a body of its own order of fields is repeated with its key over HTTP, and is one order', async (t) => {
  const alice = await trader();
  const lines = new Lines();
  const client = await clientOf(alice).overSocket({ form: 'binary', openSocket: lines.openSocket });
  t.after(() => client.close());
  const { time_in_force: _, ...signed } = alice.body(market, terms);
  const body = { ...signed, client_order_id: 'mine' };
  lines.isDeaf = true;
  const answer = client.placeOrder(body);
  await eventually('the order is open', async () => (await alice.client.openOrders(market.id)).length === 1);
  lines.cut();
  const [open] = await alice.client.openOrders(market.id);
  assert.equal((await answer).order_hash, open!.order_hash);
});

test('without retries a lost answer leaves an order that is followed to its end', async (t) => {
  const alice = await trader();
  const lines = new Lines();
  const wallet = alice.signer;
  const client = await clientOf(alice, { retry: false, idempotencyKeys: 'given', wallet }).overSocket({
    form: 'binary',
    openSocket: lines.openSocket,
  });
  t.after(() => client.close());
  lines.isDeaf = true;
  const placing = client.place(intent).then(
    () => assert.fail('there is no answer'),
    (error: unknown) => error,
  );
  await eventually('the order is open', async () => (await alice.client.openOrders(market.id)).length === 1);
  lines.cut();
  const error = await placing;
  assert.ok(error instanceof UnknownOutcomeError);
  lines.isDeaf = false;
  const done = error.order.done;
  await error.order.cancel();
  assert.equal((await done).status, 'cancelled');
});

test('a socket that does not open in time is given up', async () => {
  const openSocket: OpenSocket = () => ({ send: () => {}, close: () => {} }) as never;
  const client = new ExchangeClient({ baseUrl: server.baseUrl, timeoutMs: 20 });
  await assert.rejects(client.overSocket({ openSocket }), { name: 'TimeoutError' });
});

test('more requests than may be in flight wait for their turn, and all are answered', async (t) => {
  const alice = await trader();
  const lines = new Lines();
  const client = await clientOf(alice).overSocket({ form: 'binary', mostInFlight: 4, openSocket: lines.openSocket });
  t.after(() => client.close());
  const hash = `0x${'ab'.repeat(32)}`;
  const results = await Promise.allSettled(Array.from({ length: 50 }, () => client.cancelOrder(hash)));
  assert.deepEqual(
    new Set(results.map((result) => (result.status === 'rejected' ? result.reason.code : ''))),
    new Set(['NOT_FOUND']),
  );
  assert.ok(lines.sent >= 13, `${lines.sent} messages of at most four records`);
});
