/**
 * The SQL of the leaderboard, a few accounts at a time (RULES.md 13.7). An account's earnings in a window are
 *
 *   realized in it + (value - cost of its positions now) - (value - cost of its positions when the window started),
 *
 * where tokens are valued now at the middle of the book, and at the start of the window at the last trade before it.
 * Sums and quantities at the start are those before the first change since, so the work grows with accounts and
 * positions, never with trades. Runs in the query pool.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { payoutMicro } from '../../shared/base/payout.ts';
import { holdingsOf, type MarketHolding } from './holdings.ts';
import { Marks, type Span } from './marks.ts';

export type LeaderboardTask = {
  /** The start of an hour for `hours`, of a day for `days`. */
  readonly sinceMs: number;
  readonly by: Span;
  /** The part starts with the account after this one. */
  readonly after: number;
  /**
   * The value of a Yes token by market index, in millionths; NO_MARK if the book does not give one. The parts of one
   * leaderboard share this memory, and write the values that they find instead.
   */
  readonly marks: SharedArrayBuffer;
};
export type TraderSums = {
  readonly account: number;
  readonly pnlMicro: number;
  /** The cost of the positions and the reserved USDC when the window started. */
  readonly basisMicro: number;
  readonly trades: number;
};
export type LeaderboardPart = {
  /** The best traders of the part, best first. */
  readonly traders: readonly TraderSums[];
  /** Where the next part starts; null after the last. */
  readonly next: number | null;
};

export const NO_MARK = 0xffff_ffff;
export const MOST_TRADERS = 100;
/**
 * A part ends with the account that reaches either bound: after about ten milliseconds, unless one account holds more.
 */
const ACCOUNTS_PER_PART = 500;
const POSITIONS_PER_PART = 500;
type Range = [after: number, last: number];
type Sums = {
  readonly trades: bigint;
  readonly realized_micro: bigint;
  readonly cost_micro: bigint;
  readonly reserved_micro: bigint;
};
type SumsRow = Sums & {
  readonly account: bigint;
  readonly shard: bigint;
  readonly changed_ms: bigint;
};
type PositionRow = {
  readonly account: bigint;
  readonly market: bigint;
  readonly outcome: bigint;
  readonly quantity_atomic: bigint;
  readonly opened_ms: bigint;
  readonly changed_ms: bigint;
};
type Earned = {
  trades: bigint;
  gainedMicro: bigint;
  basisMicro: bigint;
};

export class LeaderboardQueries {
  readonly #last: Database.Statement<[], number>;
  readonly #lastOfPart: Database.Statement<[number], number>;
  readonly #sums: Database.Statement<Range, SumsRow>;
  readonly #positions: Database.Statement<Range, PositionRow>;
  readonly #marks: Marks;
  readonly #sumsThen: Database.Statement<[bigint, bigint, number], Sums>;
  readonly #quantity: Database.Statement<[bigint, bigint, bigint, number], bigint>;

  constructor(db: Database.Database) {
    this.#last = db.prepare<[], number>('SELECT account FROM account_stats ORDER BY account DESC LIMIT 1').pluck();
    this.#lastOfPart = db
      .prepare<[number], number>(
        `SELECT account FROM positions WHERE account > ? ORDER BY account LIMIT 1 OFFSET ${POSITIONS_PER_PART - 1}`,
      )
      .pluck();
    this.#sums = db
      .prepare<Range, SumsRow>(
        `SELECT account, shard, trades, realized_micro, cost_micro, reserved_micro, changed_ms FROM account_stats
         WHERE account > ? AND account <= ?`,
      )
      .safeIntegers();
    this.#positions = db
      .prepare<Range, PositionRow>(
        `SELECT account, market, outcome, quantity_atomic, opened_ms, changed_ms FROM positions
         WHERE account > ? AND account <= ? ORDER BY account, market, outcome`,
      )
      .safeIntegers();
    this.#marks = new Marks(db);
    this.#sumsThen = db
      .prepare<[bigint, bigint, number], Sums>(
        `SELECT trades, realized_micro, cost_micro, reserved_micro FROM account_hours
         WHERE account = ? AND shard = ? AND hour_ms >= ? ORDER BY hour_ms LIMIT 1`,
      )
      .safeIntegers();
    this.#quantity = db
      .prepare<[bigint, bigint, bigint, number], bigint>(
        `SELECT quantity_atomic FROM position_hours
         WHERE account = ? AND market = ? AND outcome = ? AND hour_ms >= ? ORDER BY hour_ms LIMIT 1`,
      )
      .pluck()
      .safeIntegers();
  }

