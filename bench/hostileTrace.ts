/**
 * The requests of an attacker in one part of the hostile bench, and the sizes of their answers. Sent to a server that
 * only sends as many bytes (hostileSink.ts), they cost the attacker's processor time once more, and none of the
 * exchange.
 */

import type { PreparedRequest } from './hostileRequests.ts';

/** A request, and the size of its answer. */
type Asked = {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly answerBytes: number;
  readonly prepared: PreparedRequest | undefined;
};

/** A connection from its opening to its close, whichever side closed it. */
type Held = { readonly atMs: number; readonly forMs: number; readonly address: string; readonly isAsking: boolean };

/** A request of one of the WebSockets, and the frames received since the one before. */
type Streamed = { readonly atMs: number; readonly socket: number; readonly frames: number; readonly bytes: number };

export class Trace {
  readonly asked: Asked[] = [];
  readonly held: Held[] = [];
  readonly streamed: Streamed[] = [];
  readonly #startedMs = performance.now();

  get nowMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** The number of requests to the exchange. */
  get length(): number {
    return this.asked.length + this.held.length + this.streamed.length;
  }
}

/** The number of bytes with which a request to the sink is answered. */
export const ANSWER_BYTES_HEADER = 'x-answer-bytes';
