/**
 * Decisions of markets that the chain has to carry out before the ledger follows, by market, as the gateway has asked
 * for them, or the journals where the ledger has decided first (a market that the chain did not know then).
 */
import type Database from 'better-sqlite3';
import { DECISION_STATES, type DecisionState } from '../../shared/base/chainFacts.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { KIND, OF_TOKENS, type Work } from './work.ts';

export type Decision = {
  readonly market: number;
  /** 0x and 32 hex digits. */
  readonly uuid: string;
  /** In the ledger, afterwards. */
  readonly status: number;
  readonly payout_yes_ppm: number;
  readonly state: DecisionState;
  /** The last proposal of the market before this decision's own; null until that is sent or found. */
  readonly base: number | null;
  /** The transaction that is under way; null once a block has it. */
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
/** From the decision on its tokens are claimed where they are, so those that have to go elsewhere go before. */
const BEFORE_A_DECISION = `${OF_TOKENS},${KIND.LATE_MOVE}`;

export class DecisionRows {
  readonly #db: StoreDatabase;

  constructor(db: StoreDatabase) {
    this.#db = db;
  }

  get(market: number): Decision | undefined {
    return this.#sql('SELECT * FROM decisions WHERE market = ?').get(market) as Decision | undefined;
  }

  /** Those after this market, in the order of their numbers. */
  after(market: number, limit: number): Decision[] {
    return this.#sql('SELECT * FROM decisions WHERE market > ? ORDER BY market LIMIT ?').all(
      market,
      limit,
    ) as Decision[];
  }

  ofJob(job: number): Decision | undefined {
    return this.#sql('SELECT * FROM decisions WHERE job = ?').get(job) as Decision | undefined;
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

  /** The transaction is over: what the chain has says how it goes on. */
  done(market: number): void {
    this.#sql('UPDATE decisions SET job = NULL, failures = 0 WHERE market = ?').run(market);
  }

  /** It was reverted: the next one waits twice as long. */
  failed({ market, failures }: Decision, block: number): void {
    const pause = Math.min(2 ** failures, MOST_PAUSE_BLOCKS);
    const sql = 'UPDATE decisions SET job = NULL, failures = failures + 1, not_before = ? WHERE market = ?';
    this.#sql(sql).run(block + pause, market);
  }

  count(state: DecisionState): number {
    return (this.#sql('SELECT count(*) AS n FROM decisions WHERE state = ?').get(state) as { n: number }).n;
  }

  /** Transactions that are no key's any more. */
  forgetJobs(isOwn: (job: number) => boolean): void {
    for (const { market, job } of this.#sql('SELECT * FROM decisions WHERE job IS NOT NULL').all() as Decision[]) {
      if (!isOwn(job!)) this.done(market);
    }
  }

  /** Those of one market. */
  ofLedgerIn(market: number): Work[] {
    const sql = `SELECT * FROM work WHERE market = ? AND kind = ${KIND.RESOLUTION} AND status = 'pending'`;
    return this.#sql(sql).all(market) as Work[];
  }

  /** Decisions of the ledger that the chain has not confirmed, the oldest first. */
  ofLedger(exchange: number, limit: number): Work[] {
    const sql = `SELECT * FROM work WHERE status = 'pending' AND kind = ${KIND.RESOLUTION} AND exchange <= ?
                 ORDER BY id LIMIT ?`;
    return this.#sql(sql).all(exchange, limit) as Work[];
  }

  /** The ledger has decided: a veto does not undo that. */
  isInLedger(market: number): boolean {
    const sql = 'SELECT 1 FROM markets WHERE market = ? AND payout_yes_ppm IS NOT NULL';
    return this.#sql(sql).get(market) !== undefined;
  }

  /** The number of a market, and what its Yes pays in the ledger (null: not decided); undefined of another's market. */
  ofUuid(uuid: string): { readonly market: number; readonly payout_yes_ppm: number | null } | undefined {
    const sql = 'SELECT market, payout_yes_ppm FROM markets WHERE uuid = ?';
    return this.#sql(sql).get(uuid) as { market: number; payout_yes_ppm: number | null } | undefined;
  }

  /** The chain knows the market, or will. */
  isOnChain(market: number): boolean {
    return this.#sql('SELECT 1 FROM deploys WHERE market = ? LIMIT 1').get(market) !== undefined;
  }

  /** DECISIONS-1. All that the ledger has done with its tokens is in a block. */
  isReady(market: number): boolean {
    const missing = `SELECT 1 FROM deploys WHERE market = ? AND status NOT IN ('mined', 'final') LIMIT 1`;
    const older = `SELECT 1 FROM work WHERE market = ? AND kind IN (${BEFORE_A_DECISION}) AND status <> 'settled'
                     AND status <> 'mined' AND unwound_ms IS NULL LIMIT 1`;
    return this.#sql(missing).get(market) === undefined && this.#sql(older).get(market) === undefined;
  }

  #sql(sql: string): Database.Statement<unknown[]> {
    return prepared(this.#db, sql);
  }
}

/** The market of a decision that the ledger has made first. */
export function ofLedger({ market, amount: payout_yes_ppm }: Work, uuid: string): NewDecision {
  return { market, uuid, status: MARKET_STATUS.RESOLVED, payout_yes_ppm };
}
