/**
 * Projection of the positions (shared/tables/positions.ts): the quantity that each account holds, its cost, and the
 * realized profit. Owner: the projector thread.
 *
 * Fills, splits and merges change a position directly. A payout is recognized by the ACCOUNT event after which the
 * tokens of a decided market are gone: claims and settlements also remove losing tokens, which pay nothing.
 *
 * Invariants:
 *   POSITIONROWS-1  The quantity equals the engine's, available plus reserved. If the fills give a different one, which
 *                only a bug or a lost record can cause, the engine is right: the difference is reported, and the
 *                position continues with the engine's quantity and an unknown cost (POSITIONROWS-5).
 *   POSITIONROWS-2  An empty position has no cost.
 *   POSITIONROWS-3  After `flush` every row agrees with memory, which is a cache of rows: a flush may empty it.
 *   POSITIONROWS-4  A position has a row in position_hours for each hour in which it changed, except the hour in which
 *                it was opened; the row has the quantity before the first change. If a day is no longer kept by the
 *                hour, only its first row stays.
 *   POSITIONROWS-5  A position that was open when history began has an unknown cost until its quantity reaches zero or
 *                changes sides; from then on its cost is known, but the realized profit is not.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { FEE_ACCOUNT, MOVEMENT, OUTCOME, SIDE } from '../../shared/base/codes.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { NO_ROW, PairTable } from '../../shared/base/pairTable.ts';
import { payoutPartMicro } from '../../shared/base/payout.ts';
import { bucketOf, HOUR_MS } from '../../shared/tables/buckets.ts';
import { COST_BASIS, POSITION_HOURS, POSITIONS } from '../../shared/tables/positions.ts';
import { type RowOf, selectAll } from '../../shared/tables/table.ts';
import { correct, exchange, type Holding } from './averageCost.ts';
import type { Redemption } from './fundMovements.ts';
import { HourRows } from './hourRows.ts';
import type { OpenOrder } from './orderPool.ts';
import type { RecordContext } from './orders.ts';
import { REPLACE, RowInserter } from './rowInserter.ts';
import { conversionCosts } from './setCosts.ts';
import type { AccountStats } from './statsAccounts.ts';
import type { MarketStats } from './statsMarkets.ts';

/** With positions of more pairs in memory than this, the next flush empties the cache: about 30 MB. */
const MOST_CACHED = 100_000;
const ALL = selectAll(POSITIONS);

/** POSITIONROWS-1 */
export type PositionDifference = {
  readonly account: number;
  readonly market: number;
  readonly outcome: number;
  readonly shard: number;
  readonly shardSequence: number;
  readonly foundAtomic: string;
  readonly engineAtomic: string;
};
export type OnDifference = (difference: PositionDifference) => void;

type Position = Holding & {
  readonly account: number;
  readonly market: number;
  readonly outcome: number;
  costBasis: number;
  openedMs: number;
  /** 0 while there is no row. */
  changedMs: number;
  isPaid: boolean;
  hasTraded: boolean;
  isDirty: boolean;
};

/** The part of one market in a conversion of an event set. */
export type ConvertedPart = {
  readonly account: number;
  readonly market: number;
  readonly outcome: number;
  readonly atomic: number;
  /** The change of its USDC. */
  readonly micro: number;
};

/** The row as `safeIntegers` reads it. */
type PositionRow = Record<keyof RowOf<typeof POSITIONS>, bigint>;

export class PositionProjection {
  readonly #accounts: AccountStats;
  readonly #markets: MarketStats;
  readonly #onDifference: OnDifference;
  /** By outcome and by the row of account and market; null if the position is not in memory. */
  #cached: readonly [(Position | null)[], (Position | null)[]] = [[], []];
  #pairs = new PairTable();
  readonly #dirty: Position[] = [];
  readonly #select: Database.Statement<[number, number, number], PositionRow>;
  readonly #write: RowInserter<typeof POSITIONS>;
  readonly #hours: HourRows<typeof POSITION_HOURS, 'account' | 'market' | 'outcome'>;

  constructor(db: Database.Database, accounts: AccountStats, markets: MarketStats, onDifference: OnDifference) {
    this.#accounts = accounts;
    this.#markets = markets;
    this.#onDifference = onDifference;
    this.#select = db
      .prepare<[number, number, number], PositionRow>(
        `SELECT ${ALL.sql} FROM positions WHERE account = ? AND market = ? AND outcome = ?`,
      )
      .safeIntegers();
    this.#write = new RowInserter(db, POSITIONS, REPLACE);
    this.#hours = new HourRows(db, POSITION_HOURS, ['account', 'market', 'outcome']);
  }

  /** A position that is open when history begins. It counts as held at all earlier times. */
  open(account: number, market: number, outcome: number, atomic: number, record: RecordContext): void {
    if (account === FEE_ACCOUNT || atomic === 0) return;
    const position = this.#position(account, market, outcome);
    assert(position.changedMs === 0, 'POSITIONROWS-5: a history begins with what is held');
    position.quantityAtomic = BigInt(atomic);
    position.costBasis = COST_BASIS.UNKNOWN;
    position.openedMs = 0;
    position.changedMs = record.timeMs;
    position.isDirty = true;
    this.#dirty.push(position);
    this.#counted(position, 0n);
    this.#accounts.earned(account, 0n, 0n, record);
  }

