/**
 * Sends requests as fast as they are answered: each connection sends its next request when its last one is answered.
 * This finds the maximum of a server, but hides how long a request waits for its turn (openLoop.ts shows that).
 */
import { Connection } from '../gateway/wiring/rehearsal/connection.ts';
import { Histogram } from './histogram.ts';

/** From the first request to the last answer; `latency` has every request's duration. */
export type Fired = {
  readonly seconds: number;
  readonly perSecond: number;
  readonly latency: Histogram;
  readonly refused: number;
};

type ClosedLoopOptions = {
  /** The requests alternate between the connections, and each waits for the previous one of its connection. */
  readonly isInTurns?: boolean | undefined;
  /** Checks an answer whose status is a success. */
  readonly isRefused?: ((answer: Buffer) => boolean) | undefined;
};

export async function closedLoop(
  connections: readonly Connection[],
  requests: readonly Buffer[],
  { isInTurns = false, isRefused }: ClosedLoopOptions = {},
): Promise<Fired & { readonly firstRefusal: string | null }> {
  const latency = new Histogram();
  let next = 0;
  let refused = 0;
  let firstRefusal: string | null = null;
  const drain = (connection: Connection, first: number): Promise<void> =>
    new Promise((resolve) => {
      let own = first;
      let sentMs = 0;
      const step = (): void => {
        const request = requests[isInTurns ? own : next++];
        own += connections.length;
        if (request === undefined) {
          resolve();
          return;
        }
        sentMs = performance.now();
        connection.send(request, answered);
      };
      const answered = (status: number, answer: Buffer): void => {
        latency.record((performance.now() - sentMs) * 1e6);
        if (!isSuccess(status) || isRefused?.(answer)) {
          refused++;
          firstRefusal ??= `${status} ${answer}`;
        }
        step();
      };
      step();
    });
  const startMs = performance.now();
  await Promise.all(connections.map(drain));
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, perSecond: latency.count / seconds, latency, refused, firstRefusal };
}

export function isSuccess(status: number): boolean {
  return status === 200 || status === 201;
}

/** Opens connections only for the time of their use: a server closes idle ones. */
export async function withConnections<Result>(
  baseUrl: string,
  count: number,
  use: (connections: Connection[]) => Promise<Result>,
): Promise<Result> {
  const connections = await Promise.all(Array.from({ length: count }, () => Connection.open(baseUrl)));
  try {
    return await use(connections);
  } finally {
    for (const connection of connections) connection.close();
  }
}
