/**
 * How long does a client wait? The whole server over HTTP in an open loop: places and cancels at fixed shares of the
 * maximum that a closed loop found just before, counted from the moment at which each was due (openLoop.ts). And how
 * long does a cancel take while other clients place as fast as they can, when it matters most?
 *
 * Microseconds depend on the machine as much as on the server, so only multiples of the bare path in the same run hold
 * on other machines (barePath.ts): its median with one placement after the other is the lower bound of any answer here.
 *
 * The bench checks itself: a server that answers at once (bareServer.ts) gets the same requests at the same pace, and
 * its apparent latency is the client's own part of every figure at that pace.
 */
import { assert } from '../shared/base/assert.ts';
import { type Scope, startServer } from '../test/support/server.ts';
import type { Asked, LatencyOptions, LatencyResult } from './latencyLoad.ts';
import { MEASURED_SERVER, makeTarget, runClient, startBarePath, startBareServer } from './loadTarget.ts';
import { atMost, type Plot, quietest, type Report, type Row, STOLEN } from './report.ts';

const CONNECTIONS = 32;
const WARM_UP_ORDERS = 20_000;
const SHARES = [0.3, 0.7];
const ROUNDS = 2;
const SECONDS = 3;
const CANCELS_PER_SECOND = 200;
const IDLE_REQUESTS = 1000;

const MOST_PLACE_P50_US = 400;
const MOST_PLACE_P99_US = 2500;
/** The latency of a server that answers at once: more is a fault of this bench, or load by other programs. */
const MOST_OWN_P50_US = 150;
/** Relative to the same requests to the bare path on the same busy machine. */
const MOST_PLACE_P50_BARE = 1.4;
const MOST_CANCEL_P99_US = 2000;
const MOST_PLACE_P50_FLOORS = 2;
const MOST_PLACE_P99_FLOORS = 20;

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  try {
    const server = await startServer(scope, MEASURED_SERVER);
    const target = await makeTarget(server);
    const results = await runClient<LatencyOptions, LatencyResult>('./latencyLoad.ts', {
      ...target,
      connections: CONNECTIONS,
      warmUpOrders: WARM_UP_ORDERS,
      shares: SHARES,
      rounds: ROUNDS,
      seconds: SECONDS,
      cancelsPerSecond: CANCELS_PER_SECOND,
      barePath: await startBarePath(scope, target),
      instant: await startBareServer(scope),
      idleRequests: IDLE_REQUESTS,
    });
    assert((await server.admin.ledger()).balanced, 'latency: the money closes after the load');
    return describe(results);
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

function describe(results: readonly LatencyResult[]): Report {
  // The lateness of the client's own timer shows load by other programs, which stolen time does not.
  const best = (share: number, asked: Asked = 'server'): LatencyResult =>
    quietest(
      results.filter((result) => result.share === share && result.asked === asked),
      ({ lateP99Us }) => lateP99Us,
    );
  const low = best(0.3);
  const bare = best(0.3, 'bare path');
  const idle = results.filter(({ asked }) => asked === 'idle bare path').map(({ place }) => place.p50Us);
  const floorUs = Math.min(...idle);
  const own = best(0.3, 'instant server').place.p50Us;
  const plots: Plot[] = [
    { title: 'Placing an order', curves: [...SHARES.map((share) => best(share)), bare].map(curveOf('place')) },
    {
      title: 'Cancelling an order',
      curves: [...[...SHARES, 1].map((share) => best(share)), bare].map(curveOf('cancel')),
    },
  ];
  return {
    bench: 'latency',
    settings:
      `${CONNECTIONS} connections, ${SECONDS} s a round, as many cancels as places, synchronous FULL, client on the ` +
      `same machine; at the maximum ${CANCELS_PER_SECOND} cancels/s beside placements in a closed loop; the bare ` +
      'path (barePath.ts: HTTP, HMAC, JSON, schema, ring, signature and commit, none of the rules) is sent what the ' +
      'server was at 30 %, and when idle one placement after the other; all after ' +
      `${WARM_UP_ORDERS} orders of warm-up; the instant server's times are the client's own part of the others`,
    rows: results.flatMap((result) =>
      result.asked === 'idle bare path' ? [toRow(result, 'place')] : [toRow(result, 'place'), toRow(result, 'cancel')],
    ),
    goals: [
      atMost('the bench itself at 30 % load: p50 us of a server that answers at once', own, MOST_OWN_P50_US),
      atMost('place at 30 % load: p50 us', low.place.p50Us, MOST_PLACE_P50_US),
      atMost('place at 30 % load: p99 us', low.place.p99Us, MOST_PLACE_P99_US),
      atMost('place at 30 % load: p50 to that of the idle bare path', low.place.p50Us / floorUs, MOST_PLACE_P50_FLOORS),
      atMost(
        'place at 30 % load: p99 to the p50 of the idle bare path',
        low.place.p99Us / floorUs,
        MOST_PLACE_P99_FLOORS,
      ),
      atMost(
        'place at 30 % load: p50 to that of the bare path at this pace',
        low.place.p50Us / bare.place.p50Us,
        MOST_PLACE_P50_BARE,
      ),
      atMost('cancel while placements run at maximum: p99 us', best(1).cancel.p99Us, MOST_CANCEL_P99_US),
    ],
    plots,
  };
}

function toRow(result: LatencyResult, kind: 'place' | 'cancel'): Row {
  const { p50Us, p99Us, p999Us, maxUs } = result[kind];
  return {
    load: `${nameOf(result)}, ${kind}`,
    'requests/s': result.perSecond,
    'p50 us': p50Us,
    'p99 us': p99Us,
    'p99.9 us': p999Us,
    'max us': maxUs,
    'client late p50 us': result.lateP50Us,
    'late p99 us': result.lateP99Us,
    refused: result.refused,
    [STOLEN]: result.stolen,
  };
}

function curveOf(kind: 'place' | 'cancel'): (result: LatencyResult) => Plot['curves'][number] {
  return (result) => ({ name: nameOf(result), points: result[kind].points });
}

function nameOf({ asked, share }: LatencyResult): string {
  if (asked === 'idle bare path') return asked;
  const prefix = asked === 'server' ? '' : `${asked}, `;
  return prefix + (share === 1 ? 'placements at maximum' : `${100 * share} % of the maximum`);
}
