/**
 * Decisions that the chain has to carry out before the ledger does, one row per market. They are requested by the
 * gateway, or found in the journals if the ledger decided first (a market that the chain did not know then).
 */

import type Database from 'better-sqlite3';
import { DECISION_STATES, type DecisionState } from '../../shared/base/chainFacts.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import type { Hex } from '../../shared/base/hex.ts';
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { KIND, OF_TOKENS, type Work } from './work.ts';

export type Decision = {
  readonly market: number;
  /** 0x and 32 hex digits. */
  readonly uuid: Hex;
  /** The market's status in the ledger once the decision has taken effect. */
  readonly status: number;
  readonly payout_yes_ppm: number;
  readonly state: DecisionState;
  /** Number of the market's last proposal before this decision's own; null until the own one is sent or found. */
  readonly base: number | null;
  /** The pending transaction; null once a block has it. */
  readonly job: number | null;
  readonly failures: number;
  readonly not_before: number;
};
type NewDecision = Pick<Decision, 'market' | 'uuid' | 'status' | 'payout_yes_ppm'>;

export const DECISION_TABLES = `
  CREATE TABLE IF NOT EXISTS decisions (
    market INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, status INTEGER NOT NULL, payout_yes_ppm INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'wanted' CHECK (state IN (${DECISION_STATES.map((state) => `'${state}'`).join()})),
    base INTEGER, job INTEGER, failures INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE INDEX IF NOT EXISTS decisions_sent ON decisions (job) WHERE job IS NOT NULL;
  CREATE INDEX IF NOT EXISTS markets_by_uuid ON markets (uuid);
`;
const MOST_PAUSE_BLOCKS = 64;
/**
 * Work that moves the market's tokens elsewhere has to come before the decision: afterwards tokens are claimed where
 * they are.
 */
const BEFORE_A_DECISION = `${OF_TOKENS},${KIND.LATE_MOVE}`;

export class DecisionRows {
  readonly #db: StoreDatabase;

  constructor(db: StoreDatabase) {
    this.#db = db;
  }

  get(market: number): Decision | undefined {
    return this.#sql<Decision>('SELECT * FROM decisions WHERE market = ?').get(market);
  }

  /** Returns the decisions after this market, ordered by market number. */
  after(market: number, limit: number): Decision[] {
    return this.#sql<Decision>('SELECT * FROM decisions WHERE market > ? ORDER BY market LIMIT ?').all(market, limit);
  }

  ofJob(job: number): Decision | undefined {
    return this.#sql<Decision>('SELECT * FROM decisions WHERE job = ?').get(job);
  }

  add(decision: NewDecision): void {
    const sql = `INSERT OR REPLACE INTO decisions (market, uuid, status, payout_yes_ppm)
                 VALUES (@market, @uuid, @status, @payout_yes_ppm)`;
    this.#sql(sql).run(decision);
  }

  remove(market: number): void {
    this.#sql('DELETE FROM decisions WHERE market = ?').run(market);
  }

  set(market: number, state: DecisionState): void {
    this.#sql('UPDATE decisions SET state = ? WHERE market = ?').run(state, market);
  }

  setBase(market: number, base: number): void {
    this.#sql('UPDATE decisions SET base = ? WHERE market = ?').run(base, market);
  }

  submit(market: number, job: number): void {
    this.#sql('UPDATE decisions SET job = ? WHERE market = ?').run(job, market);
  }

  /** Called when the transaction is over: the state of the contract decides what comes next. */
  done(market: number): void {
    this.#sql('UPDATE decisions SET job = NULL, failures = 0 WHERE market = ?').run(market);
  }

  /** Called when the transaction was reverted: the next one waits twice as long. */
  failed({ market, failures }: Decision, block: number): void {
    const pause = Math.min(2 ** failures, MOST_PAUSE_BLOCKS);
    const sql = 'UPDATE decisions SET job = NULL, failures = failures + 1, not_before = ? WHERE market = ?';
    this.#sql(sql).run(block + pause, market);
  }

  count(state: DecisionState): number {
    return this.#sql<{ n: number }>('SELECT count(*) AS n FROM decisions WHERE state = ?').get(state)!.n;
  }

  /** Forgets transactions that belong to none of the current keys. */
  forgetJobs(isOwn: (job: number) => boolean): void {
    for (const { market, job } of this.#sql<Decision>('SELECT * FROM decisions WHERE job IS NOT NULL').all()) {
      if (!isOwn(job!)) this.done(market);
    }
  }

  /** Returns the ledger's work of one market. */
  ofLedgerIn(market: number): Work[] {
    const sql = `SELECT * FROM work WHERE market = ? AND kind = ${KIND.RESOLUTION} AND status = 'pending'`;
    return this.#sql<Work>(sql).all(market);
  }

  /** Returns decisions of the ledger that the chain has not confirmed, oldest first. */
  ofLedger(exchange: number, limit: number): Work[] {
    const sql = `SELECT * FROM work WHERE status = 'pending' AND kind = ${KIND.RESOLUTION} AND exchange <= ?
                 ORDER BY id LIMIT ?`;
    return this.#sql<Work>(sql).all(exchange, limit);
  }

  /** Returns true if the ledger has decided the market; a veto does not undo that. */
  isInLedger(market: number): boolean {
    const sql = 'SELECT 1 FROM markets WHERE market = ? AND payout_yes_ppm IS NOT NULL';
    return this.#sql(sql).get(market) !== undefined;
  }

  /**
   * The number of a market and its payout of Yes in the ledger (null if undecided); undefined if the market is not
   * ours.
   */
  ofUuid(uuid: string): { readonly market: number; readonly payout_yes_ppm: number | null } | undefined {
    const sql = 'SELECT market, payout_yes_ppm FROM markets WHERE uuid = ?';
    return this.#sql<{ market: number; payout_yes_ppm: number | null }>(sql).get(uuid);
  }

  /** Returns true if the chain knows the market, or will know it. */
  isOnChain(market: number): boolean {
    return this.#sql('SELECT 1 FROM deploys WHERE market = ? LIMIT 1').get(market) !== undefined;
  }

  /** DECISIONS-1. Returns true once everything that the ledger has done with the market's tokens is in a block. */
  isReady(market: number): boolean {
    const missing = `SELECT 1 FROM deploys WHERE market = ? AND status NOT IN ('mined', 'final') LIMIT 1`;
    const older = `SELECT 1 FROM work WHERE market = ? AND kind IN (${BEFORE_A_DECISION}) AND status <> 'settled'
                     AND status <> 'mined' AND unwound_ms IS NULL LIMIT 1`;
    return this.#sql(missing).get(market) === undefined && this.#sql(older).get(market) === undefined;
  }

  #sql<Row>(sql: string): Database.Statement<unknown[], Row> {
    return prepared(this.#db, sql);
  }
}

/** The market of a decision that the ledger made first. */
export function ofLedger({ market, amount: payout_yes_ppm }: Work, uuid: Hex): NewDecision {
  return { market, uuid, status: MARKET_STATUS.RESOLVED, payout_yes_ppm };
}
