/**
 * The work that the chain has to do after the ledger, and the signed orders that its trades need. Every change of
 * status adds a row to the history.
 *
 * Invariants:
 *   WORK-1  A trade or movement is one row for ever: `shard`, `kind`, `sequence` and `part` name it.
 *   WORK-2  `job` is the transaction that does the work (OUTCOMES-1); a pending row has none.
 *   WORK-3  Orders are kept until they are closed and all of their trades are settled.
 */
import type Database from 'better-sqlite3';
import { OUTCOME, type SettlementStatus, SIDE } from '../../shared/base/codes.ts';
import { prepared, preparedValue } from '../../shared/base/prepared.ts';
import type { Hex } from '../../shared/chain/node.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { SIGNED_COLUMN_NAMES, type SignedColumns } from './signedColumns.ts';

export const KIND = {
  TRADE: 0,
  SPLIT: 1,
  MERGE: 2,
  WITHDRAWAL: 3,
  RESOLUTION: 4,
  CLAIM: 5,
  RELEASE: 6,
  MOVE: 7,
  LATE_MOVE: 8,
} as const;
type Kind = (typeof KIND)[keyof typeof KIND];

export type Work = {
  readonly id: number;
  readonly kind: Kind;
  readonly shard: number;
  /** Sequence number of the trade, or of the record in the journal. */
  readonly sequence: number;
  readonly part: number;
  readonly account: number;
  readonly market: number;
  /** Lots of a trade, atomic tokens, micro-USDC, or the payout of Yes in millionths. */
  readonly amount: number;
  readonly maker_order: number | null;
  readonly taker_order: number | null;
  readonly yes_ticks: number | null;
  readonly match_type: number | null;
  /** The taker of a trade; `account` is its maker's. Fees are part of the amounts that the parties receive. */
  readonly taker_account: number | null;
  /** Number of the contract that does the work; for a move, the contract that gives. */
  readonly exchange: number;
  readonly created_ms: number;
  readonly status: SettlementStatus;
  readonly job: number | null;
  readonly failures: number;
  /** Fee of a movement in micro-USDC: the contract takes it with the movement. */
  readonly fee_micro: number;
};
export type NewWork = Omit<Work, 'id' | 'status' | 'job' | 'failures' | 'created_ms' | 'exchange' | 'fee_micro'> & {
  readonly exchange?: number;
  readonly fee_micro?: number;
  /** Time of a trade. */
  readonly matched_ms?: number;
};

type MarketRow = {
  /** 0x and 32 hex digits. */
  readonly uuid: Hex;
  readonly ticks_per_unit: number;
  /** Null if undecided. */
  readonly payout_yes_ppm: number | null;
};

export type OrderRow = SignedColumns & {
  readonly id: number;
  readonly shard: number;
  readonly slot: number | null;
  readonly outcome: number;
  /** Null for the contract in the settings. */
  readonly exchange: Hex | null;
  readonly hash: Hex;
  readonly signature: Hex;
  readonly side: number;
  readonly fee_bps: number;
  /** Tokens received by a BUY or USDC received by a SELL, before fees, over all its fills that were not unwound. */
  readonly received: number;
};

type NewOrder = Pick<OrderRow, 'shard' | 'slot' | 'outcome' | 'exchange' | 'hash' | 'signature'> & SignedColumns;
const ORDER_COLUMNS = ['shard', 'slot', 'outcome', 'exchange', 'hash', 'signature', ...SIGNED_COLUMN_NAMES];
const ADD_ORDER = `INSERT INTO orders (${ORDER_COLUMNS.join()}) VALUES (@${ORDER_COLUMNS.join(', @')})`;

