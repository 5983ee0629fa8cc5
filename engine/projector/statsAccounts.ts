/**
 * Projection of the sums over accounts (shared/tables/statsAccounts.ts).
 * Owner: the projector thread.
 *
 * Invariants:
 *   ACCOUNTSTATS-1  A row has only what its shard has done, so that the rows do not depend on how the projector takes
 *                   turns among the journals: a rebuild gives the same ones.
 *   ACCOUNTSTATS-2  After `flush` every row agrees with memory. Memory is a cache of rows.
 *   ACCOUNTSTATS-3  A row of account_stats has one in account_hours for each hour in which it changed, with the sums
 *                   before the first change. Of a day that is no longer kept by the hour only the first row stays.
 *   ACCOUNTSTATS-4  trader_hours counts each account that has traded once, in the hour of its last trade. Such hours
 *                   only grow, so the counts do not depend on the order of the journals either.
 */
import type Database from 'better-sqlite3';
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import { PartedWords } from '../../shared/base/partedWords.ts';
import { bucketOf, HOUR_MS } from '../../shared/tables/buckets.ts';
import { ACCOUNT_HOURS, ACCOUNT_STATS, TRADER_HOURS } from '../../shared/tables/statsAccounts.ts';
import { insert, type NewRowOf, type RowOf, selectAll } from '../../shared/tables/table.ts';
import { HourRows } from './hourRows.ts';
import type { RecordContext } from './orders.ts';
import { REPLACE, RowInserter } from './rowInserter.ts';

/** About 40 MB. */
const MOST_CACHED = 200_000;
const MOST_SHARDS = 4096;
const ALL = selectAll(ACCOUNT_STATS);

type Sums = {
  readonly account: number;
  readonly shard: number;
  trades: number;
  volumeMicro: bigint;
  fundedMicro: bigint;
  realizedMicro: bigint;
  costMicro: bigint;
  reservedMicro: number;
  feeSharesMicro: bigint;
  feeShares: number;
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
  /** By account: the hour of its last trade, in any shard, counted from 1970; 0 if it has never traded. */
  readonly #tradeHours = new PartedWords();
  /** By hour: the change of its number of accounts since the last flush. */
  readonly #movedTraders = new Map<number, number>();
  readonly #moveTraders: Database.Statement<[NewRowOf<typeof TRADER_HOURS>]>;
  readonly #dropHour: Database.Statement<[number]>;
  readonly #write: RowInserter<typeof ACCOUNT_STATS>;
  readonly #hours: HourRows<typeof ACCOUNT_HOURS, 'account' | 'shard'>;

  constructor(db: Database.Database) {
    this.#select = db
      .prepare<[number, number], SumsRow>(`SELECT ${ALL.sql} FROM account_stats WHERE account = ? AND shard = ?`)
      .safeIntegers();
    this.#write = new RowInserter(db, ACCOUNT_STATS, REPLACE);
    this.#moveTraders = db.prepare(`${insert(TRADER_HOURS)}
      ON CONFLICT DO UPDATE SET accounts = accounts + excluded.accounts`);
    this.#dropHour = db.prepare('DELETE FROM trader_hours WHERE hour_ms = ? AND accounts = 0');
    const known = db.prepare<[], { account: number; hour: number }>(
      `SELECT account, max(trade_hour_ms) / ${HOUR_MS} AS hour FROM account_stats WHERE trade_hour_ms > 0
       GROUP BY account`,
    );
    known.safeIntegers(false);
    for (const { account, hour } of known.iterate()) this.#tradeHours.set(account, hour);
    this.#hours = new HourRows(db, ACCOUNT_HOURS, ['account', 'shard']);
  }

  traded(account: number, volumeMicro: number, record: RecordContext): void {
    const sums = this.#touched(account, record);
    sums.trades++;
    sums.volumeMicro += BigInt(volumeMicro);
    const hour = bucketOf(record.timeMs, HOUR_MS);
    if (hour <= sums.tradeHourMs) return;
    sums.tradeHourMs = hour;
    this.#moveTrader(account, hour);
  }

  /** ACCOUNTSTATS-4 */
  #moveTrader(account: number, hour: number): void {
    const before = this.#tradeHours.get(account) * HOUR_MS;
    if (before >= hour) return;
    this.#tradeHours.set(account, hour / HOUR_MS);
    this.#movedTraders.set(hour, (this.#movedTraders.get(hour) ?? 0) + 1);
    if (before !== 0) this.#movedTraders.set(before, (this.#movedTraders.get(before) ?? 0) - 1);
  }

  /** A trade of the account has fees of which a referrer earns so much. */
  sharesFees(account: number, micro: number, record: RecordContext): void {
    if (micro === 0) return;
    const sums = this.#touched(account, record);
    sums.feeSharesMicro += BigInt(micro);
    sums.feeShares++;
  }

  /** A deposit, or as a negative one a withdrawal or the fee of a movement. */
  funded(account: number, micro: bigint, record: RecordContext): void {
    this.#touched(account, record).fundedMicro += micro;
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
    // In the order of the table, so that neighbours are written into a page one after the other.
    for (const sums of this.#dirty.sort((a, b) => a.account - b.account || a.shard - b.shard)) {
      sums.isDirty = false;
      this.#write.add({
        ...rowOf(sums),
        fee_shares_micro: sums.feeSharesMicro,
        fee_shares: sums.feeShares,
        trade_hour_ms: sums.tradeHourMs,
        changed_ms: sums.changedMs,
      });
    }
    this.#dirty.length = 0;
    this.#write.flush();
    this.#hours.flush();
    for (const [hour_ms, accounts] of this.#movedTraders) {
      if (accounts !== 0) this.#moveTraders.run({ hour_ms, accounts });
      if (accounts < 0) this.#dropHour.run(hour_ms);
    }
    this.#movedTraders.clear();
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
      feeSharesMicro: row?.fee_shares_micro ?? 0n,
      feeShares: Number(row?.fee_shares ?? 0),
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
    this.#hours.add({ ...rowOf(sums), hour_ms: hour }, changedMs);
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
