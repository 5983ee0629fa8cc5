/**
 * The balances with which a statement begins (RULES.md 14.42), computed without reading all earlier entries. Runs in a
 * thread of the query pool.
 *
 * account_hours and position_hours hold the sums and quantities before the first change in an hour: for the last week
 * in every hour, for the last year in the first hour of each day. So balances are known for a moment at most an hour,
 * or a day, before the start of the statement; the entries from there on are added. Further back, or if the history
 * begins with a snapshot, reading begins with the first entry.
 */
import type Database from 'better-sqlite3';
import { bucketOf, DAY_MS, DAYS_KEPT_MS, HOUR_MS, HOURS_KEPT_MS } from '../../shared/tables/buckets.ts';

/**
 * The part of read.db that a statement covers, by shard. Entries that arrive while it is written are not part of it, so
 * that it ends with the balances of one moment.
 */
export type StatementCut = {
  /** The number of the last record. */
  readonly records: readonly number[];
  /** The number of the last trade. */
  readonly trades: readonly number[];
};

export type StatementStart = {
  readonly cut: StatementCut;
  /** The balances are those before the first entry at this time or later. */
  readonly sinceMs: number;
  readonly usdcMicro: number;
  readonly tokens: TokenQuantities;
  /** The USDC after the last entry of the cut. */
  readonly presentMicro: number;
  /** The time of that entry, or later; 0 without one. */
  readonly changedMs: number;
};

/** Three columns, which another thread takes without conversion. */
type TokenQuantities = {
  readonly markets: Uint32Array;
  readonly outcomes: Uint8Array;
  readonly atomic: Float64Array;
};

type SumsRow = { shard: bigint; funded_micro: bigint; realized_micro: bigint; cost_micro: bigint; changed_ms: bigint };
type Sums = Omit<SumsRow, 'shard' | 'changed_ms'>;
type PositionRow = {
  market: number;
  outcome: number;
  quantity_atomic: number;
  opened_ms: number;
  changed_ms: number;
};

const SUMS = 'funded_micro, realized_micro, cost_micro';
const FROM_HOUR = 'hour_ms >= ? ORDER BY hour_ms LIMIT 1';
const EVER = 0;

export class StatementStartQueries {
  readonly #cursors: Database.Statement<[], { shard: number; sequence: number; trade_sequence: number | null }>;
  readonly #historyStart: Database.Statement<[], number | null>;
  readonly #sums: Database.Statement<[account: number], SumsRow>;
  readonly #positions: Database.Statement<[account: number], PositionRow>;
  readonly #sumsThen: Database.Statement<[account: number, shard: bigint, from: number], Sums>;
  readonly #quantityThen: Database.Statement<[account: number, market: number, outcome: number, from: number], number>;

  constructor(db: Database.Database) {
    this.#cursors = db.prepare(
      'SELECT shard, sequence, trade_sequence FROM cursors LEFT JOIN trade_heads USING (shard)',
    );
    this.#historyStart = db.prepare<[], number | null>('SELECT max(time_ms) FROM history_starts').pluck();
    this.#sums = db
      .prepare<[number], SumsRow>(`SELECT shard, ${SUMS}, changed_ms FROM account_stats WHERE account = ?`)
      .safeIntegers();
    this.#positions = db.prepare(
      'SELECT market, outcome, quantity_atomic, opened_ms, changed_ms FROM positions WHERE account = ?',
    );
    this.#sumsThen = db
      .prepare<[number, bigint, number], Sums>(
        `SELECT ${SUMS} FROM account_hours WHERE account = ? AND shard = ? AND ${FROM_HOUR}`,
      )
      .safeIntegers();
    this.#quantityThen = db
      .prepare<[number, number, number, number], number>(
        `SELECT quantity_atomic FROM position_hours WHERE account = ? AND market = ? AND outcome = ? AND ${FROM_HOUR}`,
      )
      .pluck();
  }

  /** @param fromMs the start of the statement; EVER or less for the first entry there is */
  start(account: number, fromMs: number): StatementStart {
    const cut: { records: number[]; trades: number[] } = { records: [], trades: [] };
    // By shard number: a shard of which nothing was followed yet has no cursor.
    for (const { shard, sequence, trade_sequence } of this.#cursors.iterate()) {
      cut.records[shard] = sequence;
      cut.trades[shard] = trade_sequence ?? 0;
    }
    const rows = this.#sums.all(account);
    const changedMs = rows.reduce((latest, row) => Math.max(latest, Number(row.changed_ms)), 0);
    const presentMicro = rows.reduce((sum, row) => sum + usdcMicro(row), 0);
    const sinceMs = this.#knownBefore(fromMs, changedMs);
    if (sinceMs === EVER) return { cut, sinceMs, usdcMicro: 0, tokens: columnsOf([]), presentMicro, changedMs };
    const micro = rows.reduce((sum, row) => {
      const then = Number(row.changed_ms) < sinceMs ? undefined : this.#sumsThen.get(account, row.shard, sinceMs);
      return sum + usdcMicro(then ?? row);
    }, 0);
    const positions = this.#positions.all(account).map((row) => {
      const { market, outcome } = row;
      return { market, outcome, atomic: this.#quantityAt(account, row, sinceMs) };
    });
    return { cut, sinceMs, usdcMicro: micro, tokens: columnsOf(positions), presentMicro, changedMs };
  }

  #quantityAt(account: number, row: PositionRow, sinceMs: number): number {
    const { market, outcome, quantity_atomic, opened_ms, changed_ms } = row;
    if (opened_ms >= sinceMs) return 0;
    if (changed_ms < sinceMs) return quantity_atomic;
    return this.#quantityThen.get(account, market, outcome, sinceMs) ?? quantity_atomic;
  }

  /** The latest moment not after `fromMs` whose balances are kept; EVER if there is none. */
  #knownBefore(fromMs: number, changedMs: number): number {
    const historyStartMs = this.#historyStart.get() ?? EVER;
    const today = bucketOf(changedMs, DAY_MS);
    for (const [spanMs, keptMs] of [
      [HOUR_MS, HOURS_KEPT_MS],
      [DAY_MS, DAYS_KEPT_MS],
    ] as const) {
      const sinceMs = bucketOf(fromMs, spanMs);
      if (sinceMs >= today - keptMs && sinceMs > historyStartMs) return sinceMs;
    }
    return EVER;
  }
}

/** The USDC of an account in one shard (shared/tables/statsAccounts.ts). */
function usdcMicro({ funded_micro, realized_micro, cost_micro }: Sums): number {
  return Number(funded_micro + realized_micro - cost_micro);
}

function columnsOf(rows: readonly { market: number; outcome: number; atomic: number }[]): TokenQuantities {
  const held = rows.filter(({ atomic }) => atomic !== 0);
  return {
    markets: Uint32Array.from(held, ({ market }) => market),
    outcomes: Uint8Array.from(held, ({ outcome }) => outcome),
    atomic: Float64Array.from(held, ({ atomic }) => atomic),
  };
}
