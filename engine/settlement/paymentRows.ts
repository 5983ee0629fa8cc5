/** The work that is payments (payments.ts), as settlement, its operators and a change of contracts ask for it. */
import type Database from 'better-sqlite3';
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { IS_UNSETTLED, PAYMENTS, type Work } from './work.ts';

type RefusedPayment = Work & { readonly reason: string; readonly wallet: string };

const IS_REFUSED = `status = 'pending' AND kind IN (${PAYMENTS}) AND failures > 0`;

export class PaymentRows {
  readonly #db: StoreDatabase;

  constructor(db: StoreDatabase) {
    this.#db = db;
  }

  /**
   * The oldest pending payment of each account, as far as it may be tried at this block: first of the accounts behind
   * this one, then of those up to it.
   */
  due(block: number, exchange: number, limit: number, after = -1): Work[] {
    const sql = `SELECT * FROM work INDEXED BY work_payments
                 WHERE status = 'pending' AND kind IN (${PAYMENTS}) AND not_before <= ? AND exchange <= ?
                   AND account > ? AND account <= ? AND NOT EXISTS (SELECT 1 FROM work AS older
                     WHERE older.status = 'pending' AND older.kind IN (${PAYMENTS}) AND older.account = work.account
                       AND older.id < work.id)
                 ORDER BY account LIMIT ?`;
    const behind = this.#sql(sql).all(block, exchange, after, Number.MAX_SAFE_INTEGER, limit) as Work[];
    const upTo = this.#sql(sql).all(block, exchange, -1, after, limit - behind.length) as Work[];
    return [...behind, ...upTo];
  }

  /** Payments of the account that no transaction makes yet. */
  countPending(account: number): number {
    const sql = `SELECT count(*) AS n FROM work INDEXED BY work_payments
                 WHERE status = 'pending' AND kind IN (${PAYMENTS}) AND account = ?`;
    return (this.#sql(sql).get(account) as { n: number }).n;
  }

  /** Payments that wait for a block. */
  countSent(): number {
    const sql = `SELECT count(*) AS n FROM work
                 WHERE ${IS_UNSETTLED} AND status = 'submitted' AND kind IN (${PAYMENTS})`;
    return (this.#sql(sql).get() as { n: number }).n;
  }

  /** True if older work of the account is in no block, payments aside. */
  hasOlderWork({ id, account }: Work): boolean {
    const sql = `SELECT 1 FROM work WHERE ${IS_UNSETTLED} AND status <> 'mined' AND kind NOT IN (${PAYMENTS})
                   AND +id < @id AND (account = @account OR taker_account = @account) LIMIT 1`;
    return this.#sql(sql).get({ id, account }) !== undefined;
  }

  /** Payments that the chain refuses, the oldest first, each with the wallet and the last reason. */
  refused(limit: number, offset: number): RefusedPayment[] {
    const sql = `SELECT work.*, address AS wallet FROM work JOIN escrows USING (account)
                 WHERE ${IS_REFUSED} ORDER BY id LIMIT ? OFFSET ?`;
    return this.#sql(sql).all(limit, offset) as RefusedPayment[];
  }

  countRefused(): number {
    return (this.#sql(`SELECT count(*) AS n FROM work WHERE ${IS_REFUSED}`).get() as { n: number }).n;
  }

  /** The next contract makes what this one has not paid: its funds go there. */
  payAtNext(exchange: number): void {
    const sql = `UPDATE work SET exchange = exchange + 1
                 WHERE exchange = ? AND status = 'pending' AND kind IN (${PAYMENTS})`;
    this.#sql(sql).run(exchange);
  }

  #sql(sql: string): Database.Statement<unknown[]> {
    return prepared(this.#db, sql);
  }
}
