/** Shared memory of an open loop and the thread that paces it (pacer.ts). */

export type PacerOptions = {
  /** Words DUE and STATE, and from byte 8 the start of both threads (PACE-1), by `process.hrtime`. */
  readonly cell: SharedArrayBuffer;
  readonly count: number;
  readonly intervalMs: number;
};

/** Index of the word with the number of due requests. */
export const DUE = 0;
/** Index of the word that is READY once the pacing thread runs, and GO once the start time is set. */
export const STATE = 1;

export const READY = 1;
export const GO = 2;
