/**
 * Projection of the trades: one row for each fill, with the facts about both parties. A row never changes.
 * Owner: the projector thread.
 *
 * Invariants:
 *   TRADEROWS-1  lots > 0 and yes_ticks > 0.
 *   TRADEROWS-2  match_type is standard exactly when maker_side <> taker_side; otherwise both buy, or both sell.
 */
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { MATCH_TYPE } from '../../shared/base/codes.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { ID_KIND, writeTimeOrderedId } from '../../shared/base/ids.ts';
import { TRADES } from '../../shared/tables/trades.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { OpenOrder } from './orderPool.ts';
import type { RecordContext } from './orders.ts';
import { ROWS_PER_RUN, RowInserter } from './rowInserter.ts';

export class TradeProjection {
  readonly #insert: RowInserter<typeof TRADES>;
  /** The ids of the rows that wait, used in turn: an array of its own for each would be memory outside of the heap. */
  readonly #ids = Array.from({ length: ROWS_PER_RUN }, () => new Uint8Array(UUID_BYTES));
  #count = 0;

  constructor(db: Database.Database) {
    this.#insert = new RowInserter(db, TRADES);
  }

  /** Adds the row of a FILL event. */
  add(
    words: Uint32Array,
    word: number,
    maker: OpenOrder,
    taker: OpenOrder,
    afterMicros: number,
    record: RecordContext,
  ): void {
    const lots = readSafe(words, word + EVENT.FILL.lots);
    const yesTicks = words[word + EVENT.FILL.yesTicks];
    const matchType = words[word + EVENT.FILL.matchType];
    assert(lots > 0 && yesTicks > 0, 'TRADEROWS-1: a trade has a quantity and a price');
    assert((matchType === MATCH_TYPE.STANDARD) === (maker.side !== taker.side), 'TRADEROWS-2: sides give the type');
    const tradeSequence = readSafe(words, word + EVENT.FILL.tradeSequence);
    const id = this.#ids[this.#count++ % ROWS_PER_RUN];
    writeTimeOrderedId(id, 0, record.timeMs, record.shard, ID_KIND.TRADE, tradeSequence);
    this.#insert.add({
      id,
      market: words[word + ANY_EVENT.market],
      match_type: matchType,
      yes_ticks: yesTicks,
      lots,
      maker_order_id: maker.id,
      maker_account: maker.account,
      maker_side: maker.side,
      maker_outcome: maker.outcome,
      maker_fee: readSafe(words, word + EVENT.FILL.makerFee),
      taker_order_id: taker.id,
      taker_account: taker.account,
      taker_side: taker.side,
      taker_outcome: taker.outcome,
      taker_fee: readSafe(words, word + EVENT.FILL.takerFee),
      matched_ms: record.timeMs,
      after_us: afterMicros,
    });
  }

  flush(): void {
    this.#insert.flush();
  }
}
