/** The channel `market`: every change of a market, once and in order, for one, an event or all (RULES.md 8.23). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Json, sharedServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const UNKNOWN = '01900000-0000-7000-8000-000000000000';
const STATE = ['status', 'stage', 'fee_bps', 'trading_starts_at', 'trading_ends_at', 'resolved_at', 'settled_at'];

const shown = async (id: string): Promise<Json> => (await server.request('GET', `/v1/markets/${id}`)).body;
const stateOf = (from: Json): Json =>
  Object.fromEntries([...STATE, 'payouts', 'event_id'].map((name) => [name, from[name] ?? null]));
const changesOf = (client: StreamClient, id: string): Json[] =>
  client.of('market').filter(({ market_id }) => market_id === id);

/** Makes every change of a market; the last is its settlement. */
async function live(id: string): Promise<void> {
  await server.admin.patchMarket(id, { fee_bps: 70 });
  await server.admin.patchMarket(id, { trading_ends_at: '2098-01-01T00:00:00.000Z' });
  await server.admin.stepMarket(id, { stage: 'cancel_only' });
  await server.admin.stepMarket(id, { stage: 'open', expected: 'cancel_only' });
  for (const status of ['locked', 'resolving'] as const) await server.admin.patchMarket(id, { status });
  await server.admin.resolveMarket(id, { payouts: [250_000, 750_000] });
  await server.admin.settleMarket(id);
}

const LIFE = [['opened'], ['fee'], ['times'], ['stage'], ['stage'], ['status'], ['status'], ['status', 'decision']];

test('a market, an event and all see each change once, with the state that REST shows', async (t) => {
  const all = await StreamClient.open(t, server.baseUrl);
  const event = await server.admin.createEvent({ title: 'Sea', slug: 'sea-8-23', category: 'Sea' });
  await all.subscribe({ market: { all: true } });
  const ofEvent = await StreamClient.open(t, server.baseUrl);
  const { market: active } = await ofEvent.subscribe({ market: { events: [event.id.toUpperCase()] } });
  assert.deepEqual([active.events, active.markets, active.all], [[event.id], [], false]);
  const market = await makeMarket(server, { event_id: event.id });
  const other = await makeMarket(server);
  const one = await StreamClient.open(t, server.baseUrl);
  await one.subscribe({ market: { markets: [market.id], snapshot: true } });
  const state = await one.until(({ channel }) => channel === 'market');
  assert.deepEqual([state.data.changed, stateOf(state.data)], [[], stateOf(await shown(market.id))]);
  // Collateral is no change of a market's state.
  await (await makeTrader(server)).client.split(market.id, 1_000_000n);
  await live(market.id);
  await server.admin.patchMarket(other.id, { fee_bps: 1 });
  for (const client of [all, ofEvent, one]) {
    await client.until(({ data }) => data?.changed?.includes('settled'));
    await client.settle();
  }
  const mine = changesOf(all, market.id);
  assert.deepEqual(
    mine.map(({ data }) => data.changed),
    [...LIFE, ['status', 'settled']],
  );
  assert.deepEqual(stateOf(mine.at(-1)!.data), stateOf(await shown(market.id)));
  assert.deepEqual((await shown(market.id)).payouts, [250_000, 750_000]);
  assert.deepEqual(changesOf(ofEvent, market.id), mine);
  assert.deepEqual(one.of('market').slice(1), mine.slice(1));
  assert.deepEqual([changesOf(ofEvent, other.id), changesOf(one, other.id)], [[], []]);
  assert.deepEqual(
    changesOf(all, other.id).map(({ data }) => data.changed),
    [['opened'], ['fee']],
  );
  const numbers = all.of('market').map(({ sequence }) => sequence);
  assert.deepEqual(
    numbers,
    Array.from(numbers, (_, at) => numbers[0] + at),
    'no number is left out',
  );
  mine.reduce((before, { sequence, previous_sequence }) => {
    assert.equal(previous_sequence, before);
    return sequence;
  }, 0);
});

