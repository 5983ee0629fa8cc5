/**
 * Measures the cost of an attack for others: the time that a bystander's requests take alone and during the attack. The
 * figures are printed and never asserted: another program on the machine would decide the test.
 */
import type { TestContext } from 'node:test';
import { formatShare, StealMeter } from '../../bench/report.ts';

type VictimOptions = {
  /** One request of the bystander. An exception fails the test. */
  readonly send: () => Promise<unknown>;
  /** Starts the attack; resolves when it is over. */
  readonly attack: () => Promise<unknown>;
  /** Requests that are timed before the attack; while it goes on, as many as there is time for. */
  readonly samples: number;
};

/** Prints p50 and p99 of the bystander's requests, one after the other, without and with the attack. */
export async function measureVictim(t: Pick<TestContext, 'diagnostic'>, options: VictimOptions): Promise<void> {
  const { send, attack, samples } = options;
  const steal = new StealMeter();
  const alone: number[] = [];
  while (alone.length < samples) alone.push(await timeMs(send));
  let isOver = false;
  const attacked: number[] = [];
  const attacking = attack().finally(() => {
    isOver = true;
  });
  // The attack may end early, and says why when it is awaited below.
  attacking.catch(() => undefined);
  while (!isOver || attacked.length === 0) attacked.push(await timeMs(send));
  await attacking;
  const factor = (quantile(attacked, 0.99) / quantile(alone, 0.99)).toFixed(2);
  t.diagnostic(`victim alone         ${described(alone)}`);
  t.diagnostic(
    `victim under attack  ${described(attacked)}, p99 ${factor} times, stolen ${formatShare(steal.percent())}`,
  );
}

async function timeMs(send: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await send();
  return performance.now() - startedMs;
}

function described(timesMs: readonly number[]): string {
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(timesMs, share).toFixed(2));
  return `p50 ${p50} ms, p99 ${p99} ms of ${timesMs.length}`;
}

/** NaN when nothing was timed. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
