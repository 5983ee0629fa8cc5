/**
 * Chooses how to list an account's trades in one market: by scanning the account's trades or the market's trades,
 * whichever are fewer. Runs in a thread of the query pool.
 */
import type Database from 'better-sqlite3';

/** Beyond this number a market's trades are not counted: counting has to cost less than it saves. */
const MOST_COUNTED = 50_000;

export class ShorterWalk {
  readonly #ofAccount: Database.Statement<[number], number | null>;
  readonly #ofMarket: Database.Statement<[number, number], number>;

  constructor(db: Database.Database) {
    this.#ofAccount = db
      .prepare<[number], number | null>('SELECT sum(trades) FROM account_stats WHERE account = ?')
      .pluck();
    this.#ofMarket = db
      .prepare<[number, number], number>('SELECT count(*) FROM (SELECT 1 FROM trades WHERE market = ? LIMIT ?)')
      .pluck();
  }

  /** True if the market has less than half as many trades as the account. */
  isOfMarket(account: number, market: number): boolean {
    const most = Math.min(MOST_COUNTED, Math.floor((this.#ofAccount.get(account) ?? 0) / 2));
    return most > 0 && this.#ofMarket.get(market, most)! < most;
  }
}
