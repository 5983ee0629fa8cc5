/**
 * Rows of deployments: one for each pair of a market and an exchange contract that has to know it. Rows are kept for
 * ever.
 *
 * Invariants:
 *   DEPLOYROWS-1  A market that has work for a contract has a row for it, made in the transaction of the work: nothing
 *                 of the market is sent to the contract before that row is on the chain.
 *   DEPLOYROWS-2  `job` is the transaction that carries it out (DEPLOYS-4); a waiting row has none.
 */
import type Database from 'better-sqlite3';
import { prepared } from '../../shared/base/prepared.ts';
import type { Hex } from '../../shared/chain/node.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { ChainNews } from '../../shared/wire/chainQuestions.ts';
import type { News } from './news.ts';

type DeployStatus = ChainNews['deployment']['status'];
export type Deploy = {
  readonly id: number;
  readonly market: number;
  /** 0x and the 32 hex digits of the market's id. */
  readonly uuid: Hex;
  readonly exchange: Hex;
  readonly status: DeployStatus;
  /** 1 if work of the market waits for this deployment, so it is never given up. */
  readonly is_needed: number;
  readonly failures: number;
  readonly job: number | null;
  readonly reason: string | null;
};

export class DeployRows {
  readonly #db: StoreDatabase;
  readonly #nowMs: () => number;
  readonly #news: News;

  constructor(db: StoreDatabase, nowMs: () => number, news: News) {
    this.#db = db;
    this.#nowMs = nowMs;
    this.#news = news;
  }

  /**
   * Requests that the contract knows the market. A repeat changes nothing, except that a deployment that was given up
   * is tried again.
   * @param isNeeded true if work of the market waits, so the deployment is never given up
   */
  want(market: number, uuid: Hex, exchange: Hex, isNeeded: boolean): void {
    const needed = Number(isNeeded);
    const found = this.#find(market, exchange);
    if (found === undefined) {
      const sql = 'INSERT INTO deploys (market, uuid, exchange, is_needed) VALUES (?, ?, ?, ?)';
      const { lastInsertRowid } = this.#sql(sql).run(market, uuid, exchange, needed);
      this.#report(Number(lastInsertRowid));
    } else {
      if (needed > found.is_needed) this.#sql('UPDATE deploys SET is_needed = 1 WHERE id = ?').run(found.id);
      if (found.status !== 'given_up') return;
      this.#sql('UPDATE deploys SET failures = 0, not_before_ms = 0 WHERE id = ?').run(found.id);
      this.#move(found.id, 'wanted', null);
    }
  }

  get(id: number): Deploy {
    return this.#sql<Deploy>('SELECT * FROM deploys WHERE id = ?').get(id)!;
  }

  has(market: number): boolean {
    return this.#sql('SELECT 1 FROM deploys WHERE market = ? LIMIT 1').get(market) !== undefined;
  }

  /** Markets with work that waits until this contract knows them. */
  countNeeded(exchange: Hex): number {
    const sql = `SELECT count(*) AS n FROM deploys
                 WHERE exchange = ? AND is_needed = 1 AND status NOT IN ('mined', 'final')`;
    return this.#sql<{ n: number }>(sql).get(exchange)!.n;
  }

  /** Returns the deployments that are due, the longest waiting first. */
  due(limit: number): Deploy[] {
    const sql = `SELECT * FROM deploys WHERE status IN ('wanted', 'failed') AND not_before_ms <= ?
                 ORDER BY not_before_ms, id LIMIT ?`;
    return this.#sql<Deploy>(sql).all(this.#nowMs(), limit);
  }

  /** @returns the job of the transaction about to be reserved */
  submit(id: number): number {
    const added = this.#sql('INSERT INTO deploy_jobs (deploy) VALUES (?)').run(id);
    const job = Number(added.lastInsertRowid);
    this.#sql('UPDATE deploys SET job = ? WHERE id = ?').run(job, id);
    this.#move(id, 'submitted', null);
    return job;
  }

  /** The deployment to which this transaction belongs; null if the deployment has another transaction by now. */
  ofJob(job: number): Deploy | null {
    const found = this.whoseJob(job);
    return found.job === job ? found : null;
  }

  /** The deployment for which this transaction was made. */
  whoseJob(job: number): Deploy {
    const sql = 'SELECT deploys.* FROM deploy_jobs JOIN deploys ON deploys.id = deploy WHERE deploy_jobs.id = ?';
    return this.#sql<Deploy>(sql).get(job)!;
  }

  /** Deployments under way whose transaction is not in this set go back to wanted. */
  takeOver(jobs: ReadonlySet<number | null>): void {
    const sql = `SELECT id, job FROM deploys WHERE status IN ('submitted', 'mined')`;
    for (const { id, job } of this.#sql<{ id: number; job: number }>(sql).all()) {
      if (jobs.has(job)) continue;
      this.#sql('UPDATE deploys SET job = NULL WHERE id = ?').run(id);
      this.#move(id, 'wanted', null);
    }
  }

  mined(id: number, job: number): void {
    this.#sql('UPDATE deploys SET job = ? WHERE id = ?').run(job, id);
    this.set(id, 'mined');
  }

  set(id: number, status: 'wanted' | 'submitted' | 'mined' | 'final'): void {
    if (this.get(id).status !== status) this.#move(id, status, null);
  }

  fail(id: number, reason: string, pauseMs: number, isLast: boolean): void {
    const sql = 'UPDATE deploys SET job = NULL, failures = failures + 1, not_before_ms = ? WHERE id = ?';
    this.#sql(sql).run(this.#nowMs() + pauseMs, id);
    this.#move(id, isLast ? 'given_up' : 'failed', reason);
  }

  #find(market: number, exchange: Hex): Deploy | undefined {
    return this.#sql<Deploy>('SELECT * FROM deploys WHERE market = ? AND exchange = ?').get(market, exchange);
  }

  #move(id: number, status: DeployStatus, reason: string | null): void {
    this.#sql('UPDATE deploys SET status = ?, reason = ? WHERE id = ?').run(status, reason, id);
    this.#report(id);
  }

  #report(id: number): void {
    const { uuid: marketId, exchange, status, failures, reason } = this.get(id);
    this.#news.add('deployment', { marketId, exchange, status, failures, reason });
  }

  #sql<Row>(sql: string): Database.Statement<unknown[], Row> {
    return prepared(this.#db, sql);
  }
}
