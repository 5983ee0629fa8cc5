/**
 * Time for internal measurements: whole microseconds that fit a small integer and wrap after an hour or so. A field
 * that holds one never allocates, and the difference of two is right as long as they lie less than 35 minutes apart.
 */

const PER_SECOND = 1e6;
/** Node looks up the global through an accessor each time. */
const clock = performance;

/** Milliseconds since the process started, with a fraction. */
export function nowPreciseMs(): number {
  return clock.now();
}

export function nowUs(): number {
  return microsecondsOf(nowPreciseMs());
}

/** @param ms a time of nowPreciseMs */
export function microsecondsOf(ms: number): number {
  return (ms * 1000) | 0;
}

export function secondsBetween(fromUs: number, toUs: number): number {
  return ((toUs - fromUs) | 0) / PER_SECOND;
}
