/**
 * The log of slow requests (RULES.md 10.24): one line for each request that took longer than SLOW_REQUEST_MS, with the
 * time of each stage. A line has only names from the route table, never the path as sent, a query or a header.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   SLOW-1  At most LINES_PER_SECOND lines are written in a second; the first line of a later second says how many were
 *           left out. So the log does not slow down an exchange that is slow already.
 */
import { secondsBetween } from '../../shared/base/stopwatch.ts';
import type { Logger } from '../base/log.ts';
import { isAccount } from '../base/principal.ts';
import type { Call } from './call.ts';
import type { Moments } from './requestTimes.ts';

const LINES_PER_SECOND = 10;
const SECOND_MS = 1000;

export class SlowRequests {
  readonly #thresholdSec: number;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #nowMs: () => number;
  #windowEndMs = 0;
  #lines = 0;
  #leftOut = 0;

  /** @param thresholdMs 0: nothing is logged. */
  constructor(thresholdMs: number, log: Pick<Logger, 'warn'>, nowMs: () => number = () => performance.now()) {
    this.#thresholdSec = thresholdMs === 0 ? Number.POSITIVE_INFINITY : thresholdMs / SECOND_MS;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** The call is over. */
  ended(call: Call, tookSec: number): void {
    if (tookSec < this.#thresholdSec) return;
    const nowMs = this.#nowMs();
    if (nowMs >= this.#windowEndMs) {
      this.#windowEndMs = nowMs + SECOND_MS;
      this.#lines = 0;
    }
    // SLOW-1.
    if (this.#lines === LINES_PER_SECOND) {
      this.#leftOut++;
      return;
    }
    this.#lines++;
    const { route, status, principal, aborted } = call;
    const facts = {
      request_id: call.id,
      method: route?.method ?? 'none',
      route: route?.path ?? null,
      status,
      ...(isAccount(principal) ? { user: principal.userId } : {}),
      ...(aborted ? { aborted } : {}),
      took_ms: toMs(tookSec),
      stages_ms: stagesOf(call.moments, tookSec),
      ...(this.#leftOut === 0 ? {} : { left_out: this.#leftOut }),
    };
    this.#leftOut = 0;
    this.#log.warn(facts, 'slow request');
  }
}

/** The stages that the request has passed, in order. */
function stagesOf(moments: Readonly<Moments>, tookSec: number): Record<string, number> {
  const { arrivedUs, completeUs, identifiedUs, handledUs, answeredUs } = moments;
  const stages: Record<string, number> = {};
  let fromUs = arrivedUs;
  for (const [name, untilUs] of [
    ['receive', completeUs],
    ['identify', identifiedUs],
    ['validate', handledUs],
    ['handle', answeredUs],
  ] as const) {
    if (untilUs === 0) continue;
    stages[name] = toMs(secondsBetween(fromUs, untilUs));
    fromUs = untilUs;
  }
  stages['answer'] = toMs(tookSec - secondsBetween(arrivedUs, fromUs));
  return stages;
}

/** Milliseconds with three digits after the point. */
function toMs(seconds: number): number {
  return Math.round(seconds * 1e6) / 1000;
}
