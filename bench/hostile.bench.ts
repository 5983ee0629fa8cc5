/**
 * What does an attack cost a bystander? A trader places one order after the other, first alone and then while an
 * attacker in a process of its own does one thing as fast as it is let: it holds connections, asks for all that its
 * 2,000 open orders make long, sends orders with wrong signatures, or lets 20 sockets replay a market. Both are on one
 * machine with the server, so a part of what the bystander pays is the attacker's own processor time.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { assert } from '../shared/base/assert.ts';
import type { Credentials } from '../shared/client/request.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../test/support/traders.ts';
import type { Attack, AttackOptions } from './hostileLoad.ts';
import { atMost, type Goal, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const ATTACKS: readonly Attack[] = ['none', 'connections', 'open orders', 'bad signatures', 'replays'];
const OPEN_ORDERS = 2000;
const BATCH = 15;
const PART_MS = 6000;
const WARM_UP = 30;
const MOST_TIMES = 1.5;

type Market = Awaited<ReturnType<typeof makeMarket>>;
type Part = { readonly p50: number; readonly p99: number; readonly orders: number };

export async function run(): Promise<Report> {
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const attack of ATTACKS) {
    const { row, times } = await measure(attack);
    rows.push(row);
    if (attack !== 'none') goals.push(atMost(`p99 under attack / alone, ${attack}`, times, MOST_TIMES));
  }
  return {
    bench: 'hostile',
    settings: `one shard, rate limits on, one order after the other for ${PART_MS / 1000} s each, synchronous FULL`,
    rows,
    goals,
  };
}

/** The attacker is a standard account; the bystander's key is not limited, so that its orders come close together. */
async function measure(attack: Attack): Promise<{ row: Row; times: number }> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const env = { SHARDS: '1', RATE_LIMITS: 'on', ...(attack === 'bad signatures' ? { VERIFIER: 'noble' } : {}) };
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) }, env);
    const market = await makeMarket(server);
    const [hostile, bystander] = [await makeTrader(server), await withWideKey(server, await makeTrader(server))];
    if (attack === 'open orders' || attack === 'replays') await fill(server, market, hostile);
    const load = fork(fileURLToPath(new URL('./hostileLoad.ts', import.meta.url)));
    cleanUps.unshift(() => void load.kill());
    await place(bystander, market, WARM_UP);
    const steal = new StealMeter();
    const alone = await placeFor(bystander, market);
    const { credentials } = hostile;
    const order = hostile.body(market, { price: '0.40', size: '1' });
    await begin(load, { attack, baseUrl: server.baseUrl, credentials, marketId: market.id, order });
    const attacked = await placeFor(bystander, market);
    const times = attacked.p99 / alone.p99;
    const row = {
      attack,
      'alone p50 ms': alone.p50,
      'alone p99 ms': alone.p99,
      'attacked p50 ms': attacked.p50,
      'attacked p99 ms': attacked.p99,
      'p99 times': times,
      orders: alone.orders + attacked.orders,
      'longest turn ms': await longestTurnMs(server),
      [STOLEN]: steal.percent(),
    };
    return { row, times };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

async function withWideKey(server: TestServer, trader: Trader): Promise<Trader> {
  const key = await server.admin.createApiKey(trader.userId, {
    scopes: ['read:account', 'trade:orders', 'trade:bulk'],
    rate_limit_override: { requests: 100_000, window_seconds: 1 },
  });
  const credentials: Credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
  return trader.withKey(credentials);
}

/** The attacker's orders, on both sides of the book. */
async function fill(server: TestServer, market: Market, hostile: Trader): Promise<void> {
  const wide = await withWideKey(server, hostile);
  for (let placed = 0; placed < OPEN_ORDERS - BATCH; placed += BATCH) {
    const orders = Array.from({ length: BATCH }, (_, index) =>
      wide.body(market, {
        price: `0.${10 + ((placed + index) % 30)}`,
        size: '1',
        outcomeIndex: index % 2 === 0 ? 0 : 1,
      }),
    );
    const { succeeded } = (await wide.send('POST', '/v1/orders/batch', { orders })).body;
    assert(succeeded === BATCH, 'hostile: the attacker has its orders');
  }
}

async function begin(load: ChildProcess, options: AttackOptions): Promise<void> {
  const begun = once(load, 'message');
  load.send(options);
  await begun;
}

/** Places orders and cancels them again, so that the bound on open orders is never reached. */
async function place(trader: Trader, market: Market, count: number): Promise<number[]> {
  const timesMs: number[] = [];
  for (let index = 0; index < count; index++) {
    const body = trader.body(market, { price: '0.05', size: '1' });
    const startedMs = performance.now();
    const { order_hash } = await trader.client.placeOrder(body);
    timesMs.push(performance.now() - startedMs);
    await trader.client.cancelOrder(order_hash);
  }
  return timesMs;
}

async function placeFor(trader: Trader, market: Market): Promise<Part> {
  const timesMs: number[] = [];
  for (const endMs = performance.now() + PART_MS; performance.now() < endMs; ) {
    timesMs.push(...(await place(trader, market, 1)));
  }
  timesMs.sort((a, b) => a - b);
  const at = (share: number): number => timesMs[Math.ceil(share * timesMs.length) - 1]!;
  return { p50: at(0.5), p99: at(0.99), orders: timesMs.length };
}

/** By the server's own metric: the longest that one request has held the gateway thread at a time. */
async function longestTurnMs(server: TestServer): Promise<number> {
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text();
  const turns = [...text.matchAll(/^exchange_request_turn_worst_seconds\{[^}]*\} (.*)$/gm)];
  return Math.max(...turns.map(([, seconds]) => Number(seconds) * 1000));
}
