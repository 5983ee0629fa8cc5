/** The messages between the two sides of the ring bench. */

export type RingWorkerOptions = {
  readonly incoming: SharedArrayBuffer;
  readonly outgoing: SharedArrayBuffer;
  /** `count` answers a MARK and the STOP with the sum of all words so far; `echo` answers every record. */
  readonly task: 'count' | 'echo';
  /** True: the worker sleeps while the ring is empty. False: it polls. */
  readonly sleeps: boolean;
};

/** Record types; the body starts at word 2. */
export const MESSAGE = 1;
export const MARK = 2;
export const STOP = 3;
export const BODY_WORD = 2;
export const ANSWER_BYTES = 16;
