/**
 * Sends requests at a fixed rate, whether or not the previous ones are answered. A duration counts from the moment at
 * which the request was due, so it includes waiting for a free connection or for a late client. A client that sends
 * only after an answer would leave out exactly the slow moments (coordinated omission).
 */
import { Worker } from 'node:worker_threads';
import { Histogram } from './histogram.ts';
import type { Connection } from './loadClient.ts';
import { GO, type PacerOptions } from './pacerOptions.ts';

/** `kind` says which histogram the answer is counted in. */
export type PacedRequest = { readonly kind: number; readonly bytes: Buffer };

export type PacedResult = {
  readonly latencies: readonly Histogram[];
  /** The lateness of the client itself, which is part of every latency. */
  readonly late: Histogram;
  readonly refused: number;
};

const WAIT_MS = 1000;

export async function sendPaced(
  connections: readonly Connection[],
  requests: readonly PacedRequest[],
  kinds: number,
  perSecond: number,
): Promise<PacedResult> {
  const options: PacerOptions = {
    cell: new SharedArrayBuffer(8),
    count: requests.length,
    intervalMs: 1000 / perSecond,
  };
  const words = new Int32Array(options.cell);
  const pacer = new Worker(new URL('./pacer.ts', import.meta.url), { workerData: options });
  pacer.once('error', (error) => {
    throw error;
  });
  const starting = Atomics.waitAsync(words, 1, 0);
  if (starting.async) await starting.value;

  const latencies = Array.from({ length: kinds }, () => new Histogram());
  const late = new Histogram();
  const free = [...connections];
  let refused = 0;
  let next = 0;
  let answered = 0;
  let whenDone = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    whenDone = resolve;
  });
  const start = performance.now();
  const send = (): void => {
    const due = Atomics.load(words, 0);
    while (next < due && free.length > 0) {
      const { kind, bytes } = requests[next];
      const intended = start + next * options.intervalMs;
      const connection = free.pop()!;
      late.record((performance.now() - intended) * 1e6);
      next++;
      connection.send(bytes, (status) => {
        latencies[kind].record((performance.now() - intended) * 1e6);
        if (status !== 200 && status !== 201) refused++;
        free.push(connection);
        if (++answered === requests.length) whenDone();
        else send();
      });
    }
  };
  Atomics.store(words, 1, GO);
  Atomics.notify(words, 1);
  for (let seen = 0; seen < requests.length; seen = Atomics.load(words, 0)) {
    const waiting = Atomics.waitAsync(words, 0, seen, WAIT_MS);
    if (waiting.async) await waiting.value;
    send();
  }
  send();
  await done;
  return { latencies, late, refused };
}
