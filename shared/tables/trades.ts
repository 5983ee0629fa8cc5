/**
 * Trades: one row per fill, with each party's part in it. Prices are in Yes terms: the No side of a fill pays or
 * receives the remainder of the unit.
 */
import { BLOB, BLOB_KEY, column, INTEGER, table } from './table.ts';

/**
 * A trade of an account with itself is found only by its taker. A query has to repeat this condition to use the index
 * of makers.
 */
export const BETWEEN_TWO = 'maker_account <> taker_account';

export const TRADES = table(
  'trades',
  {
    id: BLOB_KEY,
    market: column<number>('INTEGER NOT NULL REFERENCES markets'),
    match_type: INTEGER,
    yes_ticks: INTEGER,
    lots: INTEGER,
    maker_order_id: BLOB,
    maker_account: INTEGER,
    maker_side: INTEGER,
    maker_outcome: INTEGER,
    /** Fees are in the asset that the party receives. */
    maker_fee: INTEGER,
    taker_order_id: BLOB,
    taker_account: INTEGER,
    taker_side: INTEGER,
    taker_outcome: INTEGER,
    taker_fee: INTEGER,
    /** The time of the record. The fill was `after_us` later (shared/base/fillTimes.ts). */
    matched_ms: INTEGER,
    after_us: INTEGER,
  },
  {
    withoutRowid: true,
    indexes: [
      // The columns by which lists filter follow the key, so that rows that a list skips are not read.
      'INDEX trades_by_taker ON trades (taker_account, id, market, taker_side)',
      `INDEX trades_by_maker ON trades (maker_account, id, market, taker_side, taker_account) WHERE ${BETWEEN_TWO}`,
      'INDEX trades_by_market ON trades (market, id, taker_account, maker_account, taker_side)',
    ],
  },
);
