/**
 * Private streams over kill -9 and a lost shard: a client that comes back with `user_since` has, in the end, exactly
 * the account's orders and trades, each sent once, numbered without a gap, whatever died meanwhile (RULES.md 8.9).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fault/privateStream.test.ts
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { CLOSE_REASON_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid, UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { canLimit, loseShard } from '../support/loseShard.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { type Json, type Scope, startServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeTrader, marketPerShard, type Trader } from '../support/traders.ts';

const CYCLES = timesOf({ suite: 1, soak: 15 });
const SEED = seedOr(20_261_121);
const COMMANDS = 120;
const GROUP = 'all';
const SCOPES = ['read:account', 'trade:orders', 'trade:bulk', 'stream:market', 'stream:user'] as const;
/** So that trimmed journals and starts from snapshots are tested too. */
const ENVIRONMENT = { SNAPSHOT_EVERY: '250', JOURNAL_KEEP: '100' };

const server = await startServer(fileScope, ENVIRONMENT);
const random = seededRandom(SEED);
let named = 0;

/** An account, and all frames of its stream, over all its connections. */
class Listener {
  trader: Trader;
  readonly frames: Json[] = [];
  readonly #scope: Scope;
  #client: StreamClient | null = null;

  /** @param scope its connections end with it */
  constructor(scope: Scope, trader: Trader) {
    this.#scope = scope;
    this.trader = trader;
  }

  get last(): number {
    return this.frames.length;
  }

  async connect(): Promise<void> {
    this.trader = this.trader.reconnected();
    this.#client = await StreamClient.open(this.#scope, server.baseUrl, this.#headers());
    await this.#client.subscribe({ user: true, user_since: this.last });
  }

  /** The connection is gone: frames that have come over it belong to the account for good. */
  take(): void {
    for (const frame of this.#client!.frames.splice(0)) {
      if (frame.user_sequence === undefined) continue;
      assert.equal(frame.user_sequence, this.last + 1, 'no gap, nothing twice');
      this.frames.push(frame);
    }
  }

  /** Everything again, by a client that has nothing. */
  async again(): Promise<Json[]> {
    const client = await StreamClient.open(this.#scope, server.baseUrl, this.#headers());
    await client.subscribe({ user: true, user_since: 0 });
    await client.until(({ user_sequence }) => user_sequence >= this.last);
    return client.frames.filter(({ user_sequence }) => user_sequence !== undefined);
  }

  #headers() {
    return this.trader.client.prepareSigned('GET', '/v1/ws').headers;
  }
}

async function command(listener: Listener, markets: readonly OrderMarket[]): Promise<void> {
  const { trader } = listener;
  const market = markets[Math.floor(random() * markets.length)];
  if (random() < 0.08) await trader.client.cancelMarket(market.id);
  else {
    const price = `0.${47 + Math.floor(random() * 6)}`;
    const timeInForce = random() < 0.2 ? 'FAK' : 'GTC';
    const outcomeIndex = random() < 0.5 ? 0 : 1;
    const size = String(1 + Math.floor(random() * 4));
    const names = {
      ...(random() < 0.4 ? { clientOrderId: `order ${++named}` } : {}),
      ...(random() < 0.4 ? { orderGroup: GROUP } : {}),
    };
    await trader.place(market, { price, size, timeInForce, outcomeIndex, ...names });
  }
}

/**
 * Trades at least COMMANDS commands, and as many more as it takes until `hasEnded`. Refusals and lost answers are to be
 * expected. @param onAnswer is called as often as anything is answered.
 */
async function trade(
  listeners: readonly Listener[],
  markets: readonly OrderMarket[],
  onAnswer: () => void,
  hasEnded: () => boolean,
): Promise<void> {
  let sent = 0;
  const one = async (listener: Listener): Promise<void> => {
    while (sent++ < COMMANDS || !hasEnded()) {
      await command(listener, markets).catch(() => undefined);
      onAnswer();
    }
  };
  await Promise.all(listeners.flatMap((listener) => [one(listener), one(listener), one(listener)]));
}

type OrderRow = { id: Uint8Array; reason: number | null; client_order_id: string | null; order_group: number };

