/** Requests that place and cancel alternately, as the open loops send them: the book keeps its size. */
import { toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import type { OrderFactory } from './loadClient.ts';
import type { PacedRequest } from './openLoop.ts';

/** Kinds of requests. */
export const PLACE = 0;
export const CANCEL = 1;

/** A cancel comes at most this many orders after its placement, so that it finds the order in the book. */
const MOST_LAG = 500;

/** As many cancels as placements, each for an order placed some time before. */
export function mixedFlow(factory: OrderFactory, count: number): PacedRequest[] {
  const lag = Math.min(MOST_LAG, count >>> 2);
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

export function bytesOf(requests: readonly PacedRequest[]): Buffer[] {
  return requests.map(({ bytes }) => bytes);
}
