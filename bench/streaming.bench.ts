/**
 * How many frames do subscribers get, and how soon? A market with 1, 100 and 1,000 subscribers in a process of their
 * own: first orders one after the other, with each frame's delay from the moment its order was sent and from its
 * acknowledgement (0 for a frame that arrives before the answer); then orders as fast as they are answered, and the
 * frames that arrive in a second. Every order is one delta and one bbo for each outcome. The memory is the server's,
 * before and after they connected.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Connection, toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { assert } from '../shared/base/assert.ts';
import { hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { OrderFactory } from './loadClient.ts';
import { makeTarget } from './loadTarget.ts';
import { processSeconds, residentBytes } from './processStat.ts';
import { type Report, type Row, STOLEN, StealMeter } from './report.ts';
import type { Delays, Delivered } from './streamLoad.ts';

const SUBSCRIBERS = [1, 100, 1000];
const MOST_ORDERS_ONE_BY_ONE = 300;
const MOST_ORDERS_AT_ONCE = 1000;
/**
 * Deltas of one part, summed over all subscribers: with a thousand subscribers, fewer than a thousand orders are
 * enough.
 */
const MOST_DELIVERIES = 100_000;
const CONNECTIONS = 32;
const WARM_UP = 20;

export async function run(): Promise<Report> {
  const rows: Row[] = [];
  for (const subscribers of SUBSCRIBERS) rows.push(await measure(subscribers));
  return {
    bench: 'streaming',
    settings:
      `one market, subscribers in one process, up to ${MOST_ORDERS_ONE_BY_ONE} orders one after the ` +
      `other and ${MOST_ORDERS_AT_ONCE} over ${CONNECTIONS} connections, synchronous FULL, all on the same machine`,
    rows,
    goals: [],
  };
}

/** Each number of subscribers has a server of its own, so that memory is equal at the start. */
async function measure(subscribers: number): Promise<Row> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) }, { SHARDS: '1' });
    const target = await makeTarget(server);
    const factory = new OrderFactory(target, hasherFor(target.domain, await createKeccak()));
    const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(server.baseUrl)));
    const load = fork(fileURLToPath(new URL('./streamLoad.ts', import.meta.url)));
    cleanUps.unshift(
      () => void load.kill(),
      () => {
        for (const connection of connections) connection.close();
      },
    );
    load.once('exit', (code) => assert(code === null || code === 0, 'streaming: no subscriber is closed'));
    const orders = Math.min(MOST_ORDERS_AT_ONCE, MOST_DELIVERIES / subscribers);
    const steal = new StealMeter();
    const before = residentBytes(server.pid!);
    const options = { baseUrl: server.baseUrl, marketId: target.market.id, subscribers };
    assert((await ask<string>(load, options)) === 'subscribed', 'streaming: all are subscribed');
    const perConnection = (residentBytes(server.pid!) - before) / subscribers;

    await deliver(load, connections, factory, WARM_UP);
    const delays = await oneByOne(load, connections[0], factory, Math.min(MOST_ORDERS_ONE_BY_ONE, orders));
    const cpuBefore = processSeconds(server.pid!);
    const { frames, seconds } = await deliver(load, connections, factory, orders);
    const cpuUs = ((processSeconds(server.pid!) - cpuBefore) * 1e6) / frames;
    await assertBalanced(server);
    return {
      subscribers,
      'frames/s': frames / seconds,
      'orders/s': orders / seconds,
      'server us/frame': cpuUs,
      'answer to frame p50 us': delays.afterAnswer.p50Us,
      'p99 us': delays.afterAnswer.p99Us,
      'p99.9 us': delays.afterAnswer.p999Us,
      'sent to frame p50 us': delays.afterSending.p50Us,
      'sent p99 us': delays.afterSending.p99Us,
      'KB a connection': perConnection / 1000,
      [STOLEN]: steal.percent(),
    };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

async function oneByOne(
  load: ChildProcess,
  connection: Connection,
  factory: OrderFactory,
  orders: number,
): Promise<Delays> {
  const requests = Array.from({ length: orders }, () => toBytes(factory.place().request));
  await ask(load, { deltas: requests.length });
  const delivered = once(load, 'message');
  const sentNs: number[] = [];
  const acknowledgedNs: number[] = [];
  for (const request of requests) {
    sentNs.push(nowNs());
    const status = await new Promise<number>((resolve) => connection.send(request, resolve));
    acknowledgedNs.push(nowNs());
    assert(status < 300, 'streaming: every order is taken');
  }
  await delivered;
  return ask<Delays>(load, { sentNs, acknowledgedNs });
}

/** The time from the first order until the last subscriber has the last frame. */
async function deliver(
  load: ChildProcess,
  connections: readonly Connection[],
  factory: OrderFactory,
  orders: number,
): Promise<Delivered> {
  const requests = Array.from({ length: orders }, () => toBytes(factory.place().request));
  await ask(load, { deltas: orders });
  const delivered = once(load, 'message');
  let next = 0;
  const drain = async (connection: Connection): Promise<void> => {
    while (next < orders) {
      const request = requests[next++];
      const status = await new Promise<number>((resolve) => connection.send(request, resolve));
      assert(status < 300, 'streaming: every order is taken');
    }
  };
  await Promise.all(connections.map(drain));
  const [result] = await delivered;
  return result as Delivered;
}

async function ask<T>(load: ChildProcess, message: object): Promise<T> {
  const answered = once(load, 'message');
  load.send(message);
  const [answer] = await answered;
  return answer as T;
}

async function assertBalanced(server: TestServer): Promise<void> {
  assert((await server.admin.ledger()).balanced, 'streaming: the money closes after the load');
}

function nowNs(): number {
  return Number(process.hrtime.bigint());
}
