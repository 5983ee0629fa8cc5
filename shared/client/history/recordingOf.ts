/**
 * The day of a market in the public history as a recording (stream/recording.ts), which `npm run replay` and the
 * backtest play: first the book with which the day began, then every trade and every change of the book.
 */
import { OUTCOME, type SIDE_NAMES } from '../../base/codes.ts';
import { fillTime, MICROS_PER_MS } from '../../base/fillTimes.ts';
import { ownTicks } from '../../base/orderMath.ts';
import { tickToPrice } from '../../base/units.ts';
import { BookReplica } from '../stream/bookReplica.ts';
import type { DeltaEvent, DeltaFrame, FrameLevel, TradeFrame } from '../stream/frames.ts';
import { type BookEventRow, RebuiltBook } from './rebuiltBook.ts';
import type { HistoryRow } from './rows.ts';

type TradeRow = HistoryRow<'trades'>;
type Source = { readonly marketId: string; readonly url: string };

const EVENTS: readonly string[] = ['open', 'fill', 'cancel', 'expire', 'dormant', 'wake'] satisfies DeltaEvent[];

/** @returns lines of a recording, whose times of arrival are those of the exchange */
export async function* recordingOf(
  { marketId, url }: Source,
  trades: AsyncIterable<TradeRow>,
  events: AsyncIterable<BookEventRow>,
): AsyncGenerator<string> {
  const waiting = trades[Symbol.asyncIterator]();
  let trade = await waiting.next();
  const opening = new RebuiltBook();
  let isBegun = false;
  const line = (timeMs: number, content: object) => `${JSON.stringify({ received_at: timeMs, ...content })}\n`;
  for await (const row of events) {
    const timeMs = Number(row.time_ms);
    if (row.event === 'resting') {
      opening.apply(row);
      continue;
    }
    if (!isBegun) {
      const start = { event: 'start', format: 1, market_id: marketId, ticks_per_unit: row.ticks_per_unit, url };
      yield line(timeMs, start);
      yield line(timeMs, { frame: bookOf(opening, marketId, row, timeMs) });
      isBegun = true;
    }
    for (; trade.done !== true && trade.value.sequence < row.sequence; trade = await waiting.next()) {
      yield line(timeMs, { frame: tradeFrame(trade.value, timeMs) });
    }
    yield line(timeMs, { frame: deltaFrame(row, timeMs) });
  }
  if (!isBegun) throw new Error(`${marketId} has no event of its book on this day`);
}

/** The book before the first event of the day. */
function bookOf(
  book: RebuiltBook,
  marketId: string,
  { ticks_per_unit, sequence, event }: BookEventRow,
  timeMs: number,
) {
  const levels = (side: 'bid' | 'ask'): FrameLevel[] =>
    book.levels(side).map(({ ticks, lots, orders }) => ({
      price: tickToPrice(ticks, ticks_per_unit),
      num_orders: orders.length,
      token_quantity_atomic: String(lots * BigInt(ticks_per_unit)),
    }));
  const replica = new BookReplica();
  const before = Number(book.sequence ?? sequence - (event === 'fill' ? 2n : 1n));
  const outcome_0 = { bids: levels('bid'), asks: levels('ask') };
  const data = { outcome_0, outcome_1: { bids: [], asks: [] }, checksum: book.checksum(ticks_per_unit) };
  replica.apply({ channel: 'book', market_id: marketId, sequence: before, timestamp: timeMs, data });
  return replica.toFrame(marketId, timeMs);
}

function tradeFrame(row: TradeRow, timeMs: number): TradeFrame {
  const outcome = row.outcome_index === 0 ? OUTCOME.YES : OUTCOME.NO;
  const ticks = ownTicks(outcome, row.yes_ticks, row.ticks_per_unit);
  const match_type = row.match_type === 'mint' || row.match_type === 'merge' ? row.match_type : 'standard';
  const data = {
    trade_id: row.trade_id,
    filled_at: fillTime(timeMs, Number(row.time_us) - timeMs * MICROS_PER_MS),
    outcome_index: outcome,
    taker_side: sideOf(row.taker_side),
    price: tickToPrice(ticks, row.ticks_per_unit),
    token_quantity_atomic: String(row.lots * BigInt(row.ticks_per_unit)),
    notional_usdc_micro: String(row.lots * BigInt(ticks)),
    match_type,
  } as const;
  return { channel: 'trade', market_id: row.market_id, sequence: Number(row.sequence), timestamp: timeMs, data };
}

function deltaFrame(row: BookEventRow, timeMs: number): DeltaFrame {
  const { ticks_per_unit } = row;
  const { event } = row;
  if (!isDelta(event)) throw new Error(`frame ${row.sequence}: ${event} is no known event`);
  const outcome = row.outcome_index === 0 ? OUTCOME.YES : OUTCOME.NO;
  const tokens = (lots: bigint): string => String(lots * BigInt(ticks_per_unit));
  const data = {
    event,
    order_id: row.order_id,
    outcome_index: outcome,
    side: sideOf(row.side),
    price: tickToPrice(ownTicks(outcome, row.yes_ticks, ticks_per_unit), ticks_per_unit),
    token_quantity_atomic: tokens(row.lots),
    remaining_token_quantity_atomic: tokens(row.remaining_lots),
    level: {
      outcome_index: 0,
      side: row.book_side === 'bid' ? 'BUY' : 'SELL',
      price: tickToPrice(row.yes_ticks, ticks_per_unit),
      token_quantity_atomic: tokens(row.level_lots),
      num_orders: row.level_orders,
    },
  } as const;
  return { channel: 'book_delta', market_id: row.market_id, sequence: Number(row.sequence), timestamp: timeMs, data };
}

function isDelta(event: string): event is DeltaEvent {
  return EVENTS.includes(event);
}

function sideOf(name: string): (typeof SIDE_NAMES)[number] {
  return name === 'BUY' ? 'BUY' : 'SELL';
}
