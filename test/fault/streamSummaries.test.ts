/**
 * The channels `market`, `ticker` and `candle` against REST while accounts trade at random and markets change, and over
 * kill -9: whoever puts the frames together has, in each quiet moment, what REST answers (RULES.md 8.23 to 8.25).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { type Json, startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const seed = seedOr(152);
const ROUNDS = timesOf({ suite: 4, soak: 40 });
const ORDERS = 60;
const DAY_MS = 86_400_000;
const STATE = ['status', 'stage', 'fee_bps', 'trading_starts_at', 'trading_ends_at', 'resolved_at', 'settled_at'];

const server = await startServer(fileScope);
const random = new Random(seed);
const markets = await Promise.all([0, 1, 2, 3].map(() => makeMarket(server)));
let traders = await Promise.all([0, 1, 2].map(() => makeTrader(server)));
const get = async (path: string): Promise<Json> => (await server.request('GET', path)).body;
const stateOf = (from: Json): Json =>
  Object.fromEntries([...STATE, 'payouts'].map((name) => [name, from[name] ?? null]));

/** Puts frames together, over any number of connections. */
class Follower {
  readonly states = new Map<string, Json>();
  readonly tickers = new Map<string, Json>();
  /** By market and start. */
  readonly candles = new Map<string, Map<number, Json>>();
  /** Changes since the last quiet moment, by market: the changed field with its value. */
  changes = new Map<string, string[]>();
  /** A restart has put states in the place of changes. */
  wasStated = false;
  #last = new Map<string, number>();
  #place: { run: string; sequence: number } | null = null;
  #client: StreamClient | null = null;
  #read = 0;

  async connect(scope: Parameters<typeof StreamClient.open>[0], ids: readonly string[]): Promise<void> {
    this.#client?.end();
    this.#client = await StreamClient.open(scope, server.baseUrl);
    this.#read = 0;
    const closed = (id: string): number =>
      Math.max(0, ...[...(this.candles.get(id)?.values() ?? [])].filter((c) => !c.is_open).map((c) => c.start));
    const place = this.#place;
    const { market } = await this.#client.subscribe({
      market: { all: true, ...(place === null ? { snapshot: true } : { after: place }) },
      ticker: { markets: ids },
      candle: { markets: ids, interval: '1m', after: Object.fromEntries(ids.map((id) => [id, closed(id)])) },
    });
    if (market.run === place?.run) return;
    this.wasStated = true;
    this.#last.clear();
    this.#place = { run: market.run, sequence: market.sequence };
  }

  /** Everything that has come by now. */
  take(): void {
    const { frames } = this.#client!;
    for (; this.#read < frames.length; this.#read++) {
      const frame = frames[this.#read]!;
      if (frame.channel === 'market') this.#changed(frame);
      else if (frame.channel === 'ticker') this.tickers.set(frame.data.market_id, frame.data);
      else if (frame.channel === 'candle') this.#candle(frame);
    }
  }

  #changed({ market_id, sequence, previous_sequence, data }: Json): void {
    this.states.set(market_id, stateOf(data));
    if (data.changed.length > 0) {
      assert.equal(sequence, this.#place!.sequence + 1, `seed ${seed}: changes of all markets have no gap`);
      assert.equal(previous_sequence, this.#last.get(market_id) ?? previous_sequence);
      this.#place = { ...this.#place!, sequence };
      this.#last.set(market_id, sequence);
    } else {
      this.#last.set(market_id, previous_sequence);
    }
    const before = this.changes.get(market_id) ?? [];
    for (const name of data.changed) before.push(`${name} ${valueOfChange(name, data)}`);
    this.changes.set(market_id, before);
  }

  #candle({ market_id, data }: Json): void {
    const candles = this.candles.get(market_id) ?? new Map<number, Json>();
    this.candles.set(market_id, candles);
    assert.notEqual(
      candles.get(data.start)?.is_open,
      false,
      `seed ${seed}: a closed candle never changes or comes twice`,
    );
    const last = Math.max(...candles.keys(), 0);
    assert.ok(last === 0 || data.start <= last + 60, `seed ${seed}: no interval is left out`);
    candles.set(data.start, data);
  }
}

function valueOfChange(name: string, data: Json): string {
  if (name === 'fee') return data.fee_bps;
  if (name === 'times') return data.trading_ends_at;
  return name === 'decision' ? data.payouts.join() : (data[name] ?? '');
}

