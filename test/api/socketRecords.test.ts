/**
 * Orders as binary records on a socket of a real server (RULES.md 8.17 to 8.22): each has the effect and the answer of
 * its route over HTTP, and no word of a record is trusted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import WebSocket from 'ws';
import { ERRORS } from '../../shared/base/errors.ts';
import * as records from '../../shared/client/stream/orderRecords.ts';
import type { PlacementBody } from '../../shared/client/types.ts';
import { ANY_COMMAND, COMMAND, EXTENDED_PLACE } from '../../shared/wire/commands.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/random.ts';
import { RecordClient } from '../support/recordClient.ts';
import { seedOr } from '../support/seeds.ts';
import { type Json, type Scope, sharedServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader, type Trader, type TraderOptions } from '../support/traders.ts';

const server = await sharedServer();
const market = await makeMarket(server);
const ALL_SCOPES: NonNullable<TraderOptions['scopes']> = ['read:account', 'trade:orders', 'trade:bulk', 'stream:user'];
const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`;
const SEED = seedOr(8_171_122);
const FUZZED_FRAMES = 3000;

const trader = () => makeTrader(server, { scopes: ALL_SCOPES });
const headersOf = (of: Trader) => of.client.prepareSigned('GET', '/v1/ws').headers;
const connect = (t: Scope, of: Trader) => RecordClient.open(t, server.baseUrl, headersOf(of));
const bodyOf = (of: Trader, changes: Json = {}) => of.body(market, { price: '0.30', size: '5' }, changes);

type Make = (id: number) => Uint8Array;
type Answer = { status: number; body: Json };

/** The same answer in the form of HTTP. */
function asHttp({ status, body, placed }: records.RecordAnswer): Answer {
  return { status, body: placed === null ? body : placed.order };
}

async function overHttp(of: Trader, method: string, path: string, body?: Json): Promise<Answer> {
  const { status, body: answered } = await of.send(method, path, body);
  return { status, body: answered };
}

function shapeOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value;
  const varies = /^(order_id|order_hash|cancelled_order_hash|trade_id|maker_order_id|server_time|tombstone_until)$/;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, varies.test(name) ? typeof member : shapeOf(member)]),
  );
}

