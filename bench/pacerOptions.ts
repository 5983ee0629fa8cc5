/** Shared memory of an open loop and the thread that paces it (pacer.ts). */

export type PacerOptions = {
  /** Word 0: how many requests are due. Word 1: READY once the pacing thread runs, GO to start it. */
  readonly cell: SharedArrayBuffer;
  readonly count: number;
  readonly intervalMs: number;
};

export const READY = 1;
export const GO = 2;