export const OF_TOKENS = [KIND.TRADE, KIND.SPLIT, KIND.MERGE].join();
const OF_A_MARKET = `${OF_TOKENS},${KIND.RESOLUTION},${KIND.MOVE},${KIND.LATE_MOVE}`;
const IS_MARKET_THERE = `NOT (kind IN (${OF_A_MARKET}) AND EXISTS (SELECT 1 FROM deploys
  WHERE deploys.market = work.market AND deploys.status NOT IN ('mined', 'final')))`;
/** Claims of a market whose decision is settled by another key (DECISIONS-2). */
const IS_DECIDED_THERE = `NOT (kind = ${KIND.CLAIM} AND NOT EXISTS (SELECT 1 FROM work AS decision
  WHERE decision.market = work.market AND decision.kind = ${KIND.RESOLUTION}
    AND decision.status NOT IN ('pending', 'submitted')))`;
/** They are sent beside the other work (payments.ts). */
export const PAYMENTS = [KIND.WITHDRAWAL, KIND.RELEASE].join();
/** Blocks until failed work is retried; the pause doubles each time. */
const MOST_PAUSE_BLOCKS = 64;
/** The condition of the partial index; statements must repeat it in these words to use the index. */
export const IS_UNSETTLED = `status IN ('pending', 'submitted', 'mined')`;
/** A trade that needs the signatures of its orders, or may need them. */
const STILL_NEEDED = `status <> 'settled' AND unwound_ms IS NULL`;

export class WorkRows {
  readonly #db: StoreDatabase;
  readonly #nowMs: () => number;

  constructor(db: StoreDatabase, nowMs: () => number) {
    this.#db = db;
    this.#nowMs = nowMs;
  }

  add(work: NewWork): void {
    const row = { matched_ms: null, exchange: 1, fee_micro: 0, ...work, created_ms: this.#nowMs() };
    const { lastInsertRowid } = this.#sql(
      `INSERT INTO work (kind, shard, sequence, part, account, market, amount, maker_order, taker_order, yes_ticks,
         match_type, taker_account, exchange, matched_ms, created_ms, fee_micro)
       VALUES (@kind, @shard, @sequence, @part, @account, @market, @amount, @maker_order, @taker_order, @yes_ticks,
         @match_type, @taker_account, @exchange, @matched_ms, @created_ms, @fee_micro)`,
    ).run(row);
    this.#note(Number(lastInsertRowid), 'pending');
    if (work.kind === KIND.TRADE) this.#receive(work, 1);
  }

