/** Time as an argument, so that tests can move it: milliseconds since the Unix epoch. */
export type Clock = { nowMs(): number };

export const systemClock: Clock = { nowMs: () => Date.now() };

/** Milliseconds that only grow, whatever is set, from a start that all threads of a process share. */
export function steadyMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
