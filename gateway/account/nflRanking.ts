/**
 * The earnings of all who trade NFL markets in the last thirty days (RULES.md 14.72): computed by the query pool, a few
 * hundred accounts at a time, and only when an account asks that may be among the best. Owner: the gateway thread.
 *
 * Invariants:
 *   NFLRANKING-1  One computation runs at a time; requests that arrive meanwhile wait for it.
 *   NFLRANKING-2  A ranking is no older than KEPT_MS, and one that failed is not kept.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { type Asker, Askers } from '../base/askers.ts';
import type { AccountCall } from '../http/route.ts';
import type { NflPart } from './achievementQueries.ts';
import type { AccountReads } from './reads.ts';

type RankingDeps = { readonly queries: Pick<AccountReads, 'nflPart'>; readonly clock: Clock };

/** The sums of the results of all accounts with closed NFL positions. */
type Results = { readonly accounts: Int32Array; readonly micro: Float64Array };

export const NFL_WINDOW_MS = 30 * 86_400_000;
const KEPT_MS = 600_000;

export class NflRanking {
  readonly #deps: RankingDeps;
  #kept: { readonly results: Results; readonly computedMs: number } | null = null;
  #underway: { readonly askers: Askers; readonly results: Promise<Results | null> } | null = null;

  constructor(deps: RankingDeps) {
    this.#deps = deps;
  }

  /** True if less than `percent` of all NFL traders earned more. Also false while the ranking cannot be computed. */
  async isAmongBest(call: AccountCall, micro: number, percent: number): Promise<boolean> {
    const account = call.principal.accountIndex;
    const results = await this.#results(call);
    if (results === null) return false;
    const { accounts, micro: earned } = results;
    let others = 0;
    let better = 0;
    // An iterator takes three times as long, which are milliseconds of this thread for a hundred thousand traders.
    for (let index = 0; index < accounts.length; index++) {
      if (accounts[index] === account) continue;
      others++;
      if (earned[index] > micro) better++;
    }
    return better * 100 < (others + 1) * percent;
  }

  async #results(asker: Asker): Promise<Results | null> {
    const kept = this.#kept;
    // After the clock was set back, it is computed again.
    if (kept !== null && Math.abs(this.#deps.clock.nowMs() - kept.computedMs) < KEPT_MS) return kept.results;
    if (this.#underway !== null) {
      this.#underway.askers.join(asker);
      return this.#underway.results;
    }
    const askers = new Askers(asker);
    const results = this.#compute(askers).finally(() => {
      this.#underway = null;
    });
    this.#underway = { askers, results };
    return results;
  }

  async #compute(askers: Askers): Promise<Results | null> {
    const { clock, queries } = this.#deps;
    const computedMs = clock.nowMs();
    const parts: NflPart[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const task = { sinceMs: computedMs - NFL_WINDOW_MS, after };
      const part: Awaited<ReturnType<typeof queries.nflPart>> = await queries.nflPart(askers, task);
      if (!part.ok) return null;
      parts.push(part.value);
      after = part.value.next;
    }
    const results = {
      accounts: Int32Array.from(parts.flatMap(({ accounts }) => accounts)),
      micro: Float64Array.from(parts.flatMap(({ results }) => results)),
    };
    this.#kept = { results, computedMs };
    return results;
  }
}