/** Changes that were acknowledged since the last quiet moment, as the follower notes them. */
let made = new Map<string, string[]>();
const note = (id: string, ...what: string[]): void => void made.set(id, [...(made.get(id) ?? []), ...what]);
let counter = 0;

async function changeOne(): Promise<void> {
  const { id } = random.pick(markets);
  counter++;
  const { status, stage } = await get(`/v1/markets/${id}`);
  const kind = random.below(4);
  if (kind === 0) {
    await server.admin.patchMarket(id, { fee_bps: counter });
    note(id, `fee ${counter}`);
  } else if (kind === 1) {
    const trading_ends_at = new Date(Date.UTC(2090, 0, 1) + counter * DAY_MS).toISOString();
    await server.admin.patchMarket(id, { trading_ends_at });
    note(id, `times ${trading_ends_at}`);
  } else if (kind === 2) {
    const next = stage === 'open' ? 'post_only' : 'open';
    await server.admin.stepMarket(id, stage === 'open' ? { stage: next } : { stage: next, expected: stage });
    note(id, `stage ${next}`);
  } else {
    const next = status === 'active' ? 'locked' : 'active';
    await server.admin.patchMarket(id, { status: next });
    note(id, `status ${next}`);
  }
}

async function endOne(): Promise<void> {
  const market = await makeMarket(server);
  note(market.id, 'opened ');
  await server.admin.resolveMarket(market.id, { payouts: [300_000, 700_000] });
  note(market.id, 'status resolved', 'decision 300000,700000');
}

/** Orders refused because a market takes no orders or has another fee count as refused. */
async function placeOne(): Promise<void> {
  const market: OrderMarket = random.pick(markets);
  const trader: Trader = random.pick(traders);
  const price = `0.${40 + random.below(20)}`;
  const { fee_bps } = await get(`/v1/markets/${market.id}`);
  const outcomeIndex = random.pick([0, 1] as const);
  const body = trader.body(market, { price, size: String(1 + random.below(9)), outcomeIndex, feeRateBps: fee_bps });
  await trader.post(body);
}

async function load(): Promise<void> {
  const orders = Array.from({ length: 6 }, async () => {
    for (let at = 0; at < ORDERS / 6; at++) await placeOne();
  });
  const changes = (async () => {
    for (let at = 0; at < 8; at++) await changeOne();
    await endOne();
  })();
  await Promise.all([...orders, changes]);
}

/** The frames together are what REST answers. */
async function isSame(follower: Follower): Promise<boolean> {
  follower.take();
  for (const { id } of markets) {
    const ticker = await get(`/v1/markets/${id}/ticker`);
    if (JSON.stringify(follower.tickers.get(id)) !== JSON.stringify(ticker)) return false;
    const { candles } = await get(`/v1/markets/${id}/candles?interval=1m&limit=1000`);
    const own = [...(follower.candles.get(id)?.values() ?? [])];
    if (JSON.stringify(own) !== JSON.stringify(candles)) return false;
  }
  const listed: Json[] = (await get('/v1/markets?limit=100')).markets;
  for (const { id } of listed) {
    const state = JSON.stringify(stateOf(await get(`/v1/markets/${id}`)));
    if (JSON.stringify(follower.states.get(id)) !== state) return false;
  }
  return true;
}

test(`the frames together say the same as REST, over kill -9 too (seed ${seed})`, async (t) => {
  const ids = markets.map(({ id }) => id);
  const follower = new Follower();
  await follower.connect(t, ids);
  for (let round = 0; round < ROUNDS; round++) {
    made = new Map();
    follower.changes = new Map();
    follower.wasStated = false;
    const isKilled = round % 2 === 1;
    if (isKilled) {
      const under = load().catch(() => null);
      await eventually('some changes', async () => made.size > 1);
      await server.kill();
      await under;
      await server.start();
      traders = traders.map((trader) => trader.reconnected());
      await follower.connect(t, ids);
      assert.ok(follower.wasStated);
    } else {
      await load();
      if (round > 0) await follower.connect(t, ids);
    }
    await eventually(`round ${round} of seed ${seed}: the same`, () => isSame(follower));
    if (isKilled) continue;
    for (const [id, changes] of made) assert.deepEqual(follower.changes.get(id), changes, `seed ${seed}, ${id}`);
  }
});
