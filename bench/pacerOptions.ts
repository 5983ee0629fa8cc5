/** What an open loop and the thread that paces it (pacer.ts) agree on. */

export type PacerOptions = {
  /** Word 0: how many requests are due. Word 1: READY when this thread has started, GO when the pace is to begin. */
  readonly cell: SharedArrayBuffer;
  readonly count: number;
  readonly intervalMs: number;
};

export const READY = 1;
export const GO = 2;
