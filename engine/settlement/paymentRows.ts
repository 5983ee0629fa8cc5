/** Queries for the work that is payments (payments.ts), for settlement, its operators and a change of contracts. */
import type Database from 'better-sqlite3';
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { IS_UNSETTLED, KIND, PAYMENTS, type Work } from './work.ts';

type HeldUpPayment = Work & { readonly reason: string; readonly wallet: string };

const IS_REFUSED = `status = 'pending' AND kind IN (${PAYMENTS}) AND failures > 0`;
/** Held up by the chain or by the hourly bounds. */
const IS_HELD_UP = `status = 'pending' AND kind IN (${PAYMENTS}) AND reason IS NOT NULL`;

export class PaymentRows {
  readonly #db: StoreDatabase;

  constructor(db: StoreDatabase) {
    this.#db = db;
  }

  /**
   * Returns the oldest pending payment of each account that may be tried at this block: first for the accounts after
   * this one, then for the others.
   */
  due(block: number, exchange: number, limit: number, after = -1): Work[] {
    const sql = `SELECT * FROM work INDEXED BY work_payments
                 WHERE status = 'pending' AND kind IN (${PAYMENTS}) AND not_before <= ? AND exchange <= ?
                   AND account > ? AND account <= ? AND NOT EXISTS (SELECT 1 FROM work AS older
                     WHERE older.status = 'pending' AND older.kind IN (${PAYMENTS}) AND older.account = work.account
                       AND older.id < work.id)
                 ORDER BY account LIMIT ?`;
    const behind = this.#sql<Work>(sql).all(block, exchange, after, Number.MAX_SAFE_INTEGER, limit);
    const upTo = this.#sql<Work>(sql).all(block, exchange, -1, after, limit - behind.length);
    return [...behind, ...upTo];
  }

  /** Counts payments of the account that are in no transaction yet. */
  countPending(account: number): number {
    const sql = `SELECT count(*) AS n FROM work INDEXED BY work_payments
                 WHERE status = 'pending' AND kind IN (${PAYMENTS}) AND account = ?`;
    return this.#sql<{ n: number }>(sql).get(account)!.n;
  }

  /** Counts payments that wait for a block. */
  countSent(): number {
    const sql = `SELECT count(*) AS n FROM work
                 WHERE ${IS_UNSETTLED} AND status = 'submitted' AND kind IN (${PAYMENTS})`;
    return this.#sql<{ n: number }>(sql).get()!.n;
  }

  /** Returns true if older work of the account, payments aside, is not in a block. */
  hasOlderWork({ id, account }: Work): boolean {
    const sql = `SELECT 1 FROM work WHERE ${IS_UNSETTLED} AND status <> 'mined' AND kind NOT IN (${PAYMENTS})
                   AND +id < @id AND (account = @account OR taker_account = @account) LIMIT 1`;
    return this.#sql(sql).get({ id, account }) !== undefined;
  }

  /**
   * Returns payments that the chain refuses or a bound holds back, oldest first, each with the wallet and the reason.
   */
  heldUp(limit: number, offset: number): HeldUpPayment[] {
    const sql = `SELECT work.*, address AS wallet FROM work JOIN escrows USING (account)
                 WHERE ${IS_HELD_UP} ORDER BY id LIMIT ? OFFSET ?`;
    return this.#sql<HeldUpPayment>(sql).all(limit, offset);
  }

  /** Holds a payment back for so many blocks because of a bound; this does not count as a failure. */
  hold({ id }: Work, block: number, reason: string): void {
    this.#sql('UPDATE work SET not_before = ?, reason = ? WHERE id = ?').run(block, reason, id);
  }

  /** Returns payments that were sent since then, oldest first. */
  sentSince(sinceMs: number): { account: number; amount: number; atMs: number }[] {
    const sql = `SELECT account, amount, (SELECT max(at_ms) FROM history
                   WHERE history.work = work.id AND history.status = 'submitted') AS atMs
                 FROM work INDEXED BY work_paid WHERE kind IN (${PAYMENTS}) AND job IS NOT NULL ORDER BY job DESC`;
    const found: { account: number; amount: number; atMs: number }[] = [];
    for (const sent of this.#sql<(typeof found)[number]>(sql).iterate()) {
      if (sent.atMs <= sinceMs) break;
      found.push(sent);
    }
    return found.reverse();
  }

  /** Splits and merges that no block has: they are sent after the trades that do not need them. */
  countWaitingSets(): number {
    const sql = `SELECT count(*) AS n FROM work WHERE ${IS_UNSETTLED} AND status <> 'mined'
                   AND kind IN (${KIND.SPLIT}, ${KIND.MERGE})`;
    return this.#sql<{ n: number }>(sql).get()!.n;
  }

  countHeldUp(): number {
    return this.#sql<{ n: number }>(`SELECT count(*) AS n FROM work WHERE ${IS_HELD_UP}`).get()!.n;
  }

  countRefused(): number {
    return this.#sql<{ n: number }>(`SELECT count(*) AS n FROM work WHERE ${IS_REFUSED}`).get()!.n;
  }

  /** Hands the payments that this contract has not made to the next contract, to which its funds go. */
  payAtNext(exchange: number): void {
    const sql = `UPDATE work SET exchange = exchange + 1
                 WHERE exchange = ? AND status = 'pending' AND kind IN (${PAYMENTS})`;
    this.#sql(sql).run(exchange);
  }

  #sql<Row>(sql: string): Database.Statement<unknown[], Row> {
    return prepared(this.#db, sql);
  }
}