/** Orders and trades of an account as the read model has them. */
function historyOf({ frames }: Listener): { orders: Map<string, OrderRow>; fills: string[] } {
  const db = new Database(join(server.dataDir, 'read.db'), { readonly: true });
  const id = new Uint8Array(UUID_BYTES);
  assert.ok(uuidToBytes(frames[0].data.order_id, id, 0));
  const account = db.prepare<[Uint8Array], number>('SELECT account FROM orders WHERE id = ?').pluck().get(id)!;
  const rows = db
    .prepare<[number], OrderRow>('SELECT id, reason, client_order_id, order_group FROM orders WHERE account = ?')
    .all(account);
  const fills: string[] = [];
  for (const role of ['maker', 'taker']) {
    const trades = db
      .prepare<[number], { id: Uint8Array; order_id: Uint8Array }>(
        `SELECT id, ${role}_order_id AS order_id FROM trades WHERE ${role}_account = ?`,
      )
      .all(account);
    for (const trade of trades) fills.push(`${bytesToUuid(trade.id)} ${role} ${bytesToUuid(trade.order_id)}`);
  }
  db.close();
  return { orders: new Map(rows.map((row) => [bytesToUuid(row.id), row])), fills };
}

/** Each order placed once, filled as often as it was, and over once, with its reason, after everything else. */
function assertSent(listener: Listener): void {
  const { orders, fills } = historyOf(listener);
  const sent = listener.frames.filter(({ channel }) => channel === 'fill');
  assert.deepEqual(
    sent.map(({ data }) => `${data.trade_id} ${data.role} ${data.order_id}`).sort(),
    fills.sort(),
    'each fill is sent once',
  );
  const byOrder = Map.groupBy(listener.frames, ({ data }) => data.order_id as string);
  assert.deepEqual(new Set(byOrder.keys()), new Set(orders.keys()));
  for (const [orderId, frames] of byOrder) {
    const { reason, client_order_id, order_group } = orders.get(orderId)!;
    assert.ok(reason !== null, 'every order is over');
    const statuses = frames.filter(({ channel }) => channel === 'order_status');
    assert.deepEqual(
      statuses.map(({ data }) => data.reason),
      ['placed', CLOSE_REASON_NAMES[reason]],
    );
    for (const { data } of frames) {
      assert.equal(data.client_order_id ?? null, client_order_id);
      assert.equal(data.order_group, order_group === 0 ? undefined : GROUP);
    }
    assert.equal(frames[0].data.reason, 'placed');
    assert.equal(frames.at(-1).data.reason, CLOSE_REASON_NAMES[reason]);
  }
}

/** kill -9 while everybody trades, even if a shard was lost and rebuilt before. */
async function end(losesShard: boolean): Promise<void> {
  if (losesShard) await loseShard(server);
  await server.kill();
}

test(`a private stream is whole over ${CYCLES} kills and lost shards (SEED=${SEED})`, async (t) => {
  const markets = await marketPerShard(server, 2);
  const listeners = [
    new Listener(t, await makeTrader(server, { scopes: [...SCOPES], depositMicro: 10_000_000_000 })),
    new Listener(t, await makeTrader(server, { scopes: [...SCOPES], depositMicro: 10_000_000_000 })),
  ];
  for (const { trader } of listeners) {
    await trader.client.setOrderGroup(GROUP, { window_seconds: 60, max_token_quantity_atomic: '900000000000' });
  }
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    for (const listener of listeners) await listener.connect();
    let answered = 0;
    let ending: Promise<void> | undefined;
    const killAfter = 20 + Math.floor(random() * (COMMANDS - 40));
    let hasEnded = false;
    const onAnswer = () => {
      if (++answered !== killAfter) return;
      ending = end(cycle % 2 === 0 && canLimit).finally(() => {
        hasEnded = true;
      });
    };
    await trade(listeners, markets, onAnswer, () => hasEnded);
    await ending;
    for (const listener of listeners) listener.take();
    await server.start(ENVIRONMENT);
  }
  for (const listener of listeners) await listener.connect();
  for (const { trader } of listeners) await trader.client.cancelAll();
  await eventually('a read model that has every record', isReadModelThrough);
  for (const listener of listeners) {
    const { orders } = historyOf(listener);
    await eventually('the end of every order', async () => {
      listener.take();
      const over = new Set(listener.frames.filter(({ data }) => isOver(data)).map(({ data }) => data.order_id));
      return orders.keys().every((orderId) => over.has(orderId));
    });
    assert.deepEqual(await listener.again(), listener.frames, 'nothing has another number than it had');
  }
  await server.stop();
  for (const listener of listeners) assertSent(listener);
});

/** A stop does not wait for the projector, so what read.db is to show is awaited before. */
async function isReadModelThrough(): Promise<boolean> {
  const response = await fetch(`${server.baseUrl}/metrics`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  const lags = [...(await response.text()).matchAll(/^exchange_projector_lag_records\{.*\} (\d+)$/gm)];
  return lags.length > 0 && lags.every(([, records]) => records === '0');
}

function isOver({ reason }: Json): boolean {
  return reason !== undefined && reason !== 'placed';
}
