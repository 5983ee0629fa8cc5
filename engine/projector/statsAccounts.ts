/**
 * Projection of the sums over accounts (shared/tables/statsAccounts.ts).
 * Owner: the projector thread.
 *
 * Invariants:
 *   ACCOUNTSTATS-1  A row has only what its shard has done, so that the rows do not depend on how the projector takes
 *                   turns among the journals: a rebuild gives the same ones.
 *   ACCOUNTSTATS-2  After `flush` every row agrees with memory. Memory is a cache of rows.
 *   ACCOUNTSTATS-3  A row of account_stats has one in account_hours and account_days for each hour and day in which it
 *                   changed, of those that are kept, with the sums before the first change.
 */
import type Database from 'better-sqlite3';
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import { bucketOf, DAY_MS, HOUR_MS } from '../../shared/tables/buckets.ts';
import { ACCOUNT_DAYS, ACCOUNT_HOURS, ACCOUNT_STATS } from '../../shared/tables/statsAccounts.ts';
import { type RowOf, select } from '../../shared/tables/table.ts';
import type { RecordContext } from './orders.ts';
import { REPLACE, RowInserter } from './rowInserter.ts';

/** A window of 7 days is read by the hour, one of 365 by the day; a day more is kept than is read. */
export const HOURS_KEPT_MS = 8 * DAY_MS;
export const DAYS_KEPT_MS = 366 * DAY_MS;
const MOST_CACHED = 100_000;
const MOST_SHARDS = 4096;
const ALL = select(ACCOUNT_STATS, ...(Object.keys(ACCOUNT_STATS.columns) as (keyof typeof ACCOUNT_STATS.columns)[]));

type Sums = {
  readonly account: number;
  readonly shard: number;
  trades: number;
  volumeMicro: bigint;
  fundedMicro: bigint;
  realizedMicro: bigint;
  costMicro: bigint;
  reservedMicro: number;
  tradeHourMs: number;
  /** 0 while there is no row. */
  changedMs: number;
  isDirty: boolean;
};

/** As `safeIntegers` reads it. */
type SumsRow = Record<keyof RowOf<typeof ACCOUNT_STATS>, bigint>;

export class AccountStats {
  readonly #cached = new Map<number, Sums>();
  readonly #dirty: Sums[] = [];
  readonly #select: Database.Statement<[number, number], SumsRow>;
  readonly #write: RowInserter<typeof ACCOUNT_STATS>;
  readonly #hours: RowInserter<typeof ACCOUNT_HOURS>;
  readonly #days: RowInserter<typeof ACCOUNT_DAYS>;
  readonly #pruneHours: Database.Statement<[number, number, number]>;
  readonly #pruneDays: Database.Statement<[number, number, number]>;

  constructor(db: Database.Database) {
    this.#select = db
      .prepare<[number, number], SumsRow>(`SELECT ${ALL.sql} FROM account_stats WHERE account = ? AND shard = ?`)
      .safeIntegers();
    this.#write = new RowInserter(db, ACCOUNT_STATS, REPLACE);
    this.#hours = new RowInserter(db, ACCOUNT_HOURS);
    this.#days = new RowInserter(db, ACCOUNT_DAYS);
    this.#pruneHours = db.prepare('DELETE FROM account_hours WHERE account = ? AND shard = ? AND hour_ms < ?');
    this.#pruneDays = db.prepare('DELETE FROM account_days WHERE account = ? AND shard = ? AND day_ms < ?');
  }

  traded(account: number, notionalMicro: number, record: RecordContext): void {
    const sums = this.#touched(account, record);
    sums.trades++;
    sums.volumeMicro += BigInt(notionalMicro);
    sums.tradeHourMs = Math.max(sums.tradeHourMs, bucketOf(record.timeMs, HOUR_MS));
  }

  /** A deposit, or a withdrawal as a negative one. */
  funded(account: number, micro: number, record: RecordContext): void {
    this.#touched(account, record).fundedMicro += BigInt(micro);
  }

  /** A position of the account has changed. */
  earned(account: number, realizedMicro: bigint, costMicro: bigint, record: RecordContext): void {
    const sums = this.#touched(account, record);
    sums.realizedMicro += realizedMicro;
    sums.costMicro += costMicro;
  }

  /** The engine says what the account has reserved in its shard. */
  reserves(account: number, reservedMicro: number, record: RecordContext): void {
    if (account === FEE_ACCOUNT || this.#sums(account, record.shard).reservedMicro === reservedMicro) return;
    this.#touched(account, record).reservedMicro = reservedMicro;
  }

  flush(): void {
    for (const sums of this.#dirty) {
      sums.isDirty = false;
      this.#write.add({
        ...rowOf(sums),
        trade_hour_ms: sums.tradeHourMs,
        changed_ms: sums.changedMs,
      });
    }
    this.#dirty.length = 0;
    this.#write.flush();
    this.#hours.flush();
    this.#days.flush();
    if (this.#cached.size > MOST_CACHED) this.#cached.clear();
  }

  #sums(account: number, shard: number): Sums {
    const key = account * MOST_SHARDS + shard;
    let sums = this.#cached.get(key);
    if (sums === undefined) {
      sums = this.#read(account, shard);
      this.#cached.set(key, sums);
    }
    return sums;
  }

  #read(account: number, shard: number): Sums {
    const row = this.#select.get(account, shard);
    return {
      account,
      shard,
      trades: Number(row?.trades ?? 0),
      volumeMicro: row?.volume_micro ?? 0n,
      fundedMicro: row?.funded_micro ?? 0n,
      realizedMicro: row?.realized_micro ?? 0n,
      costMicro: row?.cost_micro ?? 0n,
      reservedMicro: Number(row?.reserved_micro ?? 0),
      tradeHourMs: Number(row?.trade_hour_ms ?? 0),
      changedMs: Number(row?.changed_ms ?? 0),
      isDirty: false,
    };
  }

  /** ACCOUNTSTATS-3, before a change. */
  #touched(account: number, { shard, timeMs }: RecordContext): Sums {
    const sums = this.#sums(account, shard);
    if (!sums.isDirty) this.#dirty.push(sums);
    sums.isDirty = true;
    const { changedMs } = sums;
    if (timeMs <= changedMs) return sums;
    sums.changedMs = timeMs;
    const hour = bucketOf(timeMs, HOUR_MS);
    if (changedMs >= hour) return sums;
    this.#hours.add({ ...rowOf(sums), hour_ms: hour });
    const day = bucketOf(timeMs, DAY_MS);
    if (changedMs >= day) return sums;
    this.#days.add({ ...rowOf(sums), day_ms: day });
    if (changedMs === 0) return sums;
    this.#pruneHours.run(account, shard, hour - HOURS_KEPT_MS);
    this.#pruneDays.run(account, shard, day - DAYS_KEPT_MS);
    return sums;
  }
}

function rowOf(sums: Sums) {
  return {
    account: sums.account,
    shard: sums.shard,
    trades: sums.trades,
    volume_micro: sums.volumeMicro,
    funded_micro: sums.fundedMicro,
    realized_micro: sums.realizedMicro,
    cost_micro: sums.costMicro,
    reserved_micro: sums.reservedMicro,
  };
}
