/**
 * Is the exchange as fast as its goals demand? All goals of its speed in one run: single orders, batches, the first
 * orders of a fresh server, the processor time of an order, the latency at a moderate pace, cancels and reads. Each
 * round has a server of its own, and every goal takes the round in which its own figures were disturbed least, or the
 * median of the rounds that were disturbed as little.
 *
 * R is the time of one native key recovery right before and after a load (nativeRecovery.ts). A rate times R is the
 * number of orders in the time of one recovery; this holds on other machines, more or less. While the exchange
 * recovered a key for every order, a shard could never reach one divided by R. If the recoveries before and after
 * differ, the processor has changed its speed: a host that lends its cores to others does that without any stolen time.
 */
import { assert } from '../shared/base/assert.ts';
import { type Scope, startServer } from '../test/support/server.ts';
import { compareKernel } from './kernelRounds.ts';
import type { Peer, PeerProcess } from './loadClient.ts';
import { MEASURED_SERVER, makeTarget, runClient, startBarePath, startBareServer } from './loadTarget.ts';
import type { Noise } from './noise.ts';
import { atLeast, atMost, type Goal, ofQuietest, type Report, type Row, STOLEN } from './report.ts';
import type { Load, LoadName, Pace, PaceName, SpeedOptions, SpeedRound } from './speedProtocol.ts';
import * as protocol from './speedProtocol.ts';

const ROUNDS = 3;

const LEAST_SINGLE = 1.1;
const STRETCH_SINGLE = 1.4;
const LEAST_BATCHES = 1.35;
const STRETCH_BATCHES = 1.8;
const LEAST_SOCKET = 1.6;
const MOST_SHARD = 0.55;
const MOST_GATEWAY = 0.5;
const LEAST_FIRST = 0.7;
const MOST_PLACE_P50_BARE = 1.4;
const MOST_PLACE_P50_IDLE = 2;
const MOST_OWN_P50_US = 150;
/** The value while every signature was recovered (commit 7069beb), plus a little for the noise of a run. */
const MOST_CANCEL = 5.4;
const MOST_BEST_PRICES = 1.55;
const MOST_BOOK = 1.7;

export async function run(): Promise<Report> {
  const rounds: SpeedRound[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await runRound());
  const kernel = compareKernel();
  return {
    bench: 'speed',
    settings:
      `a fresh server in each of ${ROUNDS} rounds, one account, one market, requests signed ahead, synchronous FULL, ` +
      `client on the same machine; warm means after ${protocol.WARM_UP_ORDERS} orders; R is a native key recovery in ` +
      'the same round; others is what other programs had of the machine',
    rows: [...rounds.flatMap((round, index) => rowsOf(1 + index, round)), ...kernel.rows],
    goals: [...kernel.goals, ...goalsOf(rounds)],
  };
}

