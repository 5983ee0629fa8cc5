/**
 * Sends requests at a fixed rate, whether or not the previous ones are answered. A duration counts from the moment at
 * which the request was due, so it includes waiting for a free connection or for a late client. A client that sends
 * only after an answer would leave out exactly the slow moments (coordinated omission).
 *
 * Invariant:
 *   PACE-1  Pacer and client count from one start, a moment of the clock that all threads share. With a start of each
 *           its own, every duration would contain the difference.
 */
import { Worker } from 'node:worker_threads';
import type { Connection } from '../gateway/wiring/rehearsal/connection.ts';
import { isSuccess } from './closedLoop.ts';
import { Histogram } from './histogram.ts';
import { DUE, GO, type PacerOptions, STATE } from './pacerOptions.ts';

/** `kind` chooses the histogram that counts the answer. */
export type PacedRequest = { readonly kind: number; readonly bytes: Buffer };

export type PacedResult = {
  readonly latencies: readonly Histogram[];
  /** The lateness of the client itself, which is part of every latency. */
  readonly late: Histogram;
  readonly refused: number;
};

/** Time between the moment at which both threads run and the first request. */
const START_IN_MS = 5;

export async function sendPaced(
  connections: readonly Connection[],
  requests: readonly PacedRequest[],
  kinds: number,
  perSecond: number,
): Promise<PacedResult> {
  const intervalMs = 1000 / perSecond;
  const pacer = await Pacer.start(requests.length, intervalMs);
  const latencies = Array.from({ length: kinds }, () => new Histogram());
  const late = new Histogram();
  const free = [...connections];
  let refused = 0;
  let next = 0;
  let answered = 0;
  const { promise: done, resolve: whenDone } = Promise.withResolvers<void>();
  const send = (): void => {
    const due = pacer.due();
    while (next < due && free.length > 0) {
      const { kind, bytes } = requests[next];
      const intendedMs = pacer.startMs + next * intervalMs;
      const connection = free.pop()!;
      late.record((performance.now() - intendedMs) * 1e6);
      next++;
      connection.send(bytes, (status) => {
        latencies[kind].record((performance.now() - intendedMs) * 1e6);
        if (!isSuccess(status)) refused++;
        free.push(connection);
        if (++answered === requests.length) whenDone();
        else send();
      });
    }
  };
  for (let seen = 0; seen < requests.length; seen = pacer.due()) {
    await pacer.after(seen);
    send();
  }
  await done;
  return { latencies, late, refused };
}

/** The pacing thread (pacer.ts), as the sending thread sees it. */
class Pacer {
  /** The time of the first request, by this thread's `performance.now`. */
  startMs = Number.POSITIVE_INFINITY;
  readonly #words: Int32Array;

  static async start(count: number, intervalMs: number): Promise<Pacer> {
    const cell = new SharedArrayBuffer(16);
    const workerData: PacerOptions = { cell, count, intervalMs };
    const pacer = new Pacer(cell);
    const thread = new Worker(new URL('./pacer.ts', import.meta.url), { workerData });
    thread.once('error', (error) => {
      throw error;
    });
    const words = pacer.#words;
    const starting = Atomics.waitAsync(words, STATE, 0);
    if (starting.async) await starting.value;
    pacer.startMs = performance.now() + START_IN_MS;
    new BigInt64Array(cell)[1] = process.hrtime.bigint() + BigInt(START_IN_MS * 1e6);
    Atomics.store(words, STATE, GO);
    Atomics.notify(words, STATE);
    return pacer;
  }

  private constructor(cell: SharedArrayBuffer) {
    this.#words = new Int32Array(cell);
  }

  /** The number of due requests. */
  due(): number {
    return Atomics.load(this.#words, DUE);
  }

  /** Resolves once more than `seen` requests are due. */
  async after(seen: number): Promise<void> {
    const waiting = Atomics.waitAsync(this.#words, DUE, seen);
    if (waiting.async) await waiting.value;
  }
}
