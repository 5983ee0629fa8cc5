/**
 * Process entry of the latency bench's client: finds the closed-loop maximum, sends at shares of it in an open loop,
 * and then cancels at a steady rate while other connections place as fast as they can. The bare path (barePath.ts) gets
 * the same requests at the lowest share, and placements alone one after the other.
 */
import { hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { type CurvePoint, Histogram } from './histogram.ts';
import { Connection, type LoadTarget, OrderFactory, type Peer, toBytes } from './loadClient.ts';
import { type PacedRequest, type PacedResult, sendPaced } from './openLoop.ts';
import { StealMeter } from './report.ts';

export type LatencyOptions = LoadTarget & {
  readonly connections: number;
  /** Requests that warm the code up; their rate decides how many to prepare for the next step. */
  readonly warmUpRequests: number;
  /** The lowest share comes first and is also that of the bare path. */
  readonly shares: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  /** Cancels a second while placements run at their maximum. */
  readonly cancelsPerSecond: number;
  readonly barePath: Peer;
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

/** The server that was measured; the idle bare path gets one placement after the other and no cancels. */
export type Asked = 'server' | 'bare path' | 'idle bare path';

export type LatencyResult = {
  readonly asked: Asked;
  /** A share of the server's maximum; 1 for cancels beside placements at their maximum. */
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

type Load = Pick<LatencyResult, 'asked' | 'share'>;

async function main(options: LatencyOptions): Promise<void> {
  const { connections: count, barePath, rounds, seconds, shares } = options;
  const factory = new OrderFactory(options, hasherFor(options.domain, await createKeccak()));

  const first = mixed(factory, options.warmUpRequests);
  const warmUp = await withConnections(options, count, (open) => closedLoop(open, first));
  await withConnections(barePath, count, (open) => closedLoop(open, first));
  const more = mixed(factory, Math.ceil(warmUp.perSecond * seconds));
  const maximum = await withConnections(options, count, (open) => closedLoop(open, more));
  for (let round = 0; round < rounds; round++) {
    for (const share of shares) {
      const rate = share * maximum.perSecond;
      const requests = mixed(factory, Math.ceil(rate * seconds));
      await withConnections(options, count, (open) => paced(open, requests, { asked: 'server', share }, rate));
      if (share !== shares[0]) continue;
      await withConnections(barePath, count, (open) => paced(open, requests, { asked: 'bare path', share }, rate));
      await withConnections(barePath, 1, (open) => oneByOne(open, requests, options.idleRequests));
    }
  }
  for (let round = 0; round < rounds; round++) await besideMaximum(factory, options, maximum.perSecond);
  process.disconnect();
}

/** Opens connections only while they are used: a server closes idle ones. */
async function withConnections<Result>(
  { baseUrl }: Peer,
  count: number,
  use: (connections: Connection[]) => Promise<Result>,
): Promise<Result> {
  const connections = await Promise.all(Array.from({ length: count }, () => Connection.open(baseUrl)));
  const result = await use(connections);
  for (const connection of connections) connection.close();
  return result;
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
  const { perSecond, latency, refused } = await closedLoop(connections, places);
  const empty = new Histogram();
  report(
    { asked: 'idle bare path', share: 0 },
    perSecond,
    { latencies: [latency, empty], late: empty, refused },
    steal.percent(),
  );
}

/** As many cancels as placements, each of an order that was placed some time before. */
function mixed(factory: OrderFactory, count: number): PacedRequest[] {
  const lag = Math.min(500, count >>> 2);
  const placed: string[] = [];
  const requests: PacedRequest[] = [];
  for (let index = 0; requests.length < count; index++) {
    const { request, orderHash } = factory.place();
    placed.push(orderHash);
    requests.push({ kind: PLACE, bytes: toBytes(request) });
    if (index >= lag) requests.push({ kind: CANCEL, bytes: toBytes(factory.cancel(placed[index - lag])) });
  }
  return requests;
}

async function closedLoop(
  connections: readonly Connection[],
  requests: readonly PacedRequest[],
): Promise<{ perSecond: number; latency: Histogram; refused: number }> {
  const latency = new Histogram();
  let next = 0;
  let refused = 0;
  const start = performance.now();
  const drain = async (connection: Connection): Promise<void> => {
    while (next < requests.length) {
      const { bytes } = requests[next++];
      const sent = performance.now();
      const status = await new Promise((resolve) => connection.send(bytes, resolve));
      latency.record((performance.now() - sent) * 1e6);
      if (status !== 200) refused++;
    }
  };
  await Promise.all(connections.map(drain));
  return { perSecond: requests.length / ((performance.now() - start) / 1000), latency, refused };
}

async function besideMaximum(factory: OrderFactory, options: LatencyOptions, perSecond: number): Promise<void> {
  const { connections: count, cancelsPerSecond, seconds } = options;
  const orders = Array.from({ length: cancelsPerSecond * seconds }, () => factory.place());
  const toPlace = ({ request }: (typeof orders)[number]): PacedRequest => ({ kind: PLACE, bytes: toBytes(request) });
  await withConnections(options, count, (open) => closedLoop(open, orders.map(toPlace)));
  const places = Array.from({ length: Math.ceil(perSecond * seconds) }, () => toPlace(factory.place()));
  const cancels = orders.map(({ orderHash }) => ({ kind: CANCEL, bytes: toBytes(factory.cancel(orderHash)) }));
  const steal = new StealMeter();
  const [placing, cancelling] = await Promise.all([
    withConnections(options, count, (open) => closedLoop(open, places)),
    withConnections(options, CANCEL_CONNECTIONS, (open) => sendPaced(open, cancels, 2, cancelsPerSecond)),
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