  /** Both orders receive their part of a fill or, with -1, give it back. */
  #receive({ market, amount, yes_ticks, maker_order, taker_order }: NewWork, sign: 1 | -1): void {
    this.#sql(
      `UPDATE orders SET received = received + @lots * CASE
         WHEN side = ${SIDE.BUY} THEN ticks_per_unit
         WHEN outcome = ${OUTCOME.YES} THEN @yes_ticks
         ELSE ticks_per_unit - @yes_ticks END
       FROM (SELECT ticks_per_unit FROM markets WHERE market = @market)
       WHERE id IN (@maker_order, @taker_order)`,
    ).run({ market, lots: sign * amount, yes_ticks, maker_order, taker_order });
  }

  get(id: number): Work | undefined {
    return this.#sql<Work>('SELECT * FROM work WHERE id = ?').get(id);
  }

  /**
   * Pending work for this block, in order, without payments and decisions. A market's work waits until the chain knows
   * it.
   * @param exchange the active contract; its predecessors have only late moves (MOVE-4)
   */
  pending(block: number, limit: number, exchange: number): Work[] {
    const sql = `SELECT * FROM work WHERE status = 'pending' AND not_before <= ? AND exchange <= ?
                   AND kind NOT IN (${PAYMENTS}, ${KIND.RESOLUTION}) AND ${IS_MARKET_THERE} AND ${IS_DECIDED_THERE}
                 ORDER BY id LIMIT ?`;
    return this.#sql<Work>(sql).all(block, exchange, limit);
  }

  /** True if the contract has work to do, payments aside, or a failed trade that waits for an administrator. */
  hasUnsettled(exchange: number): boolean {
    const sql = `SELECT 1 FROM work WHERE exchange = ? AND status <> 'settled' AND unwound_ms IS NULL
                   AND NOT (status = 'pending' AND kind IN (${PAYMENTS})) LIMIT 1`;
    return this.#sql(sql).get(exchange) !== undefined;
  }

  hasUnsettledMove(exchange: number): boolean {
    const sql = `SELECT 1 FROM work WHERE exchange = ? AND status <> 'settled' AND kind = ${KIND.MOVE} LIMIT 1`;
    return this.#sql(sql).get(exchange) !== undefined;
  }

  /** The number of unsettled works of the contract, including failed trades. */
  countUnsettledAt(exchange: number): number {
    const sql = `SELECT count(*) AS n FROM work WHERE exchange = ? AND status <> 'settled' AND unwound_ms IS NULL`;
    return this.#sql<{ n: number }>(sql).get(exchange)!.n;
  }

  /** The sequence number of the shard's last trade; 0 before the first. */
  lastTrade(shard: number): number {
    const sql = `SELECT max(sequence) AS last FROM work WHERE shard = ? AND kind = ${KIND.TRADE}`;
    return this.#sql<{ last: number | null }>(sql).get(shard)!.last ?? 0;
  }

  /** Returns true if an older trade of either order is not on the chain: this trade may be waiting for it. */
  hasOlderFills({ id, maker_order, taker_order }: Work): boolean {
    const sql = `SELECT 1 FROM work WHERE status <> 'settled' AND status <> 'mined' AND unwound_ms IS NULL AND id < @id
                   AND (maker_order IN (@maker_order, @taker_order) OR taker_order IN (@maker_order, @taker_order))
                 LIMIT 1`;
    return this.#sql(sql).get({ id, maker_order, taker_order }) !== undefined;
  }

  /** The job of the claim in this record; null while it waits. */
  jobOfClaim(shard: number, sequence: number): number | null {
    const sql = `SELECT job FROM work WHERE shard = ? AND kind = ${KIND.CLAIM} AND sequence = ? LIMIT 1`;
    return this.#sql<{ job: number | null }>(sql).get(shard, sequence)?.job ?? null;
  }

  submit(id: number, job: number): void {
    this.giveJob(id, job);
    this.setStatus(id, 'submitted');
  }

  giveJob(id: number, job: number): void {
    this.#sql('UPDATE work SET job = ?, reason = NULL WHERE id = ?').run(job, id);
  }

  /** The jobs of work that is sent and not settled. */
  jobsUnderWay(): number[] {
    const sql = `SELECT DISTINCT job FROM work WHERE status IN ('submitted', 'mined')`;
    return preparedValue<[], number>(this.#db, sql).all();
  }

  setStatus(id: number, status: SettlementStatus, reason: string | null = null): void {
    this.#sql('UPDATE work SET status = ?, reason = ifnull(?, reason) WHERE id = ?').run(status, reason, id);
    this.#note(id, status);
  }

  /** Sets work back to pending, to be retried at a later block. */
  retry(work: Work, block: number, reason: string, mostPauseBlocks = MOST_PAUSE_BLOCKS): void {
    const pause = Math.min(2 ** work.failures, mostPauseBlocks);
    this.#sql('UPDATE work SET job = NULL, failures = failures + 1, not_before = ? WHERE id = ?').run(
      block + pause,
      work.id,
    );
    this.setStatus(work.id, 'pending', reason);
  }

  /** The ledger has unwound the trade; nothing is left to do on the chain. */
  setUnwound(shard: number, tradeSequence: number, timeMs: number): void {
    const sql = `UPDATE work SET unwound_ms = ?
                 WHERE shard = ? AND kind = ${KIND.TRADE} AND sequence = ? AND part = 0 AND unwound_ms IS NULL
                 RETURNING *`;
    const found = this.#sql<Work>(sql).get(timeMs, shard, tradeSequence);
    if (found === undefined) return;
    this.#receive(found, -1);
    // An older settlement.db does not know yet that the trade failed; the trade may not be sent again.
    if (found.status === 'pending') this.setStatus(found.id, 'failed', 'the ledger has undone it');
    for (const order of [found.maker_order!, found.taker_order!]) this.dropOrder(order);
  }

  /** The times of the contract's oldest pending trade, and of its oldest work other than held-up payments. */
  oldestPendingMs(exchange: number): { readonly trade: number | null; readonly any: number | null } {
    const oldest = (of: string): number | null => {
      const sql = `SELECT created_ms AS at FROM work WHERE status = 'pending' ${of} ORDER BY created_ms LIMIT 1`;
      return this.#sql<{ at: number }>(sql).get()?.at ?? null;
    };
    const waits = `kind IN (${PAYMENTS}) AND EXISTS (SELECT 1 FROM work AS older WHERE older.status = 'pending'
      AND older.kind IN (${PAYMENTS}) AND older.account = work.account AND older.id <= work.id
        AND older.reason IS NOT NULL)`;
    return { trade: oldest(`AND kind = ${KIND.TRADE} AND exchange = ${exchange}`), any: oldest(`AND NOT (${waits})`) };
  }

  /** Counts unsettled work by status. */
  countUnsettled(): Record<'pending' | 'submitted' | 'mined', number> {
    const sql = `SELECT status, count(*) AS n FROM work WHERE ${IS_UNSETTLED} GROUP BY status`;
    const found = this.#sql<{ status: 'pending' | 'submitted' | 'mined'; n: number }>(sql).all();
    const counts = { pending: 0, submitted: 0, mined: 0 };
    for (const { status, n } of found) counts[status] = n;
    return counts;
  }

  /** Counts failed trades; unwound trades do not count. */
  countFailed(): number {
    const sql = `SELECT count(*) FROM work WHERE status = 'failed' AND unwound_ms IS NULL`;
    return preparedValue<[], number>(this.#db, sql).get()!;
  }

  history(id: number): { status: SettlementStatus; at_ms: number }[] {
    const sql = 'SELECT status, at_ms FROM history WHERE work = ? ORDER BY step';
    return this.#sql<{ status: SettlementStatus; at_ms: number }>(sql).all(id);
  }

  addOrder(order: NewOrder): void {
    this.#sql(ADD_ORDER).run(order);
  }

  order(id: number): OrderRow {
    return this.#sql<OrderRow>('SELECT * FROM orders WHERE id = ?').get(id)!;
  }

  openOrder(shard: number, slot: number): number | null {
    const sql = 'SELECT id FROM orders WHERE shard = ? AND slot = ?';
    return this.#sql<{ id: number }>(sql).get(shard, slot)?.id ?? null;
  }

  closeOrder(id: number): void {
    this.#sql('UPDATE orders SET slot = NULL WHERE id = ?').run(id);
    this.dropOrder(id);
  }

  /** Keeps WORK-3. */
  dropOrder(id: number): void {
    this.#sql(
      `DELETE FROM orders WHERE id = ? AND slot IS NULL
         AND NOT EXISTS (SELECT 1 FROM work WHERE maker_order = orders.id AND ${STILL_NEEDED})
         AND NOT EXISTS (SELECT 1 FROM work WHERE taker_order = orders.id AND ${STILL_NEEDED})`,
    ).run(id);
  }

  setMarket(market: number, uuid: Hex, ticksPerUnit: number): void {
    this.#sql('INSERT OR IGNORE INTO markets VALUES (?, ?, ?, NULL)').run(market, uuid, ticksPerUnit);
  }

  /** @param payoutYesPpm what a token of Yes pays, in millionths */
  decideMarket(market: number, payoutYesPpm: number): void {
    this.#sql('UPDATE markets SET payout_yes_ppm = ? WHERE market = ?').run(payoutYesPpm, market);
  }

  /** @returns true if the account was not a holder before */
  addHolder(market: number, account: number): boolean {
    return this.#sql('INSERT OR IGNORE INTO holders VALUES (?, ?)').run(market, account).changes > 0;
  }

  /** @returns true if the account was a holder */
  removeHolder(market: number, account: number): boolean {
    return this.#sql('DELETE FROM holders WHERE market = ? AND account = ?').run(market, account).changes > 0;
  }

  market(market: number): MarketRow {
    return this.findMarket(market)!;
  }

  /** Undefined until the journal was followed to the market's creation. */
  findMarket(market: number): MarketRow | undefined {
    const sql = 'SELECT uuid, ticks_per_unit, payout_yes_ppm FROM markets WHERE market = ?';
    return this.#sql<MarketRow>(sql).get(market);
  }

  /** The first wallet of an account stays its escrow. */
  setEscrow(account: number, address: Hex): void {
    this.#sql('INSERT OR IGNORE INTO escrows VALUES (?, ?)').run(account, address.toLowerCase());
  }

  escrow(account: number): Hex | null {
    const sql = 'SELECT address FROM escrows WHERE account = ?';
    return this.#sql<{ address: Hex }>(sql).get(account)?.address ?? null;
  }

  /**
   * A counter that the gateway stores first, so it does not start with an older settlement.db (RULES.md 17.2). Called
   * in the transaction of the change.
   */
  nextMark(): number {
    const sql = 'UPDATE marks SET number = number + 1 WHERE id = 1 RETURNING number';
    return preparedValue<[], number>(this.#db, sql).get()!;
  }

  get mark(): number {
    return preparedValue<[], number>(this.#db, 'SELECT number FROM marks WHERE id = 1').get()!;
  }

  addMirrored(reference: string): void {
    this.#sql('INSERT OR IGNORE INTO mirrored VALUES (?)').run(reference);
  }

  isMirrored(reference: string): boolean {
    return this.#sql('SELECT 1 FROM mirrored WHERE reference = ?').get(reference) !== undefined;
  }

  /** @param batch the id of the batch; null for a movement */
  addJob(exchange: Hex, work: readonly Work[], batch: string | null): number {
    const ids = JSON.stringify(work.map(({ id }) => id));
    const added = this.#sql('INSERT INTO jobs (exchange, work, batch) VALUES (?, ?, ?)').run(exchange, ids, batch);
    return Number(added.lastInsertRowid);
  }

  /** Sets the block that has the job's transaction; null once a reorganisation has removed it. */
  setMined(job: number, mined: { readonly hash: string; readonly blockNumber: number } | null): void {
    const found = this.#sql('UPDATE jobs SET hash = ?, block_number = ? WHERE id = ?');
    found.run(mined?.hash ?? null, mined?.blockNumber ?? null, job);
  }

  setFinal(job: number): void {
    this.#sql('UPDATE jobs SET is_final = 1 WHERE id = ?').run(job);
  }

  job(id: number): { readonly exchange: Hex; readonly work: readonly Work[] } {
    const sql = 'SELECT exchange, work FROM jobs WHERE id = ?';
    const { exchange, work } = this.#sql<{ exchange: Hex; work: string }>(sql).get(id)!;
    const ids: number[] = JSON.parse(work);
    return { exchange, work: ids.map((each) => this.get(each)!) };
  }

  #note(work: number, status: SettlementStatus): void {
    this.#sql(
      `INSERT INTO history VALUES (@work, (SELECT ifnull(max(step), 0) + 1 FROM history WHERE work = @work), @status,
         @at_ms)`,
    ).run({ work, status, at_ms: this.#nowMs() });
  }

  #sql<Row>(sql: string): Database.Statement<unknown[], Row> {
    return prepared(this.#db, sql);
  }
}
