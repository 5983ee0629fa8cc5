/** The SQL of referrers' earnings (RULES.md 14.44). Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { REFERRAL_BPS, shareOfFee } from '../../shared/base/feeShare.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { HOUR_MS } from '../../shared/tables/buckets.ts';
import { MARKETS } from '../../shared/tables/markets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { BETWEEN_TWO, TRADES } from '../../shared/tables/trades.ts';
import { firstIdAfter, SINCE_EVER } from '../base/page.ts';

/** `accounts` are the referred accounts. */
export type EarningsTask = { readonly accounts: readonly number[]; readonly limit: number; readonly offset: number };
type Earning = {
  /** The account that paid the fees. */
  readonly account: number;
  readonly tradeId: string;
  readonly micro: number;
  readonly filledAt: string;
};
type Earnings = { readonly rows: readonly Earning[]; readonly total: number; readonly totalMicro: bigint };

const TRADE = select(
  TRADES,
  'id',
  'yes_ticks',
  'maker_account',
  'maker_side',
  'maker_outcome',
  'maker_fee',
  'taker_account',
  'taker_side',
  'taker_outcome',
  'taker_fee',
  'matched_ms',
  'after_us',
);
const UNITS = select(MARKETS, 'ticks_per_unit');
type TradeRow = SelectedBy<typeof TRADE> & SelectedBy<typeof UNITS>;
type Found = { readonly account: number; readonly row: TradeRow };
type SumsRow = { fee_shares: bigint | null; fee_shares_micro: bigint | null; trade_hour_ms: bigint | null };
type Referred = { readonly account: number; readonly tradeHourMs: number };

const OLDER = 'id > @after AND id < @before';
/** Rows read at once; some fees may be too small for a share. */
const CHUNK_ROWS = 128;

export class ReferralQueries {
  readonly #sums: Database.Statement<[number], SumsRow>;
  readonly #trades: Database.Statement<[{ account: number; after: Uint8Array; before: Uint8Array }], TradeRow>;

  constructor(db: Database.Database) {
    this.#sums = db
      .prepare<[number], SumsRow>(
        `SELECT sum(fee_shares) AS fee_shares, sum(fee_shares_micro) AS fee_shares_micro,
           max(trade_hour_ms) AS trade_hour_ms FROM account_stats WHERE account = ?`,
      )
      .safeIntegers();
    this.#trades = db.prepare(`
      SELECT party.*, ${UNITS.sql} FROM (
        SELECT ${TRADE.sql}, market FROM trades INDEXED BY trades_by_taker WHERE taker_account = @account AND ${OLDER}
        UNION ALL
        SELECT ${TRADE.sql}, market FROM trades INDEXED BY trades_by_maker
        WHERE maker_account = @account AND ${BETWEEN_TWO} AND ${OLDER}
        ORDER BY id DESC LIMIT ${CHUNK_ROWS}) AS party JOIN markets USING (market)
      ORDER BY id DESC`);
  }

  /** Newest first. */
  earnings({ accounts, limit, offset }: EarningsTask): Earnings {
    let total = 0;
    let totalMicro = 0n;
    const active: Referred[] = [];
    for (const account of accounts) {
      const sums = this.#sums.get(account)!;
      if (sums.fee_shares === null || sums.fee_shares === 0n) continue;
      total += Number(sums.fee_shares);
      totalMicro += sums.fee_shares_micro!;
      active.push({ account, tradeHourMs: Number(sums.trade_hour_ms) });
    }
    const rows = this.#newest(active, offset + limit).slice(offset);
    return { rows: rows.map(earningOf), total, totalMicro };
  }

  /** Merges over all accounts. The last to trade comes first; after it most accounts have nothing recent enough. */
  #newest(referred: Referred[], rows: number): Found[] {
    let found: Found[] = [];
    for (const { account, tradeHourMs } of referred.sort((a, b) => b.tradeHourMs - a.tradeHourMs)) {
      const oldest = found.length === rows ? found.at(-1)!.row : null;
      if (oldest !== null && tradeHourMs + HOUR_MS <= oldest.matched_ms) break;
      found.push(...this.#newestOf(account, oldest?.id ?? firstIdAfter(SINCE_EVER), rows));
      found = found.sort((a, b) => Buffer.compare(b.row.id, a.row.id)).slice(0, rows);
    }
    return found;
  }

  /** Earnings after a trade, at most this many. */
  #newestOf(account: number, after: Uint8Array, rows: number): Found[] {
    const found: Found[] = [];
    let before: Uint8Array = Buffer.alloc(after.length, 0xff);
    for (;;) {
      const chunk = this.#trades.all({ account, after, before });
      for (const row of chunk) if (shareMicro(row, account) > 0) found.push({ account, row });
      if (found.length >= rows || chunk.length < CHUNK_ROWS) return found;
      before = chunk.at(-1)!.id;
    }
  }
}

function earningOf({ account, row }: Found): Earning {
  const filledAt = fillTime(row.matched_ms, row.after_us);
  return { account, tradeId: bytesToUuid(row.id), micro: shareMicro(row, account), filledAt };
}

function shareMicro(row: TradeRow, account: number): number {
  const { maker_side, maker_outcome, maker_fee, taker_side, taker_outcome, taker_fee } = row;
  let micro = 0;
  if (row.maker_account === account) micro += shareOf(row, maker_side, maker_outcome, maker_fee);
  if (row.taker_account === account) micro += shareOf(row, taker_side, taker_outcome, taker_fee);
  return micro;
}

function shareOf({ yes_ticks, ticks_per_unit }: TradeRow, side: number, outcome: number, fee: number): number {
  return shareOfFee(side, fee, ownTicks(outcome, yes_ticks, ticks_per_unit), ticks_per_unit, REFERRAL_BPS);
}
