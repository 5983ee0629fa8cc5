/**
 * Seeds and numbers of repetitions of the tests with randomness. Each of them has a fixed seed, so that the suite is
 * the same every time, and prints it. `SEED=7 node shared/run.mjs --test <file>` runs it with another one, and with
 * `SOAK=on` as often as `npm run soak` does.
 */
const seed = process.env['SEED'];
const isSoak = process.env['SOAK'] !== undefined;
/** False in a soak that is shorter than an hour: what takes many minutes is smaller there. */
export const isLongSoak = Number(process.env['SOAK_MINUTES'] ?? 60) >= 60;

export function seedOr(usual: number): number {
  return seed === undefined ? usual : Number(seed);
}

export function timesOf<T = number>(times: { suite: T; soak: T }): T {
  return isSoak ? times.soak : times.suite;
}
