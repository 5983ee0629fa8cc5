/** The stream under random flow, held against the books it speaks of: gaps, reconnects, slow readers, lost shards. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { E, OK } from '../../shared/base/errors.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from '../support/random.ts';
import type { Json } from '../support/server.ts';
import { StreamBook } from '../support/streamBook.ts';
import { StreamClient } from '../support/streamClient.ts';
import { StreamRig } from '../support/streamRig.ts';

const SEED = 20;

test('a book kept from the stream alone is the book, at every frame (RULES.md 8.4, 8.8)', async (t) => {
  const rig = await StreamRig.start(t, SEED);
  rig.run(200);
  const client = await StreamClient.open(t, rig.baseUrl);
  const ids = [rig.marketId(0), rig.marketId(1)];
  await client.subscribe({ markets: ids, snapshot: true, checksum: true });
  await rig.runBatches(60, 20);
  await client.settle();
  for (const [index, id] of ids.entries()) {
    const book = new StreamBook(id);
    book.follow(client.frames);
    book.assertShown(rig.shown(index));
    assert.equal(book.bookFrames, 1);
    const deltas = client.of('book_delta').filter((frame) => frame.market_id === id);
    assert.equal(book.checked, deltas.length + 1);
    assert.ok(deltas.length > 200, `seed ${SEED}`);
  }
  const events = new Set(client.of('book_delta').map(({ data }) => data.event));
  for (const event of ['open', 'fill', 'cancel', 'expire', 'dormant', 'wake']) assert.ok(events.has(event), event);
});

test('a bbo frame follows each change of a best price or its quantity, one an outcome (RULES.md 8.5)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 1);
  const client = await StreamClient.open(t, rig.baseUrl);
  const id = rig.marketId(0);
  await client.subscribe({ markets: [id], snapshot: true });
  rig.run(600);
  await client.settle();
  const book = new StreamBook(id);
  let published = bestOf(book);
  const mine = client.frames.filter((frame) => frame.market_id === id);
  for (const [at, frame] of mine.entries()) {
    book.apply(frame);
    if (frame.channel !== 'book_delta') continue;
    const best = bestOf(book);
    const following = mine.slice(at + 1, at + 3);
    if (JSON.stringify(best) === JSON.stringify(published)) {
      assert.notEqual(following[0]?.channel, 'bbo');
      continue;
    }
    published = best;
    assert.deepEqual(
      following.map(({ channel, sequence, data }) => [channel, sequence, data.outcome_index]),
      [
        ['bbo', frame.sequence, 0],
        ['bbo', frame.sequence, 1],
      ],
    );
    const [yes, no] = following.map(({ data }) => data);
    const { bid, ask } = best;
    assert.deepEqual([yes.best_bid, yes.best_bid_quantity_atomic], [bid?.[0] ?? null, bid?.[1] ?? null]);
    assert.deepEqual([yes.best_ask, yes.best_ask_quantity_atomic], [ask?.[0] ?? null, ask?.[1] ?? null]);
    assert.deepEqual([no.best_bid, no.best_bid_quantity_atomic], [mirror(ask), ask?.[1] ?? null]);
    assert.deepEqual([no.best_ask, no.best_ask_quantity_atomic], [mirror(bid), bid?.[1] ?? null]);
    assert.equal(yes.spread === null, bid === undefined || ask === undefined);
  }
});

test('a client that comes back with its last sequence gets exactly the frames after it (RULES.md 8.7)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 2);
  const always = await StreamClient.open(t, rig.baseUrl);
  const id = rig.marketId(0);
  await always.subscribe({ markets: [id], snapshot: true, checksum: true });
  const whole = new StreamBook(id);
  for (let round = 0; round < 8; round++) {
    await rig.runBatches(10, 10);
    await always.settle();
    const frames = always.frames.filter(isSequenced);
    const from = frames[Math.floor((frames.length * round) / 8)]?.sequence ?? 0;
    const back = await StreamClient.open(t, rig.baseUrl);
    await back.subscribe({ markets: [id], from_sequence: { [id]: from }, checksum: true });
    await rig.runBatches(3, 10);
    await back.settle();
    await always.settle();
    assert.equal(back.of('book').length, 0);
    const expected = always.frames.filter((frame) => isSequenced(frame) && frame.sequence > from);
    assert.deepEqual(back.frames.filter(isSequenced), expected, `seed ${SEED + 2}, round ${round}`);
    back.end();
  }
  whole.follow(always.frames);
  whole.assertShown(rig.shown());
});

test('a replay with checksums skips no frame that was kept without: a book follows (RULES.md 8.7)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 12);
  const id = rig.marketId(0);
  const plain = await StreamClient.open(t, rig.baseUrl);
  await plain.subscribe({ markets: [id], from_sequence: { [id]: 0 } });
  await rig.runBatches(20, 10);
  const first = await StreamClient.open(t, rig.baseUrl);
  await first.subscribe({ markets: [id], from_sequence: { [id]: 0 }, checksum: true });
  await rig.runBatches(5, 10);
  const second = await StreamClient.open(t, rig.baseUrl);
  await second.subscribe({ markets: [id], from_sequence: { [id]: 0 }, checksum: true });
  for (const client of [plain, first, second]) await client.settle();
  const sequences = (client: StreamClient): number[] => client.frames.filter(isSequenced).map((row) => row.sequence);
  assert.ok(plain.of('trade').length > 0, `seed ${SEED + 12}`);
  for (const client of [first, second]) {
    assert.deepEqual(sequences(client), sequences(plain));
    assert.equal(client.of('book').length, 1);
    const at = client.frames.findIndex(({ channel }) => channel === 'book');
    const book = new StreamBook(id);
    book.follow(client.frames.slice(at));
    book.assertShown(rig.shown());
    assert.ok(client.frames.slice(at).every((row) => row.channel !== 'book_delta' || row.data.checksum !== undefined));
  }
});

test('a sequence that is no longer kept, or not there yet, is answered with the book (RULES.md 8.7)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 3);
  rig.run(50);
  const before = rig.shown().sequence;
  rig.loseShard(40);
  assert.ok(rig.shown().sequence > before, 'frames were lost with the shard');
  rig.run(50);
  const id = rig.marketId(0);
  for (const fromOf of [() => 0, () => rig.shown().sequence + 1, () => Number.MAX_SAFE_INTEGER]) {
    const from = fromOf();
    const client = await StreamClient.open(t, rig.baseUrl);
    await client.subscribe({ markets: [id], from_sequence: { [id]: from } });
    await client.until(({ channel }) => channel === 'book');
    rig.run(5);
    await client.settle();
    const book = new StreamBook(id);
    book.follow(client.frames);
    book.assertShown(rig.shown());
    assert.equal(book.bookFrames, 1);
  }
  const current = await StreamClient.open(t, rig.baseUrl);
  await current.subscribe({ markets: [id], from_sequence: { [id]: rig.shown().sequence } });
  await current.settle();
  assert.deepEqual(
    current.frames.map(({ channel }) => channel),
    ['subscribed', 'pong'],
  );
});

test('frames that died with their shard are made up for by a book in their place (RULES.md 8.7)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 4);
  const client = await StreamClient.open(t, rig.baseUrl);
  const ids = [rig.marketId(0), rig.marketId(1)];
  await client.subscribe({ markets: ids, snapshot: true, checksum: true });
  rig.run(100);
  const before = rig.shown(0).sequence;
  rig.loseShard(30);
  rig.run(100);
  assert.ok(rig.shown(0).sequence > before);
  const back = await StreamClient.open(t, rig.baseUrl);
  await back.subscribe({ markets: [ids[0]], from_sequence: { [ids[0]]: before } });
  await back.settle();
  assert.deepEqual(
    back.frames.map(({ channel }) => channel),
    ['subscribed', 'book', 'pong'],
    'across the hole there is nothing to replay',
  );
  rig.loseShard(0);
  rig.run(30);
  await client.settle();
  for (const [index, id] of ids.entries()) {
    const book = new StreamBook(id);
    book.follow(client.frames);
    book.assertShown(rig.shown(index));
    assert.equal(book.bookFrames, 3, 'the first, and one for each time the shard came back');
  }
});

test('a reader that does not read is closed with 1013 while the others miss nothing (RULES.md 8.11)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 5);
  const ids = [rig.marketId(0), rig.marketId(1)];
  const [slow, fast] = [await StreamClient.open(t, rig.baseUrl), await StreamClient.open(t, rig.baseUrl)];
  for (const client of [slow, fast]) await client.subscribe({ markets: ids, snapshot: true });
  slow.socket.pause();
  for (let i = 0; i < 400 && rig.stream.connectionCount === 2; i++) await rig.runBatches(10, 40);
  assert.equal(rig.stream.connectionCount, 1);
  slow.socket.resume();
  assert.deepEqual(await slow.closed, { code: 1013, reason: 'slow consumer' });
  await rig.runBatches(5, 5);
  await fast.settle();
  for (const [index, id] of ids.entries()) {
    const book = new StreamBook(id);
    book.follow(fast.frames);
    book.assertShown(rig.shown(index));
    // The frames that the slow one received are in order as well.
    new StreamBook(id).follow(slow.frames);
  }
  const again = await StreamClient.open(t, rig.baseUrl);
  await again.subscribe({ markets: ids, snapshot: true });
  await again.until(({ channel, market_id }) => channel === 'book' && market_id === ids[1]);
});

test('beyond a total those for whom most waits are cut, and a reader misses nothing (RULES.md 8.11)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 13, 1024 * 1024);
  const id = rig.marketId(0);
  const [fast, ...slow] = await Promise.all(Array.from({ length: 4 }, () => StreamClient.open(t, rig.baseUrl)));
  for (const client of [fast!, ...slow]) await client.subscribe({ markets: [id], snapshot: true });
  for (const client of slow) client.socket.pause();
  for (let i = 0; i < 400 && rig.stream.connectionCount > 3; i++) await rig.runBatches(10, 40);
  assert.equal(rig.stream.connectionCount, 3, 'no more than it takes');
  await fast!.settle();
  const book = new StreamBook(id);
  book.follow(fast!.frames);
  book.assertShown(rig.shown());
});

test('a replay far larger than what may wait is read at the pace of its client (RULES.md 8.11)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 6);
  await rig.runBatches(400, 50);
  const id = rig.marketId(0);
  const last = rig.shown().sequence;
  assert.ok(last > 8000, `${last} frames`);
  const client = await StreamClient.open(t, rig.baseUrl);
  client.send({ channel: 'subscribe', data: { markets: [id], from_sequence: { [id]: 0 } } });
  client.socket.pause();
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  rig.run(10);
  client.socket.resume();
  const end = rig.shown().sequence;
  await client.until((frame) => isSequenced(frame) && frame.sequence === end);
  const sequences = client.frames.filter(isSequenced).map(({ sequence }) => sequence);
  assert.deepEqual(
    sequences,
    Array.from({ length: end }, (_, at) => at + 1),
  );
});

test('private frames have no gap, follow each order to one end, and come again (RULES.md 8.9)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 7);
  const account = 2;
  const client = await StreamClient.open(t, rig.baseUrl, rig.headers(account));
  const { user_sequence } = await client.subscribe({ user: true });
  assert.equal(user_sequence, 0);
  rig.run(1500);
  await client.settle();
  const frames = client.frames.filter(isPrivate);
  assert.ok(frames.length > 200, `${frames.length} frames`);
  assert.deepEqual(
    frames.map((frame) => frame.user_sequence),
    frames.map((_, at) => at + 1),
  );
  assertOrderLives(frames);

  const back = await StreamClient.open(t, rig.baseUrl, rig.headers(account, 'another key'));
  const middle = Math.floor(frames.length / 2);
  await back.subscribe({ user: true, user_since: middle });
  rig.run(20);
  await back.until(({ user_sequence: at }) => at === frames.length);
  await back.settle();
  await client.settle();
  assert.deepEqual(back.frames.filter(isPrivate), client.frames.filter(isPrivate).slice(middle));
  const stranger = await StreamClient.open(t, rig.baseUrl, rig.headers(5));
  await stranger.subscribe({ user: true, user_since: 0 });
  await stranger.settle();
  const theirs = new Set(stranger.frames.filter(isPrivate).map(({ data }) => data.order_id));
  assert.ok(theirs.size > 0);
  for (const { data } of frames) assert.ok(!theirs.has(data.order_id), 'no account is sent the orders of others');
});

test('a ping every 10 s, a heartbeat every 5 s, 1001 after 60 s of silence (RULES.md 8.2, 8.7)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 8);
  rig.run(40);
  const client = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
  const id = rig.marketId(0);
  let pings = 0;
  client.socket.on('ping', () => pings++);
  await client.subscribe({ markets: [id], user: true });
  for (let second = 1; second <= 30; second++) {
    rig.clock.advance(1000);
    rig.stream.tick();
    if (second < 30) await client.settle();
  }
  await client.settle();
  const beats = client.of('heartbeat');
  assert.equal(beats.length, 6);
  const { sequences, user_sequence } = beats.at(-1).data;
  assert.deepEqual(sequences, { [id]: rig.shown().sequence });
  assert.equal(user_sequence, client.of('subscribed')[0].data.user_sequence);
  assert.equal(pings, 3);
  // A socket that neither sends nor answers pings.
  client.socket.pause();
  for (let second = 0; second < 60; second++) {
    rig.clock.advance(1000);
    rig.stream.tick();
  }
  client.socket.resume();
  assert.deepEqual(await client.closed, { code: 1001, reason: 'idle' });
});

test('the end of a connection that asked for it cancels the open orders of its account (RULES.md 8.10)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 9);
  const open = async (account: number) => {
    const client = await StreamClient.open(t, rig.baseUrl, rig.headers(account));
    await client.subscribe({ user: true, cancel_on_disconnect: true });
    return client;
  };
  const [first, second, third] = [await open(1), await open(2), await open(3)];
  const { data } = await second.ask('subscribe', { user: true, cancel_on_disconnect: false });
  assert.equal(data.cancel_on_disconnect, false);
  assert.equal((await third.ask('unsubscribe', { user: true })).data.user, false);
  for (const client of [first, second, third]) client.end();
  while (rig.stream.connectionCount > 0) await nextTurn();
  assert.deepEqual(rig.cancelled, [{ account: 1, shard: 0 }]);
});

test('a cancel at the end of a connection is repeated until it is carried out (RULES.md 8.10)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 13);
  const client = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
  await client.subscribe({ user: true, cancel_on_disconnect: true });
  rig.hasRoom = false;
  client.end();
  while (rig.stream.connectionCount > 0) await nextTurn();
  rig.owed.pay();
  assert.equal(rig.cancelled.length, 0);
  rig.hasRoom = true;
  rig.owed.pay();
  for (const code of [E.OUTCOME_UNKNOWN, E.ENGINE_BUSY, OK]) {
    assert.equal(rig.answers.length, 1);
    rig.owed.pay();
    assert.equal(rig.answers.length, 1, 'not again while its result is on the way');
    rig.answers.pop()!(code);
    rig.owed.pay();
  }
  assert.equal(rig.answers.length, 0);
  assert.deepEqual(rig.cancelled, Array(3).fill({ account: 1, shard: 0 }));
});

test('the end of a connection to a standby cancels nothing, also not once that leads (RULES.md 8.10)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 15);
  rig.isStandby = true;
  const open = async (account: number) => {
    const client = await StreamClient.open(t, rig.baseUrl, rig.headers(account));
    await client.subscribe({ user: true, cancel_on_disconnect: true });
    return client;
  };
  const [before, after] = [await open(1), await open(2)];
  before.end();
  while (rig.stream.connectionCount > 1) await nextTurn();
  rig.isStandby = false;
  rig.stream.tick();
  assert.deepEqual(rig.cancelled, []);
  after.end();
  while (rig.stream.connectionCount > 0) await nextTurn();
  assert.deepEqual(rig.cancelled, [{ account: 2, shard: 0 }], 'what it has asked for counts from then on');
});

test('a leader of a cluster that ends leaves the orders of its connections alone (RULES.md 18.3)', async (t) => {
  for (const isMember of [true, false]) {
    const rig = await StreamRig.start(t, SEED + 16, undefined, isMember);
    const client = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
    await client.subscribe({ user: true, cancel_on_disconnect: true });
    rig.stream.close();
    assert.equal((await client.closed).code, 1001);
    while (rig.stream.connectionCount > 0) await nextTurn();
    assert.equal(rig.cancelled.length, isMember ? 0 : 1);
  }
});

test('a clock that is set closes no connection, and pings, heartbeats and limits go on', async (t) => {
  const rig = await StreamRig.start(t, SEED + 15);
  const client = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
  await client.subscribe({ markets: [rig.marketId(0)] });
  for (let message = 0; message < 15; message++) client.send({ channel: 'ping' });
  await client.settle();
  for (const stepMs of [-3_600_000, 7_200_000]) {
    const before = client.of('heartbeat').length;
    rig.clock.advance(stepMs);
    for (let second = 0; second < 6; second++) {
      rig.stream.tick();
      rig.clock.advance(1000);
    }
    // As many messages as are allowed in a second, including the pings of the test.
    for (let message = 0; message < 15; message++) client.send({ channel: 'ping' });
    await client.settle();
    assert.equal(client.of('heartbeat').length, before + 1, `after a step of ${stepMs} ms`);
  }
  assert.equal(rig.stream.connectionCount, 1);
});

test('a key that expires or is revoked closes its connections and no others (RULES.md 8.1)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 14);
  const expiresAtMs = rig.clock.nowMs() + 10_000;
  const expiring = await StreamClient.open(t, rig.baseUrl, rig.headers(1, 'expiring', { expiresAtMs }));
  const revoked = await StreamClient.open(t, rig.baseUrl, rig.headers(1, 'revoked'));
  const other = await StreamClient.open(t, rig.baseUrl, rig.headers(1, 'other'));
  rig.stream.closeConnectionsOf('revoked');
  const end = { code: 1008, reason: 'API key is revoked or expired' };
  assert.deepEqual(await revoked.closed, end);
  rig.clock.advance(9_999);
  rig.stream.tick();
  await expiring.settle();
  rig.clock.advance(1);
  rig.stream.tick();
  await eventually('the close of the socket whose key has expired', async () => rig.stream.connectionCount === 1);
  assert.deepEqual(await expiring.closed, end);
  await other.settle();
});

test('nothing a client sends is more than refused, and the refusal has its id (RULES.md 8.2)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 10);
  const random = new Random(SEED + 10);
  const client = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
  const valid = [
    { channel: 'subscribe', id: 1, data: { markets: [rig.marketId(0)], snapshot: true, checksum: true, user: true } },
    { channel: 'subscribe', id: 'x', data: { markets: [rig.marketId(1)], from_sequence: { [rig.marketId(1)]: 3 } } },
    { channel: 'unsubscribe', id: 2, data: { markets: [rig.marketId(0)], user: true } },
    { channel: 'ping', id: 3 },
  ].map((message) => JSON.stringify(message));
  for (let round = 0; round < 600; round++) {
    client.send(damaged(random, random.pick(valid)));
    if (round % 15 < 14) continue;
    rig.clock.advance(1000);
    await client.settle();
  }
  const codes = new Set(client.of('error').map(({ data }) => data.code));
  assert.deepEqual([...codes].sort(), ['NOT_FOUND', 'VALIDATION_ERROR'], `seed ${SEED + 10}`);
  const refusal = await client.ask('subscribe', { markets: [rig.marketId(0)], sideways: true });
  assert.deepEqual(refusal.data, {
    code: 'VALIDATION_ERROR',
    error: 'unknown field: sideways',
    details: { field: 'data.sideways', rule: 'additionalProperties' },
  });
});

test('a wish that its own message does not back is refused, not ignored (RULES.md 8.2)', async (t) => {
  const rig = await StreamRig.start(t, SEED + 11);
  const client = await StreamClient.open(t, rig.baseUrl, rig.headers(1));
  const [id, other] = [rig.marketId(0), rig.marketId(1)];
  const wrong: [string, unknown][] = [
    ['from_sequence', { markets: [id], from_sequence: { [other]: 1 } }],
    ['user_since', { markets: [id], user_since: 1 }],
    ['cancel_on_disconnect', { cancel_on_disconnect: true }],
    ['markets', { markets: id }],
    ['user', { user: 1 }],
    ['from_sequence', { markets: [id], from_sequence: [1] }],
    ['user_since', { user: true, user_since: -1 }],
    ['snapshot', { markets: [id], snapshot: 'yes' }],
  ];
  for (const [field, data] of wrong) {
    const { channel, data: refusal } = await client.ask('subscribe', data);
    assert.deepEqual([channel, refusal.code, refusal.error], ['error', 'VALIDATION_ERROR', `invalid ${field}`]);
  }
  const unknown = await client.ask('subscribe', { markets: [id, '01900000-0000-7000-8000-000000000000'] });
  assert.deepEqual([unknown.data.code, unknown.data.error], ['NOT_FOUND', 'market not found']);
  assert.deepEqual((await client.subscribe({})).markets, [], 'and nothing of what was refused is active');
});

function bestOf(book: StreamBook): { bid?: [string, string]; ask?: [string, string] } {
  const { bids, asks } = book.levels();
  return { bid: bids[0]?.slice(0, 2), ask: asks[0]?.slice(0, 2) };
}

/** The message with a few characters changed, doubled or lost, cut short, or with another value somewhere. */
function damaged(random: Random, text: string): string | Buffer {
  const at = random.below(text.length);
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + String.fromCharCode(random.between(1, 0x2fff)) + text.slice(at + 1);
    case 2:
      return text.slice(0, at) + text.slice(random.below(text.length));
    case 3:
      return text.replace(/true|\[[^\]]*\]|"[a-z_]+"/g, (part) => {
        return random.chance(40)
          ? random.pick(['null', '{}', '[]', '1e999', '-1', '"\u0000"', '[[[[]]]]', '{"a":{}}'])
          : part;
      });
    case 4:
      return Buffer.from(text);
    default:
      return text.replace(/[0-9a-f]{8}/, '00000000');
  }
}

