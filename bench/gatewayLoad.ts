/**
 * Process entry of the gateway bench's client. Each round signs its requests ahead, sends them over keep-alive
 * connections with one request in flight on each, and tells the parent how that went: places first, then their cancels.
 */
import { hasherFor } from '../shared/eip712.ts';
import { createKeccak } from '../shared/keccak.ts';
import { Histogram } from './histogram.ts';
import { Connection, type LoadTarget, OrderFactory, toBytes } from './loadClient.ts';
import { StealMeter } from './report.ts';

export type LoadOptions = LoadTarget & {
  readonly rounds: number;
  readonly requests: number;
  readonly connections: number;
};

export type LoadResult = {
  readonly kind: 'place' | 'cancel';
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly refused: number;
  readonly stolen: number | string;
};

async function main(options: LoadOptions): Promise<void> {
  const factory = new OrderFactory(options, hasherFor(options.domain, await createKeccak()));
  const open = Array.from({ length: options.connections }, () => Connection.open(options.baseUrl));
  const connections = await Promise.all(open);
  for (let round = 0; round < options.rounds; round++) {
    const orders = Array.from({ length: options.requests }, () => factory.place());
    report(
      await fire(
        'place',
        connections,
        orders.map(({ request }) => toBytes(request)),
      ),
    );
    const cancels = orders.map(({ orderHash }) => toBytes(factory.cancel(orderHash)));
    report(await fire('cancel', connections, cancels));
  }
  for (const connection of connections) connection.close();
  process.disconnect();
}

async function fire(
  kind: LoadResult['kind'],
  connections: readonly Connection[],
  requests: readonly Buffer[],
): Promise<LoadResult> {
  const latency = new Histogram();
  const steal = new StealMeter();
  let next = 0;
  let refused = 0;
  const drain = (connection: Connection): Promise<void> =>
    new Promise((resolve) => {
      const step = (): void => {
        if (next === requests.length) {
          resolve();
          return;
        }
        const sent = performance.now();
        connection.send(requests[next++], (status) => {
          latency.record((performance.now() - sent) * 1e6);
          if (status !== 200 && status !== 201) refused++;
          step();
        });
      };
      step();
    });
  const start = performance.now();
  await Promise.all(connections.map(drain));
  const seconds = (performance.now() - start) / 1000;
  return {
    kind,
    perSecond: requests.length / seconds,
    p50Us: latency.quantileUs(0.5),
    p99Us: latency.quantileUs(0.99),
    refused,
    stolen: steal.percent(),
  };
}

function report(result: LoadResult): void {
  process.send?.(result);
}

process.once('message', (options) => void main(options as LoadOptions));
