/**
 * How many requests does the server answer? The whole server as `npm start` runs it, over HTTP: signed orders and
 * cancels, each acknowledged after its commit, and reads of the book. Server and client share the machine, so only
 * ratios to peers measured in the same round hold on other machines: to bare native key recovery on one core and, in
 * processes of their own, to uWebSockets.js alone and to the bare path of an order (barePath.ts). Recovery shows how
 * fast the processor is; the bare path also shows how fast threads wake up, sockets are written and files are synced,
 * so the difference to the bare path is the exchange's own cost.
 *
 * A client in JavaScript is slower than a server that only reads, so reads are compared by the processor time they cost
 * the server, where the system reports it.
 */
import { assert } from '../shared/base/assert.ts';
import { type Scope, startServer } from '../test/support/server.ts';
import type { LoadOptions, LoadResult, LoadTask, TimedKind } from './gatewayLoad.ts';
import { BATCH_ORDERS } from './loadClient.ts';
import { MEASURED_SERVER, makeSigners, makeTarget, runClient, startBarePath, startBareServer } from './loadTarget.ts';
import { atLeast, type Goal, median, type Report, type Row, STOLEN } from './report.ts';

const ROUNDS = 6;
const REQUESTS = 6000;
const READS = 12_000;
const BATCHES = 400;
const CONNECTIONS = 64;
const LEVELS = 20;
const RECOVER_SECONDS = 0.8;
const SIGNERS = 60;

const LEAST_PLACE_RATIO = 0.65;
/**
 * The same share as of bare recovery: the rules of a whole exchange may cost the rest. Both sides of this ratio vary
 * with the machine, so the best round might be one in which the peer was disturbed.
 */
const LEAST_PATH_RATIO = 0.65;
const LEAST_CANCEL_RATIO = 0.25;
const LEAST_READ_RATIO = 0.6;

const NAMES: Readonly<Partial<Record<LoadResult['kind'], string>>> = {
  recover: 'bare native recovery',
  batch: 'orders in batches',
  quotes: 'quotes replaced, both sides',
};

type Round = Readonly<Record<TimedKind | 'recover', LoadResult>>;

const ROUND: readonly LoadTask[] = [
  { kind: 'recover', seconds: RECOVER_SECONDS },
  { kind: 'place, many signers', requests: REQUESTS },
  // The bare path gets the requests of the task before, and knows only one signer.
  { kind: 'place', requests: REQUESTS },
  { kind: 'bare path, place', requests: REQUESTS },
  { kind: 'cancel', requests: REQUESTS },
  { kind: 'bare path, cancel', requests: REQUESTS },
  { kind: 'batch', requests: BATCHES },
  { kind: 'quotes', requests: REQUESTS },
  { kind: 'bare POST', requests: READS },
  { kind: 'bbo', requests: READS },
  { kind: 'bare GET as bbo', requests: READS },
  { kind: 'book', requests: READS },
  { kind: 'bare GET as book', requests: READS },
];

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  try {
    const server = await startServer(scope, { ...MEASURED_SERVER, LOG_LEVEL: 'info' });
    const target = await makeTarget(server);
    const tasks: LoadTask[] = [{ kind: 'ladder', levels: LEVELS }];
    for (let round = 0; round < ROUNDS; round++) tasks.push(...ROUND);
    const [, ...results] = await runClient<LoadOptions, LoadResult>('./gatewayLoad.ts', {
      ...target,
      signers: await makeSigners(server, target, SIGNERS),
      connections: CONNECTIONS,
      tasks,
      serverPid: server.pid,
      bareServer: await startBareServer(scope),
      barePath: await startBarePath(scope, target),
    });
    assert((await server.admin.ledger()).balanced, 'gateway: the money closes after the load');
    assert(
      results.every(({ refused }) => refused === 0),
      'gateway: the server takes everything, and the bare path what it takes',
    );
    return describe(results);
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

function describe(results: readonly LoadResult[]): Report {
  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    const own = results.slice(round * ROUND.length, (round + 1) * ROUND.length);
    return Object.fromEntries(own.map((result) => [result.kind, result])) as Round;
  });
  return {
    bench: 'gateway',
    settings:
      `${REQUESTS} orders, cancels and new quotes, ${BATCHES} batches of ${BATCH_ORDERS} orders and ${READS} reads a ` +
      `round, ${CONNECTIONS} keep-alive connections with one ` +
      `request in flight each, one account, or one of ${SIGNERS} in turn, one market, signed and authenticated ` +
      'ahead, synchronous FULL, client on ' +
      'the same machine; rates are compared by the best round of each, costs by the best ratio of a round, and the ' +
      'bare path (barePath.ts: HTTP, HMAC, JSON, schema, ring, signature and commit, none of the rules) by the median',
    rows: results.map((result, index) => rowOf(1 + Math.floor(index / ROUND.length), result)),
    goals: goalsOf(rounds),
  };
}

function goalsOf(rounds: readonly Round[]): Goal[] {
  const best = (ratio: (round: Round) => number): number => Math.max(...rounds.map(ratio));
  const read = (kind: 'bbo' | 'book') => best((round) => costRatio(round[`bare GET as ${kind}`], round[kind]));
  // The fastest round of each side: the ratio of one round may be high only because its peer was disturbed.
  const fastest = (kind: keyof Round): number => best((round) => round[kind].perSecond);
  const places = fastest('place') / fastest('recover');
  const cancels = fastest('cancel') / fastest('bare POST');
  return [
    atLeast('signed orders/s to bare native recovery', places, LEAST_PLACE_RATIO),
    atLeast('signed orders/s to the bare path, median round', median(rounds.map(pathRatio)), LEAST_PATH_RATIO),
    atLeast('durable cancels/s to a bare POST', cancels, LEAST_CANCEL_RATIO),
    atLeast('best prices, cost of a bare GET to theirs', read('bbo'), LEAST_READ_RATIO),
    atLeast(`book of ${LEVELS} levels, cost of a bare GET to its`, read('book'), LEAST_READ_RATIO),
  ];
}

function pathRatio(round: Round): number {
  return round.place.perSecond / round['bare path, place'].perSecond;
}

/** Compares rates if the system does not report processor time. */
function costRatio(bare: LoadResult, own: LoadResult): number {
  if (bare.processorUs === undefined || own.processorUs === undefined) return own.perSecond / bare.perSecond;
  return bare.processorUs / own.processorUs;
}

function rowOf(
  round: number,
  { kind, perSecond, p50Us, p99Us, processorUs, clientUs, refused, stolen }: LoadResult,
): Row {
  return {
    task: `${round}, ${NAMES[kind] ?? kind}`,
    'per second': perSecond,
    'p50 us': p50Us,
    'p99 us': p99Us,
    'server processor us': processorUs ?? '',
    'client processor us': clientUs ?? '',
    refused,
    [STOLEN]: stolen,
  };
}
