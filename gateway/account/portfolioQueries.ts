/**
 * The SQL of the profit and loss of one account over a window that starts with an hour, a slice of its positions at a
 * time (RULES.md 14.25). Runs in a thread of the query pool.
 *
 *   gained = sum over positions of (realized - cost + worth now) - (realized - cost of the account + worth of all) then
 *
 * A position is read whole, and the state at the start of the window never changes. So slices read at different moments
 * add up: a trade that happens between two slices is counted in both of its parts, or in none.
 */
import type Database from 'better-sqlite3';
import { OUTCOME } from '../../shared/base/codes.ts';
import { payoutMicro } from '../../shared/base/payout.ts';
import { holdingsOf } from '../markets/holdings.ts';
import { Marks } from '../markets/marks.ts';
import { FIRST_POSITION, type PositionKey } from './positionQueries.ts';

export type PortfolioTask = {
  readonly account: number;
  /** The start of an hour. */
  readonly sinceMs: number;
  /** The slice starts after this position; null starts with the first, and adds the account's sums. */
  readonly after: PositionKey | null;
};

/** The tokens that are held now, one market at each index. */
type Held = {
  readonly markets: Uint32Array;
  readonly yesAtomic: Float64Array;
  readonly noAtomic: Float64Array;
  /** The value of a Yes token in millionths, according to trades and decisions. */
  readonly lastYesPpm: Uint32Array;
};

export type PortfolioSlice = {
  readonly held: Held;
  /** Realized gain less cost, summed over the positions of the slice. */
  readonly gainedMicro: bigint;
  /** The value of these positions at the start of the window. */
  readonly worthThenMicro: bigint;
  /** The account's sums at the start of the window; 0 except in the first slice. */
  readonly gainedThenMicro: bigint;
  readonly fundedThenMicro: bigint;
  /** Null if no position follows. */
  readonly next: PositionKey | null;
};

type SumsRow = {
  readonly shard: bigint;
  readonly changed_ms: bigint;
  readonly gained_micro: bigint;
  readonly funded_micro: bigint;
};
type PositionRow = Record<
  'market' | 'outcome' | 'quantity_atomic' | 'gained_micro' | 'opened_ms' | 'changed_ms',
  bigint
>;

/** Reading so many takes a few milliseconds. Both outcomes of a market fit. */
const SLICE = 500;
const SUMS = 'realized_micro - cost_micro AS gained_micro, funded_micro';

export class PortfolioQueries {
  readonly #marks: Marks;
  readonly #sums: Database.Statement<[number], SumsRow>;
  readonly #sumsThen: Database.Statement<[number, bigint, number], Pick<SumsRow, 'gained_micro' | 'funded_micro'>>;
  readonly #positions: Database.Statement<[number, number, number], PositionRow>;
  readonly #quantityThen: Database.Statement<[number, bigint, bigint, number], bigint>;

  constructor(db: Database.Database) {
    this.#marks = new Marks(db);
    this.#sums = db
      .prepare<[number], SumsRow>(`SELECT shard, changed_ms, ${SUMS} FROM account_stats WHERE account = ?`)
      .safeIntegers();
    this.#sumsThen = db
      .prepare<[number, bigint, number], Pick<SumsRow, 'gained_micro' | 'funded_micro'>>(
        `SELECT ${SUMS} FROM account_hours WHERE account = ? AND shard = ? AND hour_ms >= ? ORDER BY hour_ms LIMIT 1`,
      )
      .safeIntegers();
    this.#positions = db
      .prepare<[number, number, number], PositionRow>(
        `SELECT market, outcome, quantity_atomic, realized_micro - cost_micro AS gained_micro, opened_ms, changed_ms
         FROM positions WHERE account = ? AND (market, outcome) > (?, ?) ORDER BY market, outcome LIMIT ${SLICE}`,
      )
      .safeIntegers();
    this.#quantityThen = db
      .prepare<[number, bigint, bigint, number], bigint>(
        `SELECT quantity_atomic FROM position_hours
         WHERE account = ? AND market = ? AND outcome = ? AND hour_ms >= ? ORDER BY hour_ms LIMIT 1`,
      )
      .pluck()
      .safeIntegers();
  }

  slice({ account, sinceMs, after }: PortfolioTask): PortfolioSlice {
    const rows = this.#positions.all(account, ...(after ?? FIRST_POSITION));
    const hasMore = rows.length === SLICE;
    // Both outcomes of a market are in one slice, because their tokens have a value together.
    if (hasMore && rows.at(-1)!.outcome === BigInt(OUTCOME.YES)) rows.pop();
    const last = hasMore ? rows.at(-1)! : null;
    let gainedMicro = 0n;
    for (const row of rows) gainedMicro += row.gained_micro;
    let worthThenMicro = 0n;
    for (const { market, yesAtomic, noAtomic } of holdingsOf(rows, (row) => this.#quantityAt(account, row, sinceMs))) {
      worthThenMicro += BigInt(payoutMicro(yesAtomic, noAtomic, this.#marks.at(market, sinceMs, 'hours')));
    }
    const sums = after === null ? this.#sumsAt(account, sinceMs) : { gainedThenMicro: 0n, fundedThenMicro: 0n };
    const next: PositionKey | null = last === null ? null : [Number(last.market), Number(last.outcome)];
    return { held: this.#held(rows), gainedMicro, worthThenMicro, ...sums, next };
  }

  #held(rows: readonly PositionRow[]): Held {
    const held = [...holdingsOf(rows, ({ quantity_atomic }) => quantity_atomic)];
    return {
      markets: Uint32Array.from(held, ({ market }) => market),
      yesAtomic: Float64Array.from(held, ({ yesAtomic }) => yesAtomic),
      noAtomic: Float64Array.from(held, ({ noAtomic }) => noAtomic),
      lastYesPpm: Uint32Array.from(held, ({ market }) => this.#marks.last(market)),
    };
  }

  #quantityAt(account: number, row: PositionRow, sinceMs: number): bigint {
    if (row.opened_ms >= sinceMs) return 0n;
    if (row.changed_ms < sinceMs) return row.quantity_atomic;
    return this.#quantityThen.get(account, row.market, row.outcome, sinceMs) ?? row.quantity_atomic;
  }

  #sumsAt(account: number, sinceMs: number): Pick<PortfolioSlice, 'gainedThenMicro' | 'fundedThenMicro'> {
    let gainedThenMicro = 0n;
    let fundedThenMicro = 0n;
    for (const row of this.#sums.all(account)) {
      const then = (row.changed_ms >= sinceMs ? this.#sumsThen.get(account, row.shard, sinceMs) : undefined) ?? row;
      gainedThenMicro += then.gained_micro;
      fundedThenMicro += then.funded_micro;
    }
    return { gainedThenMicro, fundedThenMicro };
  }
}
