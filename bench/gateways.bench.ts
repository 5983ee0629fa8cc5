/**
 * What do front threads take from the gateway thread, and what do they cost? The same orders and reads are sent
 * alternately to a server whose gateway thread has the connections and to one where a front thread has them. There can
 * be only one gateway thread, so its processor time per request shows how many requests a machine with spare cores can
 * answer. On two cores, which client and shards share, the rates only have to stay about the same.
 *
 * The model of a machine with 16 cores has a core for each thread: the gateway thread, the projector, SHARDS shards,
 * and a front on each remaining core. It computes for how many requests the gateway thread, or all fronts together,
 * have processor time if a request costs as much as here.
 */
import { assert } from '../shared/base/assert.ts';
import { type Scope, startServer, type TestServer } from '../test/support/server.ts';
import type { LoadOptions, LoadResult, TimedKind } from './gatewayLoad.ts';
import type { LoadTarget } from './loadClient.ts';
import { MEASURED_SERVER, makeTarget, runClient } from './loadTarget.ts';
import { whenIdle } from './processStat.ts';
import { atLeast, atMost, median, type Report, type Row, STOLEN } from './report.ts';

const ROUNDS = 3;
const ROUNDS_FULL = 6;
const CONNECTIONS = 64;
const LEVELS = 20;
const SALTS_A_CLIENT = 1_000_000;
/** A client's tasks, in this order: cancels are for the orders placed before. */
const TASKS: readonly (readonly (readonly [kind: TimedKind, requests: number])[])[] = [
  [
    ['place', 4000],
    ['cancel', 4000],
  ],
  [['batch', 400]],
  [['quotes', 4000]],
  [['bbo', 12_000]],
  [['book', 12_000]],
];
const KINDS = TASKS.flat().map(([kind]) => kind);
const READS: ReadonlySet<TimedKind> = new Set(['bbo', 'book']);
/** A front thread is one more thread on the same two cores, and every call is handed over twice. */
const LEAST_RATE = 0.8;
const MOST_GATEWAY_SHARE = 0.9;
/** The gateway thread does nothing for a read that a front answers. */
const MOST_GATEWAY_SHARE_OF_READ = 0.1;
const CORES = 16;
const SHARDS = 4;
const FRONTS = CORES - SHARDS - 2;

type Side = { readonly gateways: number; readonly server: TestServer; readonly target: LoadTarget };
/** Processor time per request; `otherUs` is the front's, and for an order the shard's and its followers'. */
type Measured = LoadResult & { readonly gateways: number; readonly gatewayUs: number; readonly otherUs: number };

export async function run({ isFull }: { readonly isFull: boolean }): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  try {
    const sides: Side[] = [];
    for (const gateways of [1, 2]) {
      const server = await startServer(scope, { ...MEASURED_SERVER, SHARDS: '1', GATEWAYS: String(gateways) });
      sides.push({ gateways, server, target: await makeTarget(server) });
    }
    for (const { target } of sides) await load(target, [{ kind: 'ladder', levels: LEVELS }]);
    const measured: Measured[] = [];
    const rounds = isFull ? ROUNDS_FULL : ROUNDS;
    for (let round = 0; round < rounds; round++) {
      for (const tasks of TASKS) {
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) measured.push(...(await measure(side, tasks)));
      }
    }
    assert(
      measured.every(({ refused }) => refused === 0),
      'gateways: the servers take everything',
    );
    return describe(measured, rounds);
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

let clients = 0;
function load(target: LoadTarget, tasks: LoadOptions['tasks'], serverPid?: number): Promise<LoadResult[]> {
  const own = { connections: CONNECTIONS, lastSalt: SALTS_A_CLIENT * ++clients };
  const options = { ...target, ...own, tasks, ...(serverPid === undefined ? {} : { serverPid }) };
  return runClient<LoadOptions, LoadResult>('./gatewayLoad.ts', options);
}

async function measure({ gateways, server, target }: Side, tasks: (typeof TASKS)[number]): Promise<Measured[]> {
  const pid = server.pid!;
  await whenIdle(pid);
  const results = await load(
    target,
    tasks.map(([kind, requests]) => ({ kind, requests })),
    pid,
  );
  return results.map((result) => {
    const { gatewayUs = Number.NaN, processorUs = Number.NaN } = result;
    return { ...result, gateways, gatewayUs, otherUs: Math.max(processorUs - gatewayUs, 0) };
  });
}

function describe(measured: readonly Measured[], rounds: number): Report {
  const of = (kind: TimedKind, gateways: number, value: (result: Measured) => number): number =>
    median(measured.filter((result) => result.kind === kind && result.gateways === gateways).map(value));
  const ratio = (kind: TimedKind, value: (result: Measured) => number): number =>
    of(kind, 2, value) / of(kind, 1, value);
  return {
    bench: 'gateways',
    settings:
      `${rounds} rounds by turns, ${CONNECTIONS} keep-alive connections with one request in flight each, one ` +
      'account, one market, one shard, client on the same machine; the gateway thread is the main thread of the ' +
      'server, and ratios are of medians',
    rows: [...measured.map(rowOf), ...KINDS.flatMap((kind) => [1, 2].map((gateways) => modelled(kind, gateways, of)))],
    goals: KINDS.flatMap((kind) => [
      atLeast(
        `${kind}/s, GATEWAYS=2 / 1`,
        ratio(kind, ({ perSecond }) => perSecond),
        LEAST_RATE,
      ),
      atMost(
        `${kind}, processor time of the gateway thread, GATEWAYS=2 / 1`,
        ratio(kind, ({ gatewayUs }) => gatewayUs),
        READS.has(kind) ? MOST_GATEWAY_SHARE_OF_READ : MOST_GATEWAY_SHARE,
      ),
    ]),
  };
}

type Median = (kind: TimedKind, gateways: number, value: (result: Measured) => number) => number;

function modelled(kind: TimedKind, gateways: number, of: Median): Row {
  const ofGateway = 1e6 / of(kind, gateways, ({ gatewayUs }) => gatewayUs);
  // Orders reach the limit of the gateway thread long before that of the fronts, which only read them.
  const ofFronts =
    !READS.has(kind) || gateways === 1 ? Infinity : (FRONTS * 1e6) / of(kind, 2, ({ otherUs }) => otherUs);
  return {
    task: `${kind}, model of ${CORES} cores, GATEWAYS=${gateways === 1 ? 1 : FRONTS + 1}`,
    'per second': Math.round(Math.min(ofGateway, ofFronts)),
  };
}

function rowOf({ kind, gateways, perSecond, p50Us, p99Us, processorUs, gatewayUs, otherUs, stolen }: Measured): Row {
  return {
    task: `${kind}, GATEWAYS=${gateways}`,
    'per second': perSecond,
    'p50 us': p50Us,
    'p99 us': p99Us,
    'gateway thread us': gatewayUs,
    'other threads us': otherUs,
    'server processor us': processorUs ?? '',
    [STOLEN]: stolen,
  };
}
