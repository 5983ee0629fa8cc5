/**
 * Counts the failed logins of administrators and records them together (RULES.md 9.14): the first one at once, all
 * others within WINDOW_MS in one record of bounded size. So an attacker who tries as often as the network allows adds
 * only some hundred records a day to the log.
 * Owner: the gateway thread.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { AuditLog } from './auditLog.ts';

/** `missing`: there was no token. `role`: the token is valid, but does not have the role that the route needs. */
type LoginFault = 'missing' | 'invalid' | 'role';

type Attempts = {
  readonly address: string;
  readonly fault: LoginFault;
  readonly operator?: string | undefined;
  count: number;
};

export const WINDOW_MS = 300_000;
/**
 * Addresses in a record. Attempts of further addresses are counted together: an attacker may have any number of
 * addresses.
 */
export const MAX_ADDRESSES = 20;

export class RefusedLogins {
  readonly #log: Pick<AuditLog, 'append'>;
  readonly #clock: Clock;
  #attempts = new Map<string, Attempts>();
  #otherAttempts = 0;
  #sinceMs = 0;
  #nextRecordMs = 0;
  #isRecording = false;

  constructor(log: Pick<AuditLog, 'append'>, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  count(address: string, fault: LoginFault, operator?: string): void {
    if (this.#isEmpty) this.#sinceMs = this.#clock.nowMs();
    this.#add({ address, fault, operator, count: 1 });
    this.tick();
  }

  /** Called several times a second. */
  tick(): void {
    if (!this.#isEmpty && !this.#isRecording && this.#clock.nowMs() >= this.#nextRecordMs) void this.record();
  }

  /** Writes the counts; if they cannot be written, they are added to the next record. */
  async record(): Promise<void> {
    if (this.#isEmpty) return;
    const attempts = [...this.#attempts.values()];
    const otherAttempts = this.#otherAttempts;
    const since = new Date(this.#sinceMs).toISOString();
    this.#attempts = new Map();
    this.#otherAttempts = 0;
    this.#nextRecordMs = this.#clock.nowMs() + WINDOW_MS;
    this.#isRecording = true;
    const count = attempts.reduce((sum, each) => sum + each.count, otherAttempts);
    try {
      await this.#log.append({ event: 'logins_refused', since, count, attempts, other_attempts: otherAttempts });
    } catch {
      for (const each of attempts) this.#add(each);
      this.#otherAttempts += otherAttempts;
    } finally {
      this.#isRecording = false;
    }
  }

  get #isEmpty(): boolean {
    return this.#attempts.size === 0 && this.#otherAttempts === 0;
  }

  #add(attempts: Attempts): void {
    const key = `${attempts.fault} ${attempts.operator ?? ''} ${attempts.address}`;
    const known = this.#attempts.get(key);
    if (known !== undefined) known.count += attempts.count;
    else if (this.#attempts.size < MAX_ADDRESSES) this.#attempts.set(key, { ...attempts });
    else this.#otherAttempts += attempts.count;
  }
}
