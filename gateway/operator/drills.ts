/**
 * Drills: refusals for which this exchange has no cause of its own, so that clients can practise them (RULES.md 9.9).
 * Each market has one matching engine, so it can never lose its lead to another; and without a chain settlement is part
 * of every fill, so it cannot fail alone. A restart ends every drill.
 * Owner: the gateway thread.
 */
import { DRILLS, type DrillName } from '../../shared/api/platform.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';

export class Drills {
  readonly #active = new Set<DrillName>();

  set(drill: DrillName, isActive: boolean): void {
    if (isActive) this.#active.add(drill);
    else this.#active.delete(drill);
  }

  get active(): DrillName[] {
    return DRILLS.filter((drill) => this.#active.has(drill));
  }

  /** The error with which placing is refused, or null. */
  get refusal(): ErrorRow | null {
    if (this.#active.size === 0) return null;
    return ERRORS[this.active[0]];
  }
}
