/**
 * The facts on which achievements depend (RULES.md 14.70 to 14.72), for one account, and for all traders of NFL
 * markets. Runs in a thread of the query pool.
 *
 * A position is closed when it holds no tokens, or when its market is decided; so a losing position is closed without a
 * claim. Its result is its realized gain plus, for tokens not claimed yet, their payout less their cost. Tokens that
 * only come from a split, or whose cost is unknown, are no position in this sense.
 */
import type Database from 'better-sqlite3';
import { OUTCOME } from '../../shared/base/codes.ts';
import { payoutPartMicro } from '../../shared/base/payout.ts';
import { COST_BASIS } from '../../shared/tables/positions.ts';

export type AchievementsTask = {
  readonly account: number;
  /** Only NFL positions closed at this time or later count. */
  readonly nflSinceMs: number;
};
export type AchievementFacts = {
  readonly marketsTraded: number;
  readonly closed: number;
  readonly won: number;
  readonly nflClosed: number;
  readonly nflMicro: number;
};

export type NflTask = {
  readonly sinceMs: number;
  /** The part starts with the account after this one. */
  readonly after: number;
};
/** Accounts with closed NFL positions, and the sum of each account's results. */
export type NflPart = {
  readonly accounts: readonly number[];
  readonly results: readonly number[];
  /** Where the next part starts; null after the last. */
  readonly next: number | null;
};

type Sums = { readonly account: number; readonly micro: number };

/**
 * A part ends with the account that reaches either bound. It takes some milliseconds, unless one account holds more.
 */
const ACCOUNTS_PER_PART = 1000;
const POSITIONS_PER_PART = 1000;

const YES_ATOMIC = `
  (SELECT yes.quantity_atomic FROM positions AS yes WHERE yes.account = positions.account
     AND yes.market = positions.market AND yes.outcome = ${OUTCOME.YES})`;
/** The payout of a claim, to the micro. */
const PAYS = `payout_part(outcome, ifnull(${YES_ATOMIC}, 0), quantity_atomic, payout_yes_ppm)`;
const IS_CLOSED = '(quantity_atomic = 0 OR decided_sequence > 0)';
const RESULT = `(realized_micro + iif(quantity_atomic <> 0, ${PAYS} - cost_micro, 0))`;
/** Tokens held at the decision closed at the decision; all others closed with the trade that closed the position. */
const CLOSED_MS = 'iif(decided_sequence > 0 AND (quantity_atomic <> 0 OR is_paid = 1), resolved_ms, changed_ms)';
const COUNTS = `has_traded = 1 AND cost_basis = ${COST_BASIS.KNOWN} AND ${IS_CLOSED}`;
const IS_NFL = `(
  SELECT sport_league = 'NFL' FROM catalog_markets CROSS JOIN catalog_events USING (event)
  WHERE catalog_markets.market = positions.market)`;
const POSITIONS = 'positions CROSS JOIN market_stats USING (market)';

export class AchievementQueries {
  readonly #facts: Database.Statement<[AchievementsTask], AchievementFacts>;
  readonly #lastOfPart: Database.Statement<[number], number>;
  readonly #last: Database.Statement<[], number>;
  readonly #nfl: Database.Statement<[number, number, number], Sums>;

  constructor(db: Database.Database) {
    db.function('payout_part', { deterministic: true }, payoutPartMicro);
    const nfl = `${COUNTS} AND ${CLOSED_MS} >= @nflSinceMs AND ${IS_NFL}`;
    this.#facts = db.prepare(`
      SELECT count(DISTINCT iif(has_traded = 1, market, NULL)) AS marketsTraded,
        count(*) FILTER (WHERE ${COUNTS}) AS closed,
        count(*) FILTER (WHERE ${COUNTS} AND ${RESULT} > 0) AS won,
        count(*) FILTER (WHERE ${nfl}) AS nflClosed,
        total(${RESULT}) FILTER (WHERE ${nfl}) AS nflMicro
      FROM ${POSITIONS} WHERE account = @account`);
    this.#last = db.prepare<[], number>('SELECT account FROM positions ORDER BY account DESC LIMIT 1').pluck();
    this.#lastOfPart = db
      .prepare<[number], number>(
        `SELECT account FROM positions WHERE account > ? ORDER BY account LIMIT 1 OFFSET ${POSITIONS_PER_PART - 1}`,
      )
      .pluck();
    this.#nfl = db.prepare(`
      SELECT account, total(${RESULT}) AS micro FROM ${POSITIONS}
      WHERE account > ? AND account <= ? AND ${COUNTS} AND ${CLOSED_MS} >= ? AND ${IS_NFL} GROUP BY account`);
  }

  facts(task: AchievementsTask): AchievementFacts {
    return this.#facts.get(task)!;
  }

  nflPart({ sinceMs, after }: NflTask): NflPart {
    const last = Math.min(after + ACCOUNTS_PER_PART, this.#lastOfPart.get(after) ?? Number.POSITIVE_INFINITY);
    const sums = this.#nfl.all(after, last, sinceMs);
    return {
      accounts: sums.map(({ account }) => account),
      results: sums.map(({ micro }) => micro),
      next: last < (this.#last.get() ?? 0) ? last : null,
    };
  }
}
