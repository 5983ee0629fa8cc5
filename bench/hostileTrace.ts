/**
 * The requests of an attacker in one part of the hostile bench, and the size of its answers. Played to a server that
 * sends as many bytes and does nothing else (hostileSink.ts), they take the attacker's processor time once more, and
 * none of the exchange.
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

/** A connection from its opening to its close, whichever end closed it. */
type Held = { readonly atMs: number; readonly forMs: number; readonly address: string; readonly isAsking: boolean };

/** A request of one of the WebSockets, and the frames that it was sent since the one before. */
type Streamed = { readonly atMs: number; readonly socket: number; readonly frames: number; readonly bytes: number };

export class Trace {
  readonly asked: Asked[] = [];
  readonly held: Held[] = [];
  readonly streamed: Streamed[] = [];
  readonly #startedMs = performance.now();

  get nowMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** Everything that the exchange was asked for. */
  get length(): number {
    return this.asked.length + this.held.length + this.streamed.length;
  }
}

/** The number of bytes that a request to the sink is answered with. */
export const ANSWER_BYTES_HEADER = 'x-answer-bytes';