test('a step of the platform is a change of each market', async (t) => {
  const markets = [await makeMarket(server), await makeMarket(server)];
  const client = await StreamClient.open(t, server.baseUrl);
  await client.subscribe({ market: { markets: markets.map(({ id }) => id) } });
  await server.admin.stepPlatform({ stage: 'post_only' });
  await server.admin.stepPlatform({ stage: 'open', expected: 'post_only' });
  for (const { id } of markets) {
    await client.until(({ market_id, data }) => market_id === id && data.stage === 'open');
    const stages = changesOf(client, id).map(({ data }) => [data.changed, data.stage]);
    assert.deepEqual(stages, [
      [['stage'], 'post_only'],
      [['stage'], 'open'],
    ]);
  }
});

test('a returning client gets the changes that it missed, and after kill -9 the present markets', async (t) => {
  const market = await makeMarket(server);
  const first = await StreamClient.open(t, server.baseUrl);
  const { market: place } = await first.subscribe({ market: { markets: [market.id] } });
  for (const fee_bps of [11, 12, 13, 14]) await server.admin.patchMarket(market.id, { fee_bps });
  await first.until(({ data }) => data?.fee_bps === 14);
  const sent = changesOf(first, market.id);
  for (const [at, { sequence }] of [{ sequence: place.sequence }, ...sent].entries()) {
    const back = await StreamClient.open(t, server.baseUrl);
    const after = { run: place.run, sequence };
    const answer = await back.subscribe({ market: { markets: [market.id], after } });
    assert.equal(answer.market.run, place.run);
    await back.settle();
    assert.deepEqual(changesOf(back, market.id), sent.slice(at), `after ${sequence}`);
  }
  const elsewhere = await StreamClient.open(t, server.baseUrl);
  const after = { run: 'f'.repeat(16), sequence: place.sequence };
  await elsewhere.subscribe({ market: { markets: [market.id], after } });
  const instead = await elsewhere.until(({ channel }) => channel === 'market');
  assert.deepEqual([instead.data.changed, instead.sequence], [[], sent.at(-1)!.sequence], 'another run');
  const asked = server.adminRequest('PATCH', `/admin/markets/${market.id}`, { fee_bps: 15 }).catch(() => null);
  await server.kill();
  await asked;
  await server.start();
  const back = await StreamClient.open(t, server.baseUrl);
  const last = { run: place.run, sequence: sent.at(-1)!.sequence };
  const { market: next } = await back.subscribe({ market: { markets: [market.id], after: last } });
  assert.notEqual(next.run, place.run, 'numbers are those of a run');
  const state = await back.until(({ channel }) => channel === 'market');
  assert.deepEqual([state.data.changed, stateOf(state.data)], [[], stateOf(await shown(market.id))]);
  const everything = await StreamClient.open(t, server.baseUrl);
  await everything.subscribe({ market: { all: true, snapshot: true } });
  const { body } = await server.request('GET', '/v1/markets?limit=100&status=active');
  for (const { id } of body.markets) await everything.until(({ market_id }) => market_id === id);
});

test('an invalid selection, or one of more than 500 names, is refused and changes nothing', async (t) => {
  const client = await StreamClient.open(t, server.baseUrl);
  const run = 'f'.repeat(16);
  const invalid = [
    {},
    { snapshot: true },
    { all: false },
    { all: 1 },
    { markets: ['nobody'] },
    { markets: 'all' },
    { all: true, after: { run, sequence: -1 } },
    { all: true, after: { run, sequence: 1e300 } },
    { all: true, after: { run: run.toUpperCase(), sequence: 1 } },
    { all: true, after: 7 },
    { all: true, other: 1 },
  ];
  for (const market of invalid) {
    const { channel, data } = await client.ask('subscribe', { market });
    assert.deepEqual([channel, data.code], ['error', 'VALIDATION_ERROR'], JSON.stringify(market));
  }
  for (const [market, error] of [
    [{ markets: [UNKNOWN] }, 'market not found'],
    [{ events: [UNKNOWN], all: true }, 'event not found'],
  ] as const) {
    const { data } = await client.ask('subscribe', { market });
    assert.deepEqual([data.code, data.error, data.details.value], ['NOT_FOUND', error, UNKNOWN]);
  }
  const { data } = await client.ask('unsubscribe', { market: { all: true, markets: [UNKNOWN], events: [UNKNOWN] } });
  assert.equal(data.market, undefined, 'nothing is followed');
});