/** For a market with 100 ticks. */
function mirror(level: [string, string] | undefined): string | null {
  return level === undefined ? null : String(Number((1 - Number(level[0])).toPrecision(2)));
}

function isSequenced({ channel }: Json): boolean {
  return channel === 'trade' || channel === 'book_delta';
}

function isPrivate({ channel }: Json): boolean {
  return channel === 'fill' || channel === 'order_status';
}

/** First the placement, then fills, then one end that agrees with the sum of the fills; nothing after it. */
function assertOrderLives(frames: readonly Json[]): void {
  const lives = new Map<string, { filledTokens: number; isOver: boolean; status: string }>();
  for (const { channel, data } of frames) {
    const life = lives.get(data.order_id);
    if (life === undefined) {
      assert.deepEqual(
        [channel, data.reason, data.status, data.filled_amount],
        ['order_status', 'placed', 'open', '0'],
      );
      lives.set(data.order_id, { filledTokens: 0, isOver: false, status: 'open' });
      continue;
    }
    assert.equal(life.isOver, false, 'an order ends once');
    if (channel === 'fill') {
      life.filledTokens += Number(data.token_quantity_atomic);
      assert.equal(data.fee_asset, data.party_side === 'BUY' ? 'TOKEN' : 'USDC');
      assert.equal(data.status, data.remaining === '0' ? 'filled' : 'partially_filled');
      life.status = data.status;
    } else {
      life.isOver = true;
      assert.notEqual(data.reason, 'placed');
      assert.equal(data.status === 'filled', data.reason === 'filled');
      assert.equal(data.filled_amount === '0', life.filledTokens === 0);
      if (data.status === 'filled') assert.equal(life.status, 'filled');
    }
  }
  assert.ok([...lives.values()].some(({ isOver }) => isOver));
  assert.ok([...lives.values()].some(({ filledTokens }) => filledTokens > 0));
}