type Row = [make: Make, method: string, path: string, body?: Json];
/** The requests of a trader with an order open at 0.20, a new one for each row. */
const DONE: Record<string, (of: Trader, hash: string) => Row> = {
  'place, resting': (of) => {
    const body = bodyOf(of);
    return [(id) => records.placeRecord(id, body), 'POST', '/v1/orders', body];
  },
  'place, filled by two': (of) => {
    const body = of.body(market, { side: 'BUY', price: '0.62', size: '7' });
    return [(id) => records.placeRecord(id, body), 'POST', '/v1/orders', body];
  },
  'place FAK with self-trade prevention and a deadline': (of) => {
    const intent = { price: '0.61', size: '2', timeInForce: 'FAK', selfTradePrevention: 'cancel_oldest' } as const;
    const body = of.body(market, intent);
    return [(id) => records.placeRecord(id, body, { deadlineMs: 4_000_000_000_000 }), 'POST', '/v1/orders', body];
  },
  cancel: (_, hash) => [(id) => records.cancelRecord(id, hash), 'DELETE', `/v1/orders/${hash}`],
  'cancel with a tombstone': () => {
    const hash = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`;
    return [(id) => records.cancelRecord(id, hash, true), 'DELETE', `/v1/orders/${hash}?tombstone=1`];
  },
  cancel_market: () => {
    const body = { market_id: market.id, outcome_index: 0 };
    return [(id) => records.cancelMarketRecord(id, market.id, 0), 'DELETE', '/v1/orders/cancel-market', body];
  },
  cancel_all: () => [records.cancelAllRecord, 'DELETE', '/v1/orders/cancel-all'],
  heartbeat: () => [records.heartbeatRecord, 'POST', '/v1/orders/heartbeat'],
};

test('every record has the effect and the answer of its HTTP route (RULES.md 8.17)', async (t) => {
  const [alice, bob, carol] = await Promise.all([trader(), trader(), trader()]);
  await carol.client.split(market.id, 100_000_000);
  const client = await connect(t, alice);
  for (const [name, make] of Object.entries(DONE)) {
    const rows: Answer[] = [];
    for (const buyer of [alice, bob]) {
      for (const price of ['0.60', '0.61']) await carol.place(market, { side: 'SELL', price, size: '5' });
      const { order_hash } = await buyer.place(market, { price: '0.20', size: '5' });
      const [record, method, path, body] = make(buyer, order_hash);
      rows.push(buyer === alice ? asHttp(await client.ask(record)) : await overHttp(buyer, method, path, body));
      await Promise.all([buyer, carol].map((each) => each.client.cancelAll()));
    }
    const [sent, expected] = rows;
    assert.ok(expected!.status < 300, `${name}: ${JSON.stringify(expected)}`);
    assert.deepEqual(shapeOf(sent), shapeOf(expected), name);
  }
  assert.deepEqual(await alice.holdings(market), await bob.holdings(market), 'both have bought the same');
});

test('a replacement and an amend are answered by the new order and what it kept (RULES.md 8.20)', async (t) => {
  const alice = await trader();
  const client = await connect(t, alice);
  const first = bodyOf(alice, { client_order_id: 'quote 1' });
  const placed = (await client.ask((id) => records.placeRecord(id, first))).placed!.order;
  assert.equal((await alice.client.getOrder(placed.order_hash)).client_order_id, 'quote 1');
  const smaller = alice.body(market, { price: '0.30', size: '3' });
  const amended = await client.ask((id) => records.replaceRecord(id, placed.order_hash, smaller, 'AMEND'));
  assert.deepEqual([amended.placed!.keptPriority, amended.placed!.changedPrice], [true, false]);
  const other = alice.body(market, { price: '0.33', size: '3' });
  const { order_hash } = amended.placed!.order;
  const replaced = await client.ask((id) => records.replaceRecord(id, order_hash, other, 'CANCEL_REPLACE'));
  assert.deepEqual([replaced.placed!.keptPriority, replaced.placed!.changedPrice], [false, true]);
  const open = await alice.client.openOrders(market.id);
  assert.deepEqual(
    open.map(({ order_hash: hash, price }) => [hash, price]),
    [[replaced.placed!.order.order_hash, '0.33000000']],
  );
  await alice.client.cancelAll();
});

/** Bodies that the route refuses. @param other a trader with a wallet of another account */
function refusedBodies(of: Trader, other: Trader): PlacementBody[] {
  return [
    bodyOf(of, { maker_amount: '1500001' }),
    bodyOf(of, { maker_amount: '0' }),
    bodyOf(of, { taker_amount: '1000000000000001' }),
    bodyOf(of, { signature: `0x${'1b'.repeat(65)}` }),
    bodyOf(of, { signature: '0x12' }),
    bodyOf(of, { salt: '77' }),
    bodyOf(of, { time_in_force: 'GTD' }),
    bodyOf(of, { time_in_force: 'FOK', post_only: true }),
    bodyOf(of, { min_taker_net: '5' }),
    bodyOf(of, { outcome_index: 1 }),
    bodyOf(of, { maker: `0x${'12'.repeat(20)}` }),
    // Rightly signed, and funded by the wallet of another account.
    bodyOf(other),
    of.body(market, { price: '0.30', size: '5' }, {}, other.address),
    bodyOf(of, { fee_rate_bps: 7 }),
    bodyOf(of, { expiration: 5 }),
    of.body(market, { price: '0.90', size: '900000' }),
  ];
}

test('every refusal has the body of the route and the number of its error (RULES.md 8.19)', async (t) => {
  const [alice, bob] = await Promise.all([trader(), trader()]);
  const client = await connect(t, alice);
  for (const body of refusedBodies(alice, bob)) {
    const answer = await client.ask((id) => records.placeRecord(id, body));
    const expected = await overHttp(alice, 'POST', '/v1/orders', body);
    const context = JSON.stringify({ answer, expected });
    assert.equal(answer.status, expected.status, context);
    const { details, ...rest } = answer.body as Json;
    const { details: expectedDetails, ...expectedRest } = expected.body;
    assert.deepEqual(rest, expectedRest, context);
    assert.deepEqual([details?.field, details?.rule], [expectedDetails?.field, expectedDetails?.rule], context);
    const row = Object.values(ERRORS).find(({ number }) => number === answer.code);
    assert.equal(row?.code, rest.code, context);
  }
  const unknown = await client.ask((id) => records.placeRecord(id, bodyOf(alice, { token_id: '5' })));
  assert.deepEqual([unknown.status, unknown.code], [404, ERRORS.MARKET_NOT_FOUND.number]);
  const missing = await client.ask((id) => records.cancelRecord(id, UNKNOWN_HASH));
  assert.deepEqual(asHttp(missing), await overHttp(alice, 'DELETE', `/v1/orders/${UNKNOWN_HASH}`));
  assert.deepEqual(await alice.client.openOrders(market.id), []);
});

test('a record with a non-zero field that the exchange fills in is not carried out (RULES.md 8.18)', async (t) => {
  const alice = await trader();
  const client = await connect(t, alice);
  const plain = records.placeRecord(0, bodyOf(alice));
  const long = records.placeRecord(0, bodyOf(alice, { client_order_id: 'mine' }), { deadlineMs: 4_000_000_000_000 });
  const { PLACE } = COMMAND;
  const long0 = EXTENDED_PLACE;
  const cases: [Uint8Array, word: number, value: number, field: string][] = [
    ...([plain, long] as const).flatMap((record): [Uint8Array, number, number, string][] => [
      [record, ANY_COMMAND.account, 1, 'account'],
      [record, ANY_COMMAND.timeMs, 1, 'timeMs'],
      [record, ANY_COMMAND.market, 1, 'market'],
      [record, ANY_COMMAND.flags, 1, 'flags'],
      [record, PLACE.hash, 1, 'hash'],
      [record, PLACE.hash + 7, 1, 'hash'],
      [record, PLACE.signature + 16, 0x1_00, 'signature'],
      [record, PLACE.grant, 1, 'grant'],
      [record, PLACE.kind, 2, 'side'],
      [record, PLACE.kind, 2 << 8, 'outcome_index'],
      [record, PLACE.kind, 4 << 16, 'time_in_force'],
      [record, PLACE.kind, 2 << 24, 'kind'],
      [record, PLACE.kind, 4 << 24, 'kind'],
      [record, PLACE.kind, 32 << 24, 'kind'],
      [record, PLACE.kind, 64 << 24, 'kind'],
      [record, PLACE.makerAmount + 1, 0xffff_ffff, 'maker_amount'],
      [record, PLACE.nonce + 1, 0x20_0000, 'nonce'],
      [record, PLACE.expirationSec + 1, 0xffff_ffff, 'expiration'],
      [record, PLACE.expirationSec + 1, 1, 'expiration'],
    ]),
    [plain, PLACE.kind, 16 << 24, 'kind'],
    [long, long0.fingerprint, 1, 'fingerprint'],
    [long, long0.deadlineMs + 1, 0xffff, 'X-SVC-DEADLINE'],
    [long, long0.group, 1, 'group'],
    [long, long0.keyUse, 1, 'keyUse'],
    [long, long0.clientIdBytes, 61, 'client_order_id'],
    [long, long0.clientId + 15, 1, 'clientId'],
    [long, long0.expectedLow, 1, 'expectedLow'],
  ];
  for (const [record, word, value, field] of cases) {
    const answer = await client.ask((id) => {
      const words = new Uint32Array(record.slice().buffer);
      words[ANY_COMMAND.requestId] = id;
      words[word] |= value;
      return new Uint8Array(words.buffer);
    });
    const { code, details } = answer.body as Json;
    assert.deepEqual([answer.status, code, details?.field], [400, 'VALIDATION_ERROR', field], `${field} at ${word}`);
  }
  assert.deepEqual(await alice.client.openOrders(market.id), []);
});

test('a frame is taken whole or not at all; many records go in one (RULES.md 8.18)', async (t) => {
  const alice = await trader();
  const client = await connect(t, alice);
  const place = (id: number) => records.placeRecord(id, alice.body(market, { price: '0.2', size: '5' }));
  const wrong = (change: (words: Uint32Array) => void): Uint8Array => {
    const words = new Uint32Array(place(3).buffer as ArrayBuffer);
    change(words);
    return new Uint8Array(words.buffer);
  };
  for (const bad of [
    new Uint8Array(0),
    place(3).subarray(0, 20),
    place(3).subarray(0, 280),
    wrong((words) => (words[0] = 296)),
    wrong((words) => (words[0] = 0)),
    wrong((words) => (words[1] = 1 | (2 << 16))),
    wrong((words) => (words[1] = 5 | (1 << 16))),
    wrong((words) => (words[1] |= 1 << 24)),
    Buffer.concat([place(3), place(3), new Uint8Array(8)]),
    'text',
  ]) {
    const { status, code } = await client.refusalOf(bad);
    assert.deepEqual([status, code], [400, ERRORS.VALIDATION_ERROR.number]);
  }
  assert.deepEqual(await alice.client.openOrders(market.id), []);
  const ids = Array.from({ length: 6 }, () => client.nextId());
  const answers = ids.map((id) => client.answerTo(id));
  client.socket.send(Buffer.concat([...ids.map(place), records.cancelRecord(99, UNKNOWN_HASH)]));
  for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
  assert.deepEqual(await client.ask(records.cancelAllRecord).then(({ body }) => body), {
    cancelled: 6,
    message: 'all open orders cancelled',
  });
  client.socket.send(new Uint8Array(70_000));
  assert.equal(await client.closed, 1008);
});

test('a key is the same in binary, in JSON and over HTTP (RULES.md 8.21)', async (t) => {
  const alice = await trader();
  const [client, json] = [await connect(t, alice), await StreamClient.open(t, server.baseUrl, headersOf(alice))];
  const body = bodyOf(alice);
  const idempotencyKey = crypto.randomUUID();
  const first = await client.ask((id) => records.placeRecord(id, body, { idempotencyKey }));
  assert.equal(first.status, 200);
  const again = await client.ask((id) => records.placeRecord(id, body, { idempotencyKey }));
  assert.deepEqual([again.isReplayed, again.body], [true, first.body]);
  const inJson = await json.ask('order', { action: 'place', ...body, idempotency_key: idempotencyKey });
  assert.deepEqual([inJson.data.replayed, inJson.data.body], [true, first.body]);
  // The request's id is not part of it, even in a refused one.
  const refusedKey = crypto.randomUUID();
  for (const isReplayed of [false, true]) {
    const options = { idempotencyKey: refusedKey };
    const refused = await client.ask((id) => records.placeRecord(id, { ...body, maker_amount: '0' }, options));
    assert.deepEqual([refused.code, refused.isReplayed], [ERRORS.INVALID_MAKER_AMOUNT.number, isReplayed]);
  }
  const other = bodyOf(alice);
  const mismatch = await client.ask((id) => records.placeRecord(id, other, { idempotencyKey }));
  assert.equal(mismatch.code, ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH.number);
  assert.equal((await alice.client.openOrders(market.id)).length, 1);
  await alice.client.cancelAll();
});

test('the subprotocol needs a login, and an unknown one is not agreed on (RULES.md 8.17)', async (t) => {
  const alice = await trader();
  const url = `${server.baseUrl.replace('http', 'ws')}/v1/ws`;
  const outcome = (protocols: string[], headers = {}): Promise<string> => {
    const socket = new WebSocket(url, protocols, { headers });
    t.after(() => socket.terminate());
    return new Promise((resolve) => {
      socket.on('unexpected-response', (_, { statusCode }) => resolve(`refused ${statusCode}`));
      socket.on('error', ({ message }) => resolve(message));
      socket.on('open', () => resolve(`agreed ${socket.protocol}`));
    });
  };
  assert.equal(await outcome(['svc.bin.1']), 'refused 401');
  assert.equal(await outcome(['svc.bin.2'], headersOf(alice)), 'Server sent no subprotocol');
  assert.equal(await outcome(['svc.bin.2', 'svc.bin.1'], headersOf(alice)), 'agreed svc.bin.1');
});

test(`bytes changed at random place nothing that was not signed, and the server stays up (SEED=${SEED})`, async (t) => {
  const random = new Random(SEED);
  const alice = await trader();
  const body = bodyOf(alice);
  const templates = [
    records.placeRecord(1, body),
    records.placeRecord(2, body, { idempotencyKey: crypto.randomUUID(), deadlineMs: 4_000_000_000_000 }),
    records.replaceRecord(3, UNKNOWN_HASH, body, 'AMEND'),
    records.cancelRecord(4, UNKNOWN_HASH),
    records.cancelMarketRecord(5, market.id),
    records.heartbeatRecord(6),
  ];
  let client = await connect(t, alice);
  let isOpen = true;
  for (let frame = 0; frame < FUZZED_FRAMES; frame++) {
    if (!isOpen || client.socket.readyState !== WebSocket.OPEN) {
      await client.closed;
      client = await connect(t, alice);
      isOpen = true;
    }
    client.socket.send(mutated(templates[random.below(templates.length)]!, random));
    if (frame % 50 === 49) isOpen = await Promise.race([client.closed.then(() => false), nothingSent(client)]);
  }
  await alice.client.cancelAll();
  assert.deepEqual(await alice.holdings(market), { usdc: 1_000_000_000, reserved: 0, yes: 0, no: 0 });
  assert.equal((await server.request('GET', '/ready')).status, 200);
});

/** A record with some changed bytes, mostly not those that are checked first in every frame. */
function mutated(record: Uint8Array, random: Random): Uint8Array {
  const bytes = record.slice();
  const changes = 1 + random.below(3);
  for (let i = 0; i < changes; i++) {
    const at = random.below(20) === 0 ? random.below(8) : 8 + random.below(bytes.length - 8);
    bytes[at] = random.below(4) === 0 ? 255 : random.below(256);
  }
  return random.below(40) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes;
}

/** Resolves once everything that was sent has been read, as the answer to one more record shows. */
async function nothingSent(client: RecordClient): Promise<boolean> {
  await client.ask((id) => records.cancelRecord(id, UNKNOWN_HASH));
  return true;
}

// The last test of the file: it ends the server.
test('over kill -9 each acknowledged order exists exactly once (RULES.md 8.16)', async (t) => {
  const alice = await trader();
  const client = await connect(t, alice);
  const bodies = Array.from({ length: 300 }, () => alice.body(market, { price: '0.11', size: '1' }));
  for (let at = 0; at < bodies.length; at += 10) {
    const chunk = bodies.slice(at, at + 10).map((body) => records.placeRecord(client.nextId(), body));
    client.socket.send(Buffer.concat(chunk));
  }
  await eventually('some answers', async () => client.answers.length >= 20);
  await server.kill();
  await client.closed;
  const acknowledged = client.answers.map(({ placed }) => placed!.order.order_hash);
  await server.start();
  const { client: reader } = alice.reconnected();
  const open = await reader.openOrders(market.id, { limit: 500 });
  const hashes = open.map(({ order_hash }) => order_hash);
  assert.equal(new Set(hashes).size, hashes.length);
  assert.deepEqual(
    acknowledged.filter((hash) => !hashes.includes(hash)),
    [],
  );
  await reader.cancelAll();
});
