/**
 * Watches the clock of this machine: notices if the clock makes the exchange refuse correctly signed requests, so that
 * no account loses its orders because of that (RULES.md 4.3, 7.8).
 * Owner: the gateway thread.
 *
 *   set back   The clock is behind the floor of the nonces. No signature of a right clock is accepted until it has
 *              passed that floor, and none of the slowest acceptable clock for MAX_SKEW_SEC more.
 *   disagrees  A key with its right passphrase was refused for its time within QUIET_TICKS, and no signed request was
 *              accepted since. The fault may also be the clock of a single client. The alert for the person on call
 *              counts only accounts that have funds, because anybody can have an empty account.
 *   shifted    Within a minute this clock and the monotonic clock drifted apart by more than SHIFT_MS.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { TimeVerdicts } from '../access/authenticator.ts';
import { MAX_SKEW_SEC, type NonceMemory } from '../access/nonces.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsSources } from '../operator/metricSources.ts';
import { ClientOffsets } from './clientOffsets.ts';

type ClockWatchOptions = {
  readonly nonces: Pick<NonceMemory, 'floorSec'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** True while requests are carried out. */
  readonly isServing: () => boolean;
  readonly hasFunds: (account: number) => boolean;
  /** A clock that is never set; tests pass their own. */
  readonly monotonicMs?: () => number;
};

/** Ticks, of a quarter of a second each, for which a refusal counts: as long as a client may be silent. */
const QUIET_TICKS = 60;
/** A clock that is slewed moves by half a millisecond a second. */
const SHIFT_MS = 5000;
/** After this many ticks the comparison of the two clocks starts anew. */
const COMPARED_TICKS = 240;
/** More accounts would say nothing new. */
const MOST_REFUSED_ACCOUNTS = 1000;

export class ClockWatch implements TimeVerdicts {
  readonly #options: ClockWatchOptions;
  #isRefusing = false;
  #ticksLeft = 0;
  /** The times, by this clock, at which it shifted. */
  #shifts = 0;
  /** This clock minus the monotonic one, since the last comparison. */
  #differenceMs: number;
  #ticks = 0;
  readonly #refused = new Set<number>();
  readonly offsets = new ClientOffsets();

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    this.#differenceMs = this.#difference();
  }

  /**
   * True while no signature of a right clock is accepted. A start waits until the floor that it has set itself is past.
   */
  get isSetBack(): boolean {
    return this.#options.isServing() && this.#nowSec() <= this.#options.nonces.floorSec;
  }

  /** False while the exchange may refuse heartbeats that it should accept. */
  get isAccepting(): boolean {
    return !this.#isRefusing && !this.isSetBack && this.#ticksLeft === 0;
  }

  /** Returns why this machine cannot check the times of signed requests at present, or null if it can. */
  get problem(): string | null {
    if (!this.isSetBack) return null;
    return `the clock was set back: signed requests are accepted again after ${toTime(this.#options.nonces.floorSec)}`;
  }

  /** Accounts with funds that were refused for their time since the last signed request was accepted. */
  get refusedAccounts(): number {
    return this.#refused.size;
  }

  /** The number of shifts of this clock, since the start. */
  get shifts(): number {
    return this.#shifts;
  }

  /** A signed request was accepted: this clock agrees with that of a client. */
  noteAccepted(account: number, aheadSec: number): void {
    this.#ticksLeft = 0;
    if (this.#refused.size > 0) this.#refused.clear();
    this.offsets.note(account, aheadSec);
  }

  /** A request with the right passphrase of a key was refused for its time. */
  noteRefused(account: number): void {
    const isCounted = this.#refused.size < MOST_REFUSED_ACCOUNTS && this.#options.hasFunds(account);
    if (isCounted) this.#refused.add(account);
    if (this.#ticksLeft === 0) {
      this.#options.log.warn("a request is refused for its time: the client's clock is wrong, or this machine's");
    }
    this.#ticksLeft = QUIET_TICKS;
  }

  /** Called four times a second. */
  tick(): void {
    const { log, nonces } = this.#options;
    this.#compare();
    if (this.#ticksLeft > 0) this.#ticksLeft--;
    else if (this.#refused.size > 0) this.#refused.clear();
    const wasRefusing = this.#isRefusing;
    if (this.isSetBack) this.#isRefusing = true;
    else if (this.#nowSec() > nonces.floorSec + MAX_SKEW_SEC) this.#isRefusing = false;
    if (this.#isRefusing && !wasRefusing) {
      const until = toTime(nonces.floorSec);
      log.error({ until }, 'the clock was set back: signed requests except cancels are refused until it has caught up');
    } else if (wasRefusing && !this.#isRefusing)
      log.warn('the clock has caught up: signed requests are accepted again');
  }

  #compare(): void {
    const { clock, log } = this.#options;
    if (this.#ticks++ % COMPARED_TICKS === 0) this.offsets.turn();
    const differenceMs = this.#difference();
    const byMs = differenceMs - this.#differenceMs;
    const isShifted = Math.abs(byMs) > SHIFT_MS;
    if (isShifted) {
      this.#shifts++;
      log.error(
        { by_ms: Math.round(byMs), now: new Date(clock.nowMs()).toISOString() },
        'the clock of this machine was moved: check what sets it',
      );
    }
    if (isShifted || this.#ticks % COMPARED_TICKS === 0) this.#differenceMs = differenceMs;
  }

  #difference(): number {
    const { clock, monotonicMs = performance.now.bind(performance) } = this.#options;
    return clock.nowMs() - monotonicMs();
  }

  #nowSec(): number {
    return Math.floor(this.#options.clock.nowMs() / 1000);
  }
}

/** The source of the metrics of the clock. */
export function clockOf(watch: ClockWatch, clock: Clock): MetricsSources['clock'] {
  return {
    nowMs: () => clock.nowMs(),
    offsets: watch.offsets,
    get isAccepting() {
      return watch.isAccepting;
    },
    get isSetBack() {
      return watch.isSetBack;
    },
    get refusedAccounts() {
      return watch.refusedAccounts;
    },
    get shifts() {
      return watch.shifts;
    },
  };
}

function toTime(sec: number): string {
  return new Date(sec * 1000).toISOString();
}