async function runRound(): Promise<SpeedRound> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  try {
    const server = await startServer(scope, { ...MEASURED_SERVER, LOG_LEVEL: 'info', REHEARSE: 'on' });
    const target = await makeTarget(server);
    const peers = {
      server: withPid(server),
      barePath: withPid(await startBarePath(scope, target)),
      bareServer: withPid(await startBareServer(scope)),
    };
    const pids = [process.pid, ...Object.values(peers).map(({ pid }) => pid)];
    const [round] = await runClient<SpeedOptions, SpeedRound>('./speedLoad.ts', { ...target, ...peers, pids });
    assert((await server.admin.ledger()).balanced, 'speed: the money closes after the load');
    return round;
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

function withPid({ baseUrl, pid }: Peer): PeerProcess {
  assert(pid !== undefined, 'speed: a peer is a process');
  return { baseUrl, pid };
}

function goalsOf(rounds: readonly SpeedRound[]): Goal[] {
  const byLoads = (names: readonly LoadName[], figure: (round: SpeedRound) => number): number =>
    ofQuietest(rounds, ({ loads }) => names.reduce((sum, name) => sum + noiseOf(loads[name]), 0), figure);
  const byPaces = (names: readonly PaceName[], figure: (round: SpeedRound) => number): number =>
    ofQuietest(rounds, ({ paces }) => names.reduce((sum, name) => sum + noiseOf(paces[name]), 0), figure);
  const rateInR = (name: LoadName): number => byLoads([name], ({ loads }) => timesR(loads[name]));
  const costInR = (thread: 'gatewayUs' | 'shardUs'): number =>
    byLoads(['single orders'], ({ loads: { 'single orders': load } }) => load[thread] / load.recoveryUs);
  const rateTo = (name: LoadName, other: LoadName): number =>
    byLoads([name, other], ({ loads }) => loads[name].perSecond / loads[other].perSecond);
  const costTo = (name: LoadName, bare: LoadName): number =>
    byLoads([name, bare], ({ loads }) => (loads[name].gatewayUs + loads[name].shardUs) / loads[bare].gatewayUs);
  const p50To = (other: PaceName): number =>
    byPaces(['server', other], ({ paces }) => paces.server.p50Us / paces[other].p50Us);
  return [
    atLeast('single orders/s x R', rateInR('single orders'), LEAST_SINGLE),
    atLeast('single orders/s x R, stretch', rateInR('single orders'), STRETCH_SINGLE),
    atLeast('orders/s in batches x R', rateInR('batches'), LEAST_BATCHES),
    atLeast('orders/s in batches x R, stretch', rateInR('batches'), STRETCH_BATCHES),
    atLeast('single orders/s on the binary socket x R', rateInR('single orders, binary socket'), LEAST_SOCKET),
    atMost('processor time of the shard for a single order / R', costInR('shardUs'), MOST_SHARD),
    atMost('processor time of the gateway for a single order / R', costInR('gatewayUs'), MOST_GATEWAY),
    atLeast('rate of the first orders / warm rate', rateTo('first orders', 'single orders'), LEAST_FIRST),
    atMost(
      'the bench itself: p50 us of a server that answers at once',
      byPaces(['instant server'], ({ paces }) => paces['instant server'].p50Us),
      MOST_OWN_P50_US,
    ),
    atMost('place p50 / that of the bare path at this pace', p50To('bare path'), MOST_PLACE_P50_BARE),
    atMost('place p50 / that of the idle bare path', p50To('idle bare path'), MOST_PLACE_P50_IDLE),
    atMost('cost of a durable cancel / of a bare POST', costTo('cancels', 'bare POST'), MOST_CANCEL),
    atMost('cost of best prices / of a bare GET', costTo('best prices', 'bare GET as best prices'), MOST_BEST_PRICES),
    atMost(
      `cost of a book of ${protocol.BOOK_LEVELS} levels / of a bare GET`,
      costTo('book', 'bare GET as book'),
      MOST_BOOK,
    ),
  ];
}

/** In per cent. A pace is compared with another pace, and has no R. */
function noiseOf({ noise: { stolen, others }, drift = 0 }: { readonly noise: Noise; readonly drift?: number }): number {
  return stolen + others + drift;
}

function timesR({ perSecond, recoveryUs }: Load): number {
  return (perSecond * recoveryUs) / 1e6;
}

function rowsOf(round: number, { recoveryUs, loads, paces }: SpeedRound): Row[] {
  const ownUs = paces['instant server'].p50Us;
  return [
    { what: `${round}, R`, 'p50 us': recoveryUs },
    ...Object.entries(loads).map(([name, load]) => loadRow(`${round}, ${name}`, load)),
    ...Object.entries(paces).map(([name, pace]) => paceRow(`${round}, ${name}`, pace, ownUs)),
  ];
}

function loadRow(what: string, load: Load): Row {
  return {
    what,
    'per second': load.perSecond,
    'x R': timesR(load),
    'p50 us': load.p50Us,
    'p99 us': '',
    'gateway us': load.gatewayUs,
    'shard us': load.shardUs,
    'other threads us': load.restUs,
    'client us': load.clientUs,
    'R us': load.recoveryUs,
    'R %': load.drift,
    'others %': load.noise.others,
    [STOLEN]: load.noise.stolen,
  };
}

/** @param ownUs the client's measurement, at this pace, of a server that answers at once */
function paceRow(name: string, pace: Pace, ownUs: number): Row {
  return {
    what: `${name}, ${name.endsWith('idle bare path') ? 'one by one' : `${100 * protocol.PACED_SHARE} % load`}`,
    'per second': pace.perSecond,
    'p50 us': pace.p50Us,
    'p99 us': pace.p99Us,
    'others %': pace.noise.others,
    'client late p50 us': pace.lateP50Us,
    'instant server p50 us': ownUs,
    [STOLEN]: pace.noise.stolen,
  };
}
