/**
 * The watch over the clock of this machine: notices when it makes the exchange refuse requests that are signed well, so
 * that no account loses its orders because of that (RULES.md 4.3, 7.8).
 * Owner: the gateway thread.
 *
 *   set back   Nothing that a right clock signs is accepted until the clock is past the floor of the nonces again, and
 *              until MAX_SKEW_SEC later nothing that the slowest acceptable clock signs.
 *   disagrees  Some key with its passphrase was refused for its time within QUIET_TICKS, and since then no signed
 *              request was accepted. That says less of this machine: it may be the clock of a single client.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { TimeVerdicts } from '../access/authenticator.ts';
import { MAX_SKEW_SEC, type NonceMemory } from '../access/nonces.ts';
import type { Logger } from '../process/log.ts';

type ClockWatchOptions = {
  readonly nonces: Pick<NonceMemory, 'floorSec'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** True while requests are carried out. */
  readonly isServing: () => boolean;
};

/** Ticks, of a quarter of a second each, for which a refusal counts: as long as a client may be silent. */
const QUIET_TICKS = 60;

export class ClockWatch implements TimeVerdicts {
  readonly #options: ClockWatchOptions;
  #isRefusing = false;
  #ticksLeft = 0;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
  }

  /** True while no signature of a right clock is accepted. A start waits until its own floor is past. */
  get isSetBack(): boolean {
    return this.#options.isServing() && this.#nowSec() <= this.#options.nonces.floorSec;
  }

  /** False while heartbeats that should be accepted may be refused. */
  get isAccepting(): boolean {
    return !this.#isRefusing && !this.isSetBack && this.#ticksLeft === 0;
  }

  /** The reason why this is no place for signed requests at present, or null. */
  get problem(): string | null {
    if (!this.isSetBack) return null;
    return `the clock was set back: signed requests are accepted again after ${toTime(this.#options.nonces.floorSec)}`;
  }

  /** A signed request was accepted: this clock agrees with that of a client. */
  noteAccepted(): void {
    this.#ticksLeft = 0;
  }

  /** A request with the right passphrase of a key was refused for its time. */
  noteRefused(): void {
    if (this.#ticksLeft === 0) {
      this.#options.log.warn('a request is refused for its time: its clock is wrong, or that of this machine is');
    }
    this.#ticksLeft = QUIET_TICKS;
  }

  /** Called four times a second. */
  tick(): void {
    const { log, nonces } = this.#options;
    if (this.#ticksLeft > 0) this.#ticksLeft--;
    const wasRefusing = this.#isRefusing;
    if (this.isSetBack) this.#isRefusing = true;
    else if (this.#nowSec() > nonces.floorSec + MAX_SKEW_SEC) this.#isRefusing = false;
    if (this.#isRefusing && !wasRefusing) {
      const until = toTime(nonces.floorSec);
      log.error({ until }, 'the clock was set back: signed requests are refused until then, except for cancels');
    } else if (wasRefusing && !this.#isRefusing)
      log.warn('the clock has caught up: signed requests are accepted again');
  }

  #nowSec(): number {
    return Math.floor(this.#options.clock.nowMs() / 1000);
  }
}

function toTime(sec: number): string {
  return new Date(sec * 1000).toISOString();
}
