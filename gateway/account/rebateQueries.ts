/**
 * The SQL of rebates (RULES.md 14.45): the trades that an account made in markets with a rate. They are found along the
 * account's own index, which has the market of each, a slice at a time. Runs in a thread of the query pool.
 */
import type Database from 'better-sqlite3';
import { shareOfFee } from '../../shared/base/feeShare.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { rebateIdBytes, sequenceOfId, shardOfId } from '../../shared/base/ids.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { BETWEEN_TWO, TRADES } from '../../shared/tables/trades.ts';
import { firstIdAfter } from '../base/page.ts';
import { MARKET } from '../markets/volumeQueries.ts';

/** A market's rate, valid from a moment until the market's next rate. */
type Rate = { readonly market: number; readonly sinceMs: number; readonly bps: number };

export type RebatesTask = {
  readonly account: number;
  /** By market, then by time. */
  readonly rates: readonly Rate[];
  /** The last trade numbers to look at, by shard; null in the first slice. */
  readonly trades: readonly number[] | null;
  /** The slice starts with the trade before this one; null for the newest. */
  readonly before: Uint8Array | null;
  /** Of the rebates found, `skip` are left out, and then `limit` are returned. */
  readonly skip: number;
  readonly take: number;
};
export type Rebate = {
  readonly id: string;
  readonly tradeId: string;
  readonly marketId: string;
  readonly bps: number;
  readonly micro: number;
  readonly filledAt: string;
};
export type RebatesSlice = {
  readonly trades: readonly number[];
  readonly before: Uint8Array | null;
  readonly isLast: boolean;
  readonly count: number;
  readonly micro: number;
  readonly rows: readonly Rebate[];
};

const TRADE = select(
  TRADES,
  'id',
  'market',
  'yes_ticks',
  'maker_side',
  'maker_outcome',
  'maker_fee',
  'matched_ms',
  'after_us',
);
type TradeRow = SelectedBy<typeof TRADE> & SelectedBy<typeof MARKET>;
type Place = { readonly id: Uint8Array; readonly market: number };
type Range = { readonly account: number; readonly after: Uint8Array; readonly before: Uint8Array };

/** Rows of the index per slice: about ten milliseconds if all of them have a rebate. */
const SLICE_ROWS = 4000;

export class RebateQueries {
  readonly #sliceRows: number;
  readonly #heads: Database.Statement<[], { shard: number; trade_sequence: number }>;
  readonly #places: Database.Statement<[Range], Place>;
  readonly #trade: Database.Statement<[Uint8Array], TradeRow>;

  constructor(db: Database.Database, sliceRows = SLICE_ROWS) {
    this.#sliceRows = sliceRows;
    this.#heads = db.prepare('SELECT shard, trade_sequence FROM trade_heads');
    this.#places = db.prepare(`
      SELECT id, market FROM trades INDEXED BY trades_by_maker
      WHERE maker_account = @account AND ${BETWEEN_TWO} AND id > @after AND id < @before
      ORDER BY id DESC LIMIT ${sliceRows}`);
    this.#trade = db.prepare(`SELECT ${TRADE.sql}, ${MARKET.sql} FROM trades JOIN markets USING (market) WHERE id = ?`);
  }

  /** Newest first. */
  slice({ account, rates, trades: known, before, skip, take }: RebatesTask): RebatesSlice {
    const trades = known ?? this.#lastTrades();
    const sinceMs = rates.reduce((first, rate) => Math.min(first, rate.sinceMs), Number.POSITIVE_INFINITY);
    const range = { account, after: firstIdAfter(sinceMs - 1), before: before ?? firstIdAfter(2 ** 48 - 2) };
    const places = this.#places.all(range);
    const ofMarkets = Map.groupBy(rates, ({ market }) => market);
    const rows: Rebate[] = [];
    let [count, micro] = [0, 0];
    for (const { id, market } of places) {
      const ofMarket = ofMarkets.get(market);
      if (ofMarket === undefined || sequenceOfId(id) > (trades[shardOfId(id)] ?? 0)) continue;
      const rebate = rebateOf(this.#trade.get(id)!, ofMarket);
      if (rebate.micro === 0) continue;
      if (count >= skip && rows.length < take) rows.push(rebate);
      count++;
      micro += rebate.micro;
    }
    return { trades, before: places.at(-1)?.id ?? null, isLast: places.length < this.#sliceRows, count, micro, rows };
  }

  #lastTrades(): number[] {
    const trades: number[] = [];
    for (const { shard, trade_sequence } of this.#heads.all()) trades[shard] = trade_sequence;
    return trades;
  }
}

function rebateOf(row: TradeRow, rates: readonly Rate[]): Rebate {
  const { yes_ticks, ticks_per_unit, maker_side, maker_outcome, maker_fee, matched_ms, after_us } = row;
  const bps = rates.findLast(({ sinceMs }) => sinceMs <= matched_ms)?.bps ?? 0;
  const ticks = ownTicks(maker_outcome, yes_ticks, ticks_per_unit);
  return {
    id: bytesToUuid(rebateIdBytes(row.id)),
    tradeId: bytesToUuid(row.id),
    marketId: bytesToUuid(row.uuid),
    bps,
    micro: shareOfFee(maker_side, maker_fee, ticks, ticks_per_unit, bps),
    filledAt: fillTime(matched_ms, after_us),
  };
}
