/**
 * Attack: an account with as many open orders as it may have requests all of them, over and over and on many
 * connections. Each answer is megabytes of JSON (RULES.md 6.10, 7.1). The test counts how much a turn of the gateway
 * thread writes, and prints how long the turns took.
 */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { orderReadRoutes } from '../../gateway/account/orderReadRoutes.ts';
import { PIECE_ROWS } from '../../gateway/http/longAnswers.ts';
import { TURN_BOUNDS_MS } from '../../gateway/http/turnTimes.ts';
import { bookRoutes } from '../../gateway/markets/booksRoutes.ts';
import { CLOSE_REASON, MOVEMENT, OUTCOME, SIDE } from '../../shared/base/codes.ts';
import { ClientRig } from '../support/clientRig.ts';
import { eventually } from '../support/eventually.ts';
import { catalogOf, HttpRig } from '../support/httpRig.ts';
import { timesOf } from '../support/seeds.ts';
import { measureVictim } from '../support/victim.ts';
import { requestBytes } from '../support/wire.ts';

const ATTACKER = 1;
const VICTIM = 2;
const ORDERS = timesOf({ suite: 2000, soak: 12_000 });
const SAMPLES = timesOf({ suite: 20, soak: 500 });
const PLACED_TOGETHER = 100;
/** LONGANSWER-3. */
const UNDERWAY_PER_ACCOUNT = 8;

const MOST_TURNS = 1_000_000;

type Order = { readonly order_hash: string; readonly sequence: number; readonly remaining: string };

const client = new ClientRig({ after }, { shards: 1, commandRingBytes: 1 << 20 });
const { views } = client;
await client.start();
for (const account of [ATTACKER, VICTIM]) {
  const reference = new Uint8Array(32).fill(100 + account);
  await client.run(client.client.funds(account, MOVEMENT.DEPOSIT, 10 ** 12, reference));
}
await placeAll();
await placeMany(VICTIM, 1);
const rig = await HttpRig.start({ after }, client, [
  ...orderReadRoutes({
    views,
    catalog: catalogOf(views),
    groups: { named: (record) => record },
    queries: { orderByHash: () => assert.fail('every order of the test is open') },
  }),
  ...bookRoutes({ views, catalog: catalogOf(views), clock: client.clock }),
]);
const book = `/v1/orders/book/${rig.marketId()}`;
const target = `/v1/orders/open/${rig.marketId()}`;

async function placeAll(): Promise<void> {
  for (let placed = 0; placed < ORDERS; placed += PLACED_TOGETHER) await placeMany(ATTACKER, PLACED_TOGETHER);
}

async function placeMany(account: number, count: number): Promise<void> {
  // A deep book of both sides: bids of both outcomes, which never meet.
  const placing = Array.from({ length: count }, (_, index) => {
    return client.place(client.record(SIDE.BUY, 1 + (index % 45), index % 2 === 0 ? OUTCOME.YES : OUTCOME.NO), account);
  });
  client.step();
  await Promise.all(placing);
}

async function orders(account: number, query = ''): Promise<Order[]> {
  const response = await rig.get(account, `${target}${query}`);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as Order[];
}

/** A client that asks for all orders of the attacker and has not read anything of the answer yet. */
async function ask(path = target): Promise<Socket> {
  const socket = connect({ port: rig.port, host: '127.0.0.1' });
  socket.pause();
  await new Promise((resolve) => socket.once('connect', resolve));
  const bytes = requestBytes('GET', path, Object.entries(rig.signed(ATTACKER, path)), Buffer.alloc(0));
  socket.write(bytes);
  return socket;
}

/** Looks in every turn of the loop: the sockets of this machine take a whole answer within a few milliseconds. */
async function untilUnderway(count: number): Promise<void> {
  const { longAnswers } = rig.server;
  for (let turn = 0; longAnswers.underway !== count; turn++) {
    assert.ok(turn < MOST_TURNS, `${count} answers are underway`);
    await nextTurn();
  }
}

/** The chunks of the answer, read to the end. */
async function chunksOf(socket: Socket): Promise<string[]> {
  let text = '';
  for await (const bytes of socket) {
    text += String(bytes);
    if (text.endsWith('\r\n0\r\n\r\n')) break;
  }
  const body = text.slice(text.indexOf('\r\n\r\n') + 4);
  return body.split(/(?:^|\r\n)[0-9a-f]+\r\n/i).filter((chunk) => chunk.trim() !== '');
}

test('an answer with all orders is written in pieces, each in a turn of its own', async () => {
  const piecesBefore = rig.server.longAnswers.pieces;
  const chunks = await chunksOf(await ask());
  const rowsOf = (chunk: string): number => chunk.split('"order_hash"').length - 1;
  assert.equal(
    chunks.reduce((sum, chunk) => sum + rowsOf(chunk), 0),
    ORDERS,
  );
  for (const chunk of chunks) assert.ok(rowsOf(chunk) <= PIECE_ROWS);
  // The first piece is written with the headers, in the turn of the request. The last one has no text, and so no chunk,
  // when the time of the one before ended right behind the last row.
  const later = rig.server.longAnswers.pieces - piecesBefore;
  assert.ok(later === chunks.length - 1 || later === chunks.length, `${later} pieces, ${chunks.length} chunks`);
  assert.equal((JSON.parse(chunks.join('')) as Order[]).length, ORDERS);
});

