/**
 * Process entry of the latency bench's client: warms everything up, finds the closed-loop maximum, sends at shares of
 * it in an open loop, and then cancels at a steady rate while other connections place as fast as they can. The bare
 * path (barePath.ts) gets the same requests at the lowest share, and placements alone one after the other. The instant
 * server gets those of every share: the client's measurement there is its own part of every figure.
 */

import { type Connection, toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { closedLoop, type Fired, withConnections } from './closedLoop.ts';
import { type CurvePoint, Histogram } from './histogram.ts';
import { type LoadTarget, OrderFactory, type Peer } from './loadClient.ts';
import { bytesOf, CANCEL, mixedFlow, PLACE } from './mixedFlow.ts';
import { type PacedRequest, type PacedResult, sendPaced } from './openLoop.ts';
import { StealMeter } from './report.ts';

export type LatencyOptions = LoadTarget & {
  readonly connections: number;
  /**
   * Placements, each with a cancel, before anything is measured: after fewer the code is already as fast as it gets.
   */
  readonly warmUpOrders: number;
  /** The lowest share comes first; the bare path uses it too. */
  readonly shares: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  /** Cancels a second while placements run at their maximum. */
  readonly cancelsPerSecond: number;
  readonly barePath: Peer;
  /** Answers every request at once. */
  readonly instant: Peer;
  /** Placements on one connection. */
  readonly idleRequests: number;
};

type Latency = {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly maxUs: number;
  readonly points: readonly CurvePoint[];
};

/** The measured server; the idle bare path gets one placement after the other and no cancels. */
export type Asked = 'server' | 'bare path' | 'idle bare path' | 'instant server';

export type LatencyResult = {
  readonly asked: Asked;
  /** A share of the server's maximum; 1 for cancels beside placements at their maximum. */
  readonly share: number;
  readonly perSecond: number;
  readonly place: Latency;
  readonly cancel: Latency;
  readonly lateP50Us: number;
  readonly lateP99Us: number;
  readonly refused: number;
  readonly stolen: number | string;
};

const CANCEL_CONNECTIONS = 4;
/** Requests that are prepared and sent at a time while everything warms up. */
const WARM_UP_PART = 8000;

type Load = Pick<LatencyResult, 'asked' | 'share'>;

async function main(options: LatencyOptions): Promise<void> {
  const { connections: count, barePath, instant, rounds, seconds, shares, baseUrl } = options;
  const factory = new OrderFactory(options, hasherFor(options.domain, await createKeccak()));
  await warmUp(factory, options);
  const most = mixedFlow(factory, WARM_UP_PART);
  const maximum = await withConnections(baseUrl, count, (open) => closedLoop(open, bytesOf(most)));
  for (let round = 0; round < rounds; round++) {
    for (const share of shares) {
      const rate = share * maximum.perSecond;
      const requests = mixedFlow(factory, Math.ceil(rate * seconds));
      const sendTo = (peer: Peer, asked: Asked): Promise<void> =>
        withConnections(peer.baseUrl, count, (open) => paced(open, requests, { asked, share }, rate));
      await sendTo(instant, 'instant server');
      await sendTo(options, 'server');
      if (share !== shares[0]) continue;
      await sendTo(barePath, 'bare path');
      await withConnections(barePath.baseUrl, 1, (open) => oneByOne(open, requests, options.idleRequests));
    }
  }
  for (let round = 0; round < rounds; round++) await besideMaximum(factory, options, maximum.perSecond);
  process.disconnect();
}

async function warmUp(factory: OrderFactory, options: LatencyOptions): Promise<void> {
  for (let sent = 0; sent < 2 * options.warmUpOrders; sent += WARM_UP_PART) {
    const requests = bytesOf(mixedFlow(factory, WARM_UP_PART));
    for (const { baseUrl } of [options, options.barePath, options.instant]) {
      await withConnections(baseUrl, options.connections, (open) => closedLoop(open, requests));
    }
  }
}

async function paced(
  connections: readonly Connection[],
  requests: readonly PacedRequest[],
  load: Load,
  perSecond: number,
): Promise<void> {
  const steal = new StealMeter();
  const result = await sendPaced(connections, requests, 2, perSecond);
  report(load, perSecond, result, steal.percent());
}

async function oneByOne(
  connections: readonly Connection[],
  requests: readonly PacedRequest[],
  count: number,
): Promise<void> {
  const steal = new StealMeter();
  const places = requests.filter(({ kind }) => kind === PLACE).slice(0, count);
  const { perSecond, latency, refused } = await closedLoop(connections, bytesOf(places));
  const empty = new Histogram();
  const load: Load = { asked: 'idle bare path', share: 0 };
  report(load, perSecond, { latencies: [latency, empty], late: empty, refused }, steal.percent());
}

async function besideMaximum(factory: OrderFactory, options: LatencyOptions, perSecond: number): Promise<void> {
  const { connections: count, cancelsPerSecond, seconds, baseUrl } = options;
  const orders = Array.from({ length: cancelsPerSecond * seconds }, () => factory.place());
  const place = (requests: readonly Buffer[]): Promise<Fired> =>
    withConnections(baseUrl, count, (open) => closedLoop(open, requests));
  await place(orders.map(({ request }) => toBytes(request)));
  const places = Array.from({ length: Math.ceil(perSecond * seconds) }, () => toBytes(factory.place().request));
  const cancels = orders.map(({ orderHash }) => ({ kind: CANCEL, bytes: toBytes(factory.cancel(orderHash)) }));
  const steal = new StealMeter();
  const [placing, cancelling] = await Promise.all([
    place(places),
    withConnections(baseUrl, CANCEL_CONNECTIONS, (open) => sendPaced(open, cancels, 2, cancelsPerSecond)),
  ]);
  const latencies = [placing.latency, cancelling.latencies[CANCEL]];
  report({ asked: 'server', share: 1 }, placing.perSecond, { ...cancelling, latencies }, steal.percent());
}

function report(load: Load, perSecond: number, paced: PacedResult, stolen: number | string): void {
  const { latencies, late, refused } = paced;
  const result: LatencyResult = {
    ...load,
    perSecond,
    place: toLatency(latencies[PLACE]),
    cancel: toLatency(latencies[CANCEL]),
    lateP50Us: late.quantileUs(0.5),
    lateP99Us: late.quantileUs(0.99),
    refused,
    stolen,
  };
  process.send?.(result);
}

function toLatency(histogram: Histogram): Latency {
  return {
    p50Us: histogram.quantileUs(0.5),
    p99Us: histogram.quantileUs(0.99),
    p999Us: histogram.quantileUs(0.999),
    maxUs: histogram.maxNs / 1000,
    points: histogram.curve(),
  };
}

process.once('message', (options) => void main(options as LatencyOptions));
