/**
 * What do more shards and more cores bring? The whole server with one, two and four shards under the same orders, and
 * the processor time of each of its threads for one order. On a machine with few cores the shards share them with each
 * other, the gateway and the client, so the throughput says little; the time per order says where the ceiling of a
 * larger machine is, and the table works it out beside what was measured.
 */
import { assert } from '../shared/base/assert.ts';
import { UUID_BYTES, uuidToBytes } from '../shared/base/hex.ts';
import { shardOfMarket } from '../shared/base/sharding.ts';
import type { OrderMarket } from '../shared/client/order.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { makeMarket } from '../test/support/traders.ts';
import type { LoadOptions, LoadResult } from './gatewayLoad.ts';
import { makeTarget, runClient } from './loadTarget.ts';
import { processSeconds, threadSeconds } from './processStat.ts';
import { type Report, type Row, STOLEN, StealMeter } from './report.ts';

const SHARDS = [1, 2, 4];
const REQUESTS = 2500;
const CONNECTIONS = 32;
const LARGE_CORES = 16;
/** Cores left for the other threads of the server, the system and its interrupts. */
const RESERVED_CORES = 3;

type Scaling = {
  readonly shards: number;
  readonly ordersPerSecond: number;
  /** Processor time of one order and its cancel, in microseconds, by thread. */
  readonly gatewayUs: number;
  readonly shardsUs: number;
  readonly restUs: number;
  readonly stolen: number | string;
};

export async function run(): Promise<Report> {
  const rows: Row[] = [];
  for (const shards of SHARDS) rows.push(toRow(await measure(shards)));
  return {
    bench: 'scaling',
    settings:
      `a market per shard, ${REQUESTS} orders and their cancels a market, all shards at once, synchronous FULL, ` +
      `client on the same machine; the last column is worked out for ${LARGE_CORES} cores: ` +
      `the gateway's one thread on one of them, or shards on all others but ${RESERVED_CORES}, whichever is less`,
    rows,
    goals: [],
  };
}

async function measure(shards: number): Promise<Scaling> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) }, { SHARDS: String(shards) });
    const { pid } = server;
    assert(pid !== undefined, 'scaling: the server runs');
    const target = await makeTarget(server);
    const markets = await marketPerShard(server, shards);
    const load: LoadOptions = {
      ...target,
      connections: CONNECTIONS / shards,
      tasks: [
        { kind: 'place', requests: REQUESTS },
        { kind: 'cancel', requests: REQUESTS },
      ],
    };
    const steal = new StealMeter();
    const before = threadSeconds(pid);
    const allBefore = processSeconds(pid);
    const clients = markets.map((market) =>
      runClient<LoadOptions, LoadResult>('./gatewayLoad.ts', { ...load, market }),
    );
    const results = (await Promise.all(clients)).flat();
    const after = threadSeconds(pid);
    const all = processSeconds(pid) - allBefore;
    assert(
      results.every(({ refused }) => refused === 0),
      'scaling: every order is taken',
    );

    const orders = markets.length * REQUESTS;
    const used = [...after].map(([id, end]) => ({ id, seconds: end - (before.get(id) ?? 0) }));
    const gateway = used.find(({ id }) => id === pid)?.seconds ?? 0;
    const busiest = used
      .filter(({ id }) => id !== pid)
      .map((thread) => thread.seconds)
      .sort((a, b) => b - a)
      .slice(0, shards);
    const inShards = busiest.reduce((sum, each) => sum + each, 0);
    const placed = results.filter(({ kind }) => kind === 'place').reduce((sum, { perSecond }) => sum + perSecond, 0);
    return {
      shards,
      ordersPerSecond: placed,
      gatewayUs: (gateway / orders) * 1e6,
      shardsUs: (inShards / orders) * 1e6,
      restUs: ((all - gateway - inShards) / orders) * 1e6,
      stolen: steal.percent(),
    };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

/** The server draws the ids of markets, and the id decides the shard. */
async function marketPerShard(server: TestServer, shards: number): Promise<OrderMarket[]> {
  const markets = new Map<number, OrderMarket>();
  const idBytes = new Uint8Array(UUID_BYTES);
  while (markets.size < shards) {
    const market = await makeMarket(server);
    uuidToBytes(market.id, idBytes, 0);
    markets.set(shardOfMarket(idBytes, shards), market);
  }
  return [...markets.values()];
}

function toRow({ shards, ordersPerSecond, gatewayUs, shardsUs, restUs, stolen }: Scaling): Row {
  const ceiling = Math.min(1e6 / gatewayUs, ((LARGE_CORES - 1 - RESERVED_CORES) * 1e6) / shardsUs);
  return {
    shards,
    'orders/s': ordersPerSecond,
    'gateway us': gatewayUs,
    'shards us': shardsUs,
    'other threads us': restUs,
    [`orders and cancels/s on ${LARGE_CORES} cores`]: ceiling,
    [STOLEN]: stolen,
  };
}
