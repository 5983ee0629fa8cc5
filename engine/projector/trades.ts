/**
 * Projection of the trades: one row per fill, with both parties as they stood in it. A row never changes.
 * Owner: the projector thread.
 */
import type Database from 'better-sqlite3';
import {
  EV_FLAGS,
  EV_MARKET,
  FILL_LOTS,
  FILL_MAKER_FEE,
  FILL_TAKER_FEE,
  FILL_TRADE_SEQUENCE,
  FILL_YES_TICKS,
} from '../../shared/events.ts';
import { ID_KIND, timeOrderedIdBytes } from '../../shared/ids.ts';
import { readSafe } from '../../shared/record.ts';
import type { OpenOrder, RecordContext } from './orders.ts';

export class TradeProjection {
  readonly #insert: Database.Statement;

  constructor(db: Database.Database) {
    this.#insert = db.prepare(`
      INSERT INTO trades (
        id, market, match_type, yes_ticks, lots, maker_order_id, maker_account, maker_side, maker_outcome, maker_fee,
        taker_order_id, taker_account, taker_side, taker_outcome, taker_fee, matched_ms
      ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  }

  /** A FILL event. */
  add(words: Uint32Array, word: number, maker: OpenOrder, taker: OpenOrder, record: RecordContext): void {
    const tradeSequence = readSafe(words, word + FILL_TRADE_SEQUENCE);
    this.#insert.run(
      timeOrderedIdBytes(record.timeMs, record.shard, ID_KIND.TRADE, tradeSequence),
      words[word + EV_MARKET],
      words[word + EV_FLAGS],
      words[word + FILL_YES_TICKS],
      readSafe(words, word + FILL_LOTS),
      maker.id,
      maker.account,
      maker.side,
      maker.outcome,
      readSafe(words, word + FILL_MAKER_FEE),
      taker.id,
      taker.account,
      taker.side,
      taker.outcome,
      readSafe(words, word + FILL_TAKER_FEE),
      record.timeMs,
    );
  }
}
