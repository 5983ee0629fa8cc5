/**
 * Each day's statement of every provider that gives them, compared by itself once the day is over (RULES.md 16.80).
 * Owner: the gateway thread, while this process leads.
 *
 * Invariant:
 *   DAILY-1  A day's statement is requested until it was compared, by this task or by an operator, for up to a week: so
 *            an outage leaves no day out.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { FiatStatements } from './fiatStatementsStore.ts';
import type { FiatProvider } from './provider.ts';
import { DAY_MS, type Statements } from './statements.ts';

type DailyOptions = {
  readonly providers: ReadonlyMap<string, FiatProvider>;
  readonly rows: Pick<FiatStatements, 'isCompared' | 'durable'>;
  readonly statements: Pick<Statements, 'compare'>;
  readonly clock: Clock;
  readonly onFailure: (what: string, name: string, error: unknown) => void;
};

/** Providers close their books some time after midnight. */
const CLOSED_AFTER_MS = 3_600_000;
const PAUSE_MS = 3_600_000;
/** A start has more urgent work first. */
const FIRST_AFTER_MS = 600_000;
const MOST_DAYS = 7;
const ASK_MS = 10_000;

export class DailyStatements {
  readonly #options: DailyOptions;
  #nextMs: number;
  #isAsking = false;

  constructor(options: DailyOptions) {
    this.#options = options;
    this.#nextMs = options.clock.nowMs() + FIRST_AFTER_MS;
  }

  /** Resolves when all missing statements were requested; a call meanwhile requests nothing. */
  async tick(): Promise<void> {
    const { providers, clock } = this.#options;
    if (this.#isAsking || clock.nowMs() < this.#nextMs) return;
    this.#isAsking = true;
    for (const [name, provider] of providers) await this.#askDays(name, provider);
    this.#nextMs = clock.nowMs() + PAUSE_MS;
    this.#isAsking = false;
  }

  /** The oldest day comes first. If a day fails, it and the days after it are requested again later. */
  async #askDays(name: string, provider: FiatProvider): Promise<void> {
    if (provider.statement === undefined) return;
    const { rows, statements, clock, onFailure } = this.#options;
    const closedMs = clock.nowMs() - CLOSED_AFTER_MS;
    const lastMs = closedMs - (closedMs % DAY_MS) - DAY_MS;
    try {
      for (let startMs = lastMs - (MOST_DAYS - 1) * DAY_MS; startMs <= lastMs; startMs += DAY_MS) {
        const day = new Date(startMs).toISOString().slice(0, 10);
        if (rows.isCompared(name, day)) continue;
        const stated = await provider.statement(startMs, AbortSignal.timeout(ASK_MS));
        // It may have been compared meanwhile, by hand: a repeat changes nothing.
        statements.compare(name, day, stated);
        await rows.durable();
      }
    } catch (error) {
      onFailure('statement', name, error);
    }
  }
}