  /** Books one party's part in a fill, at the price of its own outcome. */
  fill(party: OpenOrder, lots: number, ownTicks: number, fee: number, record: RecordContext): void {
    const { account, market, outcome, side, ticksPerUnit } = party;
    const notionalMicro = mulSafe(lots, ownTicks);
    const tokens = mulSafe(lots, ticksPerUnit);
    const position =
      side === SIDE.BUY
        ? this.#exchange(account, market, outcome, tokens - fee, tokens, notionalMicro, record)
        : this.#exchange(account, market, outcome, -tokens, -tokens, fee - notionalMicro, record);
    position.hasTraded = true;
  }

  /** Books a split or a merge: each token of a set costs, or brings, half a USDC. */
  convert(account: number, market: number, movement: number, amountAtomic: number, record: RecordContext): void {
    const sign = movement === MOVEMENT.SPLIT ? 1 : -1;
    const half = Math.floor(amountAtomic / 2);
    for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
      const micro = outcome === OUTCOME.YES ? amountAtomic - half : half;
      this.#exchange(account, market, outcome, sign * amountAtomic, sign * amountAtomic, sign * micro, record);
    }
  }

  /** Books a conversion of an event set: what each market costs or brings depends on the others (setCosts.ts). */
  convertSet(parts: readonly ConvertedPart[], record: RecordContext): void {
    const received = parts.reduce((sum, { micro }) => sum + micro, 0);
    const priced = parts.map(({ account, market, outcome, atomic }) => {
      const { costMicro, quantityAtomic: held } = this.#position(account, market, outcome);
      const isLeaving = atomic < 0 && held > 0n;
      const isWhole = held <= BigInt(-atomic);
      const leavingMicro = isLeaving ? (isWhole ? costMicro : (costMicro * BigInt(-atomic)) / held) : 0n;
      return { atomic, leavingMicro };
    });
    const paid = conversionCosts(priced, BigInt(received));
    for (const [index, { account, market, outcome, atomic }] of parts.entries())
      this.#exchange(account, market, outcome, atomic, atomic, Number(paid[index]), record);
  }

  /** Takes back one party's part in a fill; like the fill, this concerns one outcome. */
  unwind(account: number, market: number, yes: number, no: number, micro: number, record: RecordContext): void {
    assert(yes === 0 || no === 0, 'POSITIONROWS-1: a party of a fill has tokens of one outcome');
    const outcome = no === 0 ? OUTCOME.YES : OUTCOME.NO;
    this.#exchange(account, market, outcome, yes + no, yes + no, 0 - micro, record);
  }

  /**
   * Takes over the engine's quantities of an account in a market.
   * @param payoutYesPpm null until the market is decided
   */
  holds(
    account: number,
    market: number,
    yesAtomic: number,
    noAtomic: number,
    payoutYesPpm: number | null,
    record: RecordContext,
  ): Redemption | null {
    if (account === FEE_ACCOUNT) return null;
    const isGone = payoutYesPpm !== null && yesAtomic === 0 && noAtomic === 0;
    const redemption = isGone ? this.#paid(account, market, payoutYesPpm, record) : null;
    this.#agree(account, market, OUTCOME.YES, yesAtomic, record);
    this.#agree(account, market, OUTCOME.NO, noAtomic, record);
    return redemption;
  }

  /** The account's tokens of a decided market have been paid out. */
  #paid(account: number, market: number, payoutYesPpm: number, record: RecordContext): Redemption | null {
    const yes = Number(this.#position(account, market, OUTCOME.YES).quantityAtomic);
    const no = Number(this.#position(account, market, OUTCOME.NO).quantityAtomic);
    const forYes = payoutPartMicro(OUTCOME.YES, yes, no, payoutYesPpm);
    const forNo = payoutPartMicro(OUTCOME.NO, yes, no, payoutYesPpm);
    if (yes !== 0) this.#pay(account, market, OUTCOME.YES, yes, forYes, record);
    if (no !== 0) this.#pay(account, market, OUTCOME.NO, no, forNo, record);
    return yes === 0 && no === 0 ? null : { yesAtomic: yes, noAtomic: no, paidMicro: forYes + forNo };
  }

  #pay(
    account: number,
    market: number,
    outcome: number,
    atomic: number,
    paidMicro: number,
    record: RecordContext,
  ): void {
    this.#exchange(account, market, outcome, -atomic, -atomic, -paidMicro, record);
    this.#position(account, market, outcome).isPaid = true;
  }

  flush(): void {
    for (const position of this.#dirty.sort(byKey)) {
      position.isDirty = false;
      this.#write.add({
        account: position.account,
        market: position.market,
        outcome: position.outcome,
        quantity_atomic: position.quantityAtomic,
        gross_milli: position.grossMilli,
        entry_atto: position.entryAtto,
        cost_micro: position.costMicro,
        realized_micro: position.realizedMicro,
        is_paid: position.isPaid ? 1 : 0,
        has_traded: position.hasTraded ? 1 : 0,
        cost_basis: position.costBasis,
        opened_ms: position.openedMs,
        changed_ms: position.changedMs,
      });
    }
    this.#dirty.length = 0;
    this.#write.flush();
    this.#hours.flush();
    if (this.#pairs.count > MOST_CACHED) {
      this.#cached = [[], []];
      this.#pairs = new PairTable();
    }
  }

  #exchange(
    account: number,
    market: number,
    outcome: number,
    netAtomic: number,
    grossAtomic: number,
    paidMicro: number,
    record: RecordContext,
  ): Position {
    const position = this.#position(account, market, outcome);
    this.#touch(position, record.timeMs);
    const { costMicro, quantityAtomic, realizedMicro } = position;
    exchange(position, BigInt(netAtomic), BigInt(grossAtomic), BigInt(paidMicro));
    this.#counted(position, quantityAtomic);
    const hasLeft = position.quantityAtomic === 0n || position.quantityAtomic > 0n !== quantityAtomic > 0n;
    if (hasLeft && position.costBasis === COST_BASIS.UNKNOWN) position.costBasis = COST_BASIS.RECOVERED;
    this.#accounts.earned(account, position.realizedMicro - realizedMicro, position.costMicro - costMicro, record);
    return position;
  }

  /**
   * POSITIONROWS-1, for a position in memory. A position that is not in memory has not changed since it was read or
   * written.
   */
  #agree(account: number, market: number, outcome: number, atomic: number, record: RecordContext): void {
    const row = this.#pairs.find(account, market);
    const position = row === NO_ROW ? null : this.#cached[outcome][row];
    if (position === null || Number(position.quantityAtomic) === atomic) return;
    const { shard, shardSequence, timeMs } = record;
    const { costMicro, quantityAtomic: foundAtomic } = position;
    const found = { foundAtomic: String(foundAtomic), engineAtomic: String(atomic) };
    this.#onDifference({ account, market, outcome, shard, shardSequence, ...found });
    this.#touch(position, timeMs);
    correct(position, BigInt(atomic));
    this.#counted(position, foundAtomic);
    position.costBasis = atomic === 0 ? COST_BASIS.RECOVERED : COST_BASIS.UNKNOWN;
    this.#accounts.earned(account, 0n, position.costMicro - costMicro, record);
    // No USDC has moved (shared/tables/statsAccounts.ts).
    this.#accounts.funded(account, position.costMicro - costMicro, record);
  }

  /** MARKETSTATS-3: the account is counted once for both outcomes. */
  #counted({ account, market, outcome, quantityAtomic }: Position, beforeAtomic: bigint): void {
    const isHeld = quantityAtomic > 0n;
    if (isHeld === beforeAtomic > 0n) return;
    const other = outcome === OUTCOME.YES ? OUTCOME.NO : OUTCOME.YES;
    if (this.#position(account, market, other).quantityAtomic <= 0n) this.#markets.held(market, isHeld ? 1 : -1);
  }

  #position(account: number, market: number, outcome: number): Position {
    const row = this.#pairs.rowOf(account, market);
    if (row === this.#cached[0].length) for (const ofOutcome of this.#cached) ofOutcome.push(null);
    const known = this.#cached[outcome][row];
    if (known !== null) return known;
    const position = this.#read(account, market, outcome);
    this.#cached[outcome][row] = position;
    return position;
  }

  #read(account: number, market: number, outcome: number): Position {
    const row = this.#select.get(account, market, outcome);
    return {
      account,
      market,
      outcome,
      quantityAtomic: row?.quantity_atomic ?? 0n,
      grossMilli: row?.gross_milli ?? 0n,
      entryAtto: row?.entry_atto ?? 0n,
      costMicro: row?.cost_micro ?? 0n,
      realizedMicro: row?.realized_micro ?? 0n,
      costBasis: Number(row?.cost_basis ?? COST_BASIS.KNOWN),
      openedMs: Number(row?.opened_ms ?? 0),
      changedMs: Number(row?.changed_ms ?? 0),
      isPaid: row?.is_paid === 1n,
      hasTraded: row?.has_traded === 1n,
      isDirty: false,
    };
  }

  /** POSITIONROWS-4; called before a change. */
  #touch(position: Position, timeMs: number): void {
    if (!position.isDirty) this.#dirty.push(position);
    position.isDirty = true;
    const { account, market, outcome, quantityAtomic: quantity_atomic, changedMs } = position;
    if (timeMs <= changedMs) return;
    position.changedMs = timeMs;
    if (changedMs === 0) {
      position.openedMs = timeMs;
      return;
    }
    const hour = bucketOf(timeMs, HOUR_MS);
    if (changedMs >= hour) return;
    this.#hours.add({ account, market, outcome, hour_ms: hour, quantity_atomic }, changedMs);
  }
}

/** Sorts as the table does, so that neighbours are written into a page one after the other. */
function byKey(a: Position, b: Position): number {
  return a.account - b.account || a.market - b.market || a.outcome - b.outcome;
}