test('a deep book order by order is written in pieces as well', async () => {
  const chunks = await chunksOf(await ask(`${book}?l3=1&both=1&levels=100`));
  for (const chunk of chunks) assert.ok(chunk.split('"id"').length - 1 <= PIECE_ROWS);
  const { outcome_0, outcome_1 } = JSON.parse(chunks.join('')) as Record<string, { bids: object[]; asks: object[] }>;
  const shown = [outcome_0!.bids.length, outcome_0!.asks.length];
  assert.ok(shown.every((count) => count >= Math.min(ORDERS / 2, 2000)));
  assert.deepEqual([outcome_1!.asks.length, outcome_1!.bids.length], shown);
});

test('all rows of an answer are of the moment of its request, whatever happens while it is written', async () => {
  const before = await orders(ATTACKER);
  const answer = ask();
  await untilUnderway(1);
  await client.ask((handler) => {
    const code = client.client.cancelMany(0, ATTACKER, CLOSE_REASON.USER, handler, null, 0);
    client.step();
    return code;
  });
  assert.deepEqual(await orders(ATTACKER), []);
  assert.deepEqual(JSON.parse((await chunksOf(await answer)).join('')), before);
  await placeAll();
});

test('pages neither skip nor repeat an order, whatever is cancelled and placed between them', async () => {
  const all = await orders(ATTACKER);
  const limit = 300;
  const seen: Order[] = [];
  for (let page: Order[] = []; seen.length === 0 || page.length === limit; ) {
    page = await orders(ATTACKER, `?limit=${limit}&cursor=${seen.at(-1)?.sequence ?? 0}`);
    seen.push(...page);
    if (seen.length > limit) continue;
    // The order that the cursor names leaves, and so does one that was still to come.
    for (const gone of [limit - 1, limit + 10]) await cancel(all[gone]!);
    await placeMany(ATTACKER, 2);
  }
  const expected = all.filter((_, index) => index !== limit + 10).map((order) => order.sequence);
  assert.deepEqual(
    seen.slice(0, expected.length).map((order) => order.sequence),
    expected,
  );
  assert.equal(seen.length, expected.length + 2);
  for (const query of ['?limit=0', '?limit=1001', '?cursor=-1', '?cursor=x', '?page=2']) {
    assert.equal((await rig.get(ATTACKER, target + query)).status, 400, query);
  }
});

async function cancel({ order_hash }: Order): Promise<void> {
  const hash = new Uint32Array(new Uint8Array(Buffer.from(order_hash.slice(2), 'hex')).buffer);
  await client.ask((handler) => {
    const code = client.client.cancel(0, ATTACKER, hash, handler, null);
    client.step();
    return code;
  });
}

test('clients that do not read hold up nobody, and an account has a bounded number of answers underway', async (t) => {
  const { longAnswers, meters } = rig.server;
  const idle = await Promise.all(Array.from({ length: UNDERWAY_PER_ACCOUNT }, ask));
  await untilUnderway(UNDERWAY_PER_ACCOUNT);
  const refused = await rig.get(ATTACKER, target);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1']);
  // Pages of one piece, and everything of other accounts, go on.
  assert.equal((await orders(ATTACKER, `?limit=${PIECE_ROWS / 2}`)).length, PIECE_ROWS / 2);
  await measureVictim(t, {
    send: async () => assert.equal((await orders(VICTIM)).length, 1),
    attack: async () => {
      const books = Array.from({ length: UNDERWAY_PER_ACCOUNT }, () => [`${book}?l3=1&both=1`, `${book}?levels=100`]);
      await Promise.all(idle.map(chunksOf));
      await Promise.all(books.flat().map(async (path) => (await rig.get(VICTIM, path)).text()));
    },
    samples: SAMPLES,
  });
  for (const socket of idle) socket.destroy();
  await eventually('none is underway', async () => longAnswers.underway === 0);
  const counted = [...meters.turns.counts].map((count, bucket) => `${count} to ${TURN_BOUNDS_MS[bucket] ?? 'any'} ms`);
  t.diagnostic(`turns of the gateway thread: ${counted.join(', ')}`);
  meters.turns.forEachWorst((route, tookMs) => t.diagnostic(`worst ${tookMs.toFixed(2)} ms: ${route?.path ?? 'none'}`));
});

test('a client that goes away in the middle of its answer ends it', async () => {
  const { longAnswers } = rig.server;
  const piecesBefore = longAnswers.pieces;
  const socket = await ask();
  await untilUnderway(1);
  socket.destroy();
  await eventually('none is underway', async () => longAnswers.underway === 0);
  assert.ok(longAnswers.pieces - piecesBefore < ORDERS / PIECE_ROWS - 1, 'the answer was not written to its end');
});