  part(task: LeaderboardTask): LeaderboardPart {
    const { after } = task;
    const last = Math.min(after + ACCOUNTS_PER_PART, this.#lastOfPart.get(after) ?? Number.POSITIVE_INFINITY);
    const earned = new Map<bigint, Earned>();
    for (const row of this.#sums.all(after, last)) this.#addSums(earned, row, task);
    const marks = new Uint32Array(task.marks);
    const rows = this.#positions.all(after, last);
    for (const held of holdingsOf(rows, ({ quantity_atomic }) => quantity_atomic)) {
      earnedBy(earned, held).gainedMicro += worthOf(held, this.#markNow(held.market, marks));
    }
    for (const held of holdingsOf(rows, (row) => this.#quantityThen(row, task.sinceMs))) {
      earnedBy(earned, held).gainedMicro -= worthOf(held, this.#marks.at(held.market, task.sinceMs, task.by));
    }
    const traders: TraderSums[] = [];
    for (const [account, { trades, gainedMicro, basisMicro }] of earned) {
      const pnlMicro = Number(gainedMicro);
      if (trades === 0n && pnlMicro === 0) continue;
      traders.push({ account: Number(account), pnlMicro, basisMicro: Number(basisMicro), trades: Number(trades) });
    }
    traders.sort(byEarnings);
    const end = this.#last.get() ?? 0;
    return { traders: traders.slice(0, MOST_TRADERS), next: last < end ? last : null };
  }

  /** Adds the realized gain and the change of the cost of positions. */
  #addSums(earned: Map<bigint, Earned>, row: SumsRow, { sinceMs }: LeaderboardTask): void {
    const { account, shard } = row;
    const before = (row.changed_ms >= sinceMs ? this.#sumsThen.get(account, shard, sinceMs) : undefined) ?? row;
    let sums = earned.get(account);
    if (sums === undefined) {
      sums = { trades: 0n, gainedMicro: 0n, basisMicro: 0n };
      earned.set(account, sums);
    }
    sums.trades += row.trades - before.trades;
    sums.gainedMicro += row.realized_micro - before.realized_micro - (row.cost_micro - before.cost_micro);
    sums.basisMicro += before.cost_micro + before.reserved_micro;
  }

  /** Most positions that have changed in a window were opened in it. */
  #quantityThen(row: PositionRow, sinceMs: number): bigint {
    const { account, market, outcome, quantity_atomic: now } = row;
    if (row.opened_ms >= sinceMs) return 0n;
    if (row.changed_ms < sinceMs) return now;
    return this.#quantity.get(account, market, outcome, sinceMs) ?? now;
  }

  /** The middle of the book; without one, the payout of a decided market or the last trade. */
  #markNow(market: number, marks: Uint32Array): number {
    const known = marks[market] ?? NO_MARK;
    if (known !== NO_MARK) return known;
    const mark = this.#marks.last(market);
    // A market newer than the memory of marks has no place in it.
    if (market < marks.length) marks[market] = mark;
    return mark;
  }
}

function earnedBy(earned: Map<bigint, Earned>, { row }: MarketHolding<PositionRow>): Earned {
  const sums = earned.get(row.account);
  assert(sums !== undefined, 'leaderboard: an account with positions has sums');
  return sums;
}

function worthOf({ yesAtomic, noAtomic }: MarketHolding<PositionRow>, yesPpm: number): bigint {
  return BigInt(payoutMicro(yesAtomic, noAtomic, yesPpm));
}

/** Best first; equal earnings are sorted by account. */
export function byEarnings(a: TraderSums, b: TraderSums): number {
  return b.pnlMicro - a.pnlMicro || a.account - b.account;
}
