/**
 * How long does a client wait? The whole server over HTTP in an open loop: places and cancels at fixed shares of the
 * maximum that a closed loop found just before, counted from the moment each was to be sent (openLoop.ts). And how long
 * a cancel takes while others place as fast as they can, which is when one wants it most.
 */
import { assert } from '../shared/assert.ts';
import { startServer } from '../test/support/server.ts';
import type { Latency, LatencyOptions, LatencyResult } from './latencyLoad.ts';
import { makeTarget, runClient } from './loadTarget.ts';
import { atMost, type Plot, quietest, type Report, type Row, STOLEN } from './report.ts';

const CONNECTIONS = 32;
const WARM_UP_REQUESTS = 2000;
const SHARES = [0.3, 0.7];
const ROUNDS = 2;
const SECONDS = 3;
const CANCELS_PER_SECOND = 200;

const MOST_PLACE_P50_US = 400;
const MOST_PLACE_P99_US = 2500;
const MOST_CANCEL_P99_US = 2000;

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) }, { SHARDS: '' });
    const results = await runClient<LatencyOptions, LatencyResult>('./latencyLoad.ts', {
      ...(await makeTarget(server)),
      connections: CONNECTIONS,
      warmUpRequests: WARM_UP_REQUESTS,
      shares: SHARES,
      rounds: ROUNDS,
      seconds: SECONDS,
      cancelsPerSecond: CANCELS_PER_SECOND,
    });
    assert((await server.admin.ledger()).balanced, 'latency: the money closes after the load');
    return describe(results);
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

function describe(results: readonly LatencyResult[]): Report {
  // How late the client's own clockwork was tells of programs beside this one, which stolen time does not.
  const best = (share: number): LatencyResult =>
    quietest(
      results.filter((result) => result.share === share),
      ({ lateP99Us }) => lateP99Us,
    );
  const low = best(0.3);
  const plots: Plot[] = [
    { title: 'Placing an order', curves: SHARES.map((share) => curveOf(share, best(share).place)) },
    { title: 'Cancelling an order', curves: [...SHARES, 1].map((share) => curveOf(share, best(share).cancel)) },
  ];
  return {
    bench: 'latency',
    settings:
      `${CONNECTIONS} connections, ${SECONDS} s a round, as many cancels as places, synchronous FULL, client on the ` +
      `same machine; at the maximum ${CANCELS_PER_SECOND} cancels/s beside placements in a closed loop`,
    rows: results.flatMap((result) => [toRow(result, 'place'), toRow(result, 'cancel')]),
    goals: [
      atMost('place at 30 % load: p50 us', low.place.p50Us, MOST_PLACE_P50_US),
      atMost('place at 30 % load: p99 us', low.place.p99Us, MOST_PLACE_P99_US),
      atMost('cancel while placements run at maximum: p99 us', best(1).cancel.p99Us, MOST_CANCEL_P99_US),
    ],
    plots,
  };
}

function toRow(result: LatencyResult, kind: 'place' | 'cancel'): Row {
  const { p50Us, p99Us, p999Us, maxUs } = result[kind];
  return {
    load: `${nameOf(result.share)}, ${kind}`,
    'requests/s': result.perSecond,
    'p50 us': p50Us,
    'p99 us': p99Us,
    'p99.9 us': p999Us,
    'max us': maxUs,
    'client late p99 us': result.lateP99Us,
    refused: result.refused,
    [STOLEN]: result.stolen,
  };
}

function curveOf(share: number, { points }: Latency): Plot['curves'][number] {
  return { name: nameOf(share), points };
}

function nameOf(share: number): string {
  return share === 1 ? 'placements at maximum' : `${100 * share} % of the maximum`;
}
