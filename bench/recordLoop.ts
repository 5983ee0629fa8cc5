/** The closed loop of sockets with binary records. */
import { type RecordSocket, requestIdOf } from '../gateway/wiring/rehearsal/recordSocket.ts';
import type { Fired } from './closedLoop.ts';
import { Histogram } from './histogram.ts';

const ACCEPTED = 200;

/** Keeps this many orders in flight on each socket until all are answered. Rejects if a socket is closed before. */
export async function recordLoop(
  sockets: readonly RecordSocket[],
  frames: readonly Buffer[],
  inFlight: number,
): Promise<Fired> {
  const latency = new Histogram();
  const sentMs = new Map<number, number>();
  const { promise: done, resolve: whenDone, reject } = Promise.withResolvers<void>();
  let next = 0;
  let refused = 0;
  const send = (socket: RecordSocket, count: number): void => {
    const some = frames.slice(next, next + count);
    if (some.length === 0) return;
    next += some.length;
    const nowMs = performance.now();
    for (const frame of some) sentMs.set(requestIdOf(frame), nowMs);
    socket.write(some);
  };
  const startMs = performance.now();
  for (const socket of sockets) {
    let answered = 0;
    socket.receiver = {
      onAnswer: (requestId, status) => {
        latency.record((performance.now() - sentMs.get(requestId)!) * 1e6);
        sentMs.delete(requestId);
        if (status !== ACCEPTED) refused++;
        answered++;
      },
      onRead: () => {
        send(socket, answered);
        answered = 0;
        if (latency.count === frames.length) whenDone();
      },
      onClosed: () => reject(new Error('a socket was closed before its orders were answered')),
    };
    send(socket, inFlight);
  }
  await done;
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, perSecond: latency.count / seconds, latency, refused };
}
