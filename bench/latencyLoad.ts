/**
 * Process entry of the latency bench's client: finds the closed-loop maximum, sends at shares of it in an open loop,
 * and then cancels at a steady rate while other connections place as fast as they can.
 */
import { hasherFor } from '../shared/eip712.ts';
import { createKeccak } from '../shared/keccak.ts';
import { type CurvePoint, Histogram } from './histogram.ts';
import { Connection, type LoadTarget, OrderFactory, toBytes } from './loadClient.ts';
import { type PacedRequest, type PacedResult, sendPaced } from './openLoop.ts';
import { StealMeter } from './report.ts';

export type LatencyOptions = LoadTarget & {
  readonly connections: number;
  /** Requests that find the code cold and tell how many to prepare for what follows. */
  readonly warmUpRequests: number;
  readonly shares: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  /** While placements run at their maximum. */
  readonly cancelsPerSecond: number;
};

export type Latency = {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly maxUs: number;
  readonly points: readonly CurvePoint[];
};

export type LatencyResult = {
  /** A share of the maximum; 1 for cancels beside placements at their maximum. */
  readonly share: number;
  readonly perSecond: number;
  readonly place: Latency;
  readonly cancel: Latency;
  readonly lateP99Us: number;
  readonly refused: number;
  readonly stolen: number | string;
};

const PLACE = 0;
const CANCEL = 1;
const CANCEL_CONNECTIONS = 4;

async function main(options: LatencyOptions): Promise<void> {
  const factory = new OrderFactory(options, hasherFor(options.domain, await createKeccak()));
  const open = (count: number): Promise<Connection[]> =>
    Promise.all(Array.from({ length: count }, () => Connection.open(options.baseUrl)));
  const connections = await open(options.connections);

  const warmUp = await closedLoop(connections, mixed(factory, options.warmUpRequests));
  const maximum = await closedLoop(connections, mixed(factory, Math.ceil(warmUp.perSecond * options.seconds)));
  for (let round = 0; round < options.rounds; round++) {
    for (const share of options.shares) {
      const rate = share * maximum.perSecond;
      const requests = mixed(factory, Math.ceil(rate * options.seconds));
      const steal = new StealMeter();
      const paced = await sendPaced(connections, requests, 2, rate);
      report(share, rate, paced, steal.percent());
    }
  }
  for (let round = 0; round < options.rounds; round++) {
    await besideMaximum(factory, connections, await open(CANCEL_CONNECTIONS), options, maximum.perSecond);
  }
  for (const connection of connections) connection.close();
  process.disconnect();
}

/** As many cancels as placements, each of an order that was placed a while ago. */
function mixed(factory: OrderFactory, count: number): PacedRequest[] {
  const lag = Math.min(500, count >>> 2);
  const placed: string[] = [];
  const requests: PacedRequest[] = [];
  for (let index = 0; requests.length < count; index++) {
    const { request, orderHash } = factory.place();
    placed.push(orderHash);
    requests.push({ kind: PLACE, bytes: toBytes(request) });
    if (index >= lag) requests.push({ kind: CANCEL, bytes: toBytes(factory.cancel(placed[index - lag]!)) });
  }
  return requests;
}

async function closedLoop(
  connections: readonly Connection[],
  requests: readonly PacedRequest[],
): Promise<{ perSecond: number; latency: Histogram }> {
  const latency = new Histogram();
  let next = 0;
  const start = performance.now();
  const drain = async (connection: Connection): Promise<void> => {
    while (next < requests.length) {
      const { bytes } = requests[next++]!;
      const sent = performance.now();
      await new Promise((resolve) => connection.send(bytes, resolve));
      latency.record((performance.now() - sent) * 1e6);
    }
  };
  await Promise.all(connections.map(drain));
  return { perSecond: requests.length / ((performance.now() - start) / 1000), latency };
}

async function besideMaximum(
  factory: OrderFactory,
  connections: readonly Connection[],
  cancelConnections: readonly Connection[],
  options: LatencyOptions,
  perSecond: number,
): Promise<void> {
  const orders = Array.from({ length: options.cancelsPerSecond * options.seconds }, () => factory.place());
  await closedLoop(
    connections,
    orders.map(({ request }) => ({ kind: PLACE, bytes: toBytes(request) })),
  );
  const places = Array.from({ length: Math.ceil(perSecond * options.seconds) }, () => ({
    kind: PLACE,
    bytes: toBytes(factory.place().request),
  }));
  const cancels = orders.map(({ orderHash }) => ({ kind: CANCEL, bytes: toBytes(factory.cancel(orderHash)) }));
  const steal = new StealMeter();
  const [placing, cancelling] = await Promise.all([
    closedLoop(connections, places),
    sendPaced(cancelConnections, cancels, 2, options.cancelsPerSecond),
  ]);
  const latencies = [placing.latency, cancelling.latencies[CANCEL]!];
  report(1, placing.perSecond, { ...cancelling, latencies }, steal.percent());
  for (const connection of cancelConnections) connection.close();
}

function report(share: number, perSecond: number, paced: PacedResult, stolen: number | string): void {
  const { latencies, late, refused } = paced;
  const result: LatencyResult = {
    share,
    perSecond,
    place: toLatency(latencies[PLACE]!),
    cancel: toLatency(latencies[CANCEL]!),
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
