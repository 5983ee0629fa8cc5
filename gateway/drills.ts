/**
 * Refusals that this exchange has no cause of its own for, so that a client can rehearse them (RULES.md 9.9): there is
 * one matching engine per market, and settlement is part of every fill. A restart ends every drill.
 * Owner: the gateway thread.
 */
import { ERRORS, type ErrorRow } from '../shared/errors.ts';

/** In the order in which they are answered. */
export const DRILLS = ['NOT_MATCHING_LEADER', 'SETTLEMENT_UNHEALTHY'] as const;
export type Drill = (typeof DRILLS)[number];

export class Drills {
  readonly #active = new Set<Drill>();

  set(drill: Drill, isActive: boolean): void {
    if (isActive) this.#active.add(drill);
    else this.#active.delete(drill);
  }

  get active(): Drill[] {
    return DRILLS.filter((drill) => this.#active.has(drill));
  }

  /** What placing is refused with, or null. */
  get refusal(): ErrorRow | null {
    if (this.#active.size === 0) return null;
    return ERRORS[this.active[0]!];
  }
}
