/**
 * The text of market frames (RULES.md 8.3 to 8.6). It is concatenated by hand, because formatting is most of the cost
 * of the stream; the tests check it against the schemas of frames.ts.
 */
import { MATCH_TYPE_NAMES, OUTCOME, type Outcome, SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { fillTime } from '../../shared/base/fillTimes.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { mulSafe, productToString } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { bookLevels } from '../shardlink/bookLevels.ts';
import { type Book, NO_TICK } from '../shardlink/bookViews.ts';
import { bookPrices } from '../shardlink/prices.ts';
import { bookChecksum } from './checksum.ts';
import * as rec from './marketRecord.ts';

/** The constants of a market that its frames need. */
export type StreamMarket = {
  readonly index: number;
  readonly id: string;
  readonly shard: number;
  readonly ticksPerUnit: number;
};

const ALL_LEVELS = Number.MAX_SAFE_INTEGER;

/** A `trade` or a `book_delta` frame; a delta includes its checksum if that is wanted and was kept. */
export function recordFrame(
  market: StreamMarket,
  sequence: number,
  words: Uint32Array,
  word: number,
  withChecksum: boolean,
): string {
  const kind = rec.recordKind(words[word + rec.MARKET_FRAME.kind]);
  const timeMs = readSafe(words, word + rec.MARKET_FRAME.timeMs);
  if (kind === rec.RECORD_KIND.TRADE) {
    return `${head('trade', market, sequence, timeMs)}${tradeData(market, words, word)}}}`;
  }
  const hasChecksum = withChecksum && (words[word + rec.MARKET_FRAME.ticks] & rec.REC_HAS_CHECKSUM) !== 0;
  const checksum = hasChecksum ? `,"checksum":${words[word + rec.MARKET_FRAME.checksum]}` : '';
  return `${head('book_delta', market, sequence, timeMs)}${deltaData(market, words, word)}${checksum}}}`;
}

/** @param book undefined for a book without levels */
export function bboFrame(
  market: StreamMarket,
  sequence: number,
  timeMs: number,
  book: Book | undefined,
  outcome: Outcome,
): string {
  const { ticksPerUnit } = market;
  const { best_bid, best_ask, spread, midpoint } = bookPrices(book, outcome, ticksPerUnit);
  const price = (text: string | null): string => (text === null ? 'null' : `"${text}"`);
  const bidQuantity = bestQuantity(market, book, outcome === OUTCOME.YES);
  const askQuantity = bestQuantity(market, book, outcome === OUTCOME.NO);
  return (
    `${head('bbo', market, sequence, timeMs)}"outcome_index":${outcome},"best_bid":${price(best_bid)}` +
    `,"best_ask":${price(best_ask)},"best_bid_quantity_atomic":${bidQuantity}` +
    `,"best_ask_quantity_atomic":${askQuantity},"spread":${price(spread)},"midpoint":${price(midpoint)}}}`
  );
}

/** A `book` frame: both outcomes in full depth, in the form of GET /v1/orders/book, and the checksum. */
export function bookFrame(market: StreamMarket, sequence: number, timeMs: number, book: Book | undefined): string {
  const yes = JSON.stringify(bookLevels(book, OUTCOME.YES, ALL_LEVELS));
  const no = JSON.stringify(bookLevels(book, OUTCOME.NO, ALL_LEVELS));
  return (
    `${head('book', market, sequence, timeMs)}"outcome_0":${yes},"outcome_1":${no}` +
    `,"checksum":${bookChecksum(book)}}}`
  );
}

/** The beginning of a frame, up to the first field of its data. */
function head(channel: string, market: StreamMarket, sequence: number, timeMs: number): string {
  return `{"channel":"${channel}","market_id":"${market.id}","sequence":${sequence},"timestamp":${timeMs},"data":{`;
}

/** The data of a trade, in terms of the taker's outcome. */
function tradeData({ shard, ticksPerUnit }: StreamMarket, words: Uint32Array, word: number): string {
  const packed = words[word + rec.MARKET_FRAME.kind];
  const outcome = rec.recordOutcome(packed);
  const ticks = ownTicks(outcome, words[word + rec.MARKET_FRAME.ticks] & rec.REC_TICKS_MASK, ticksPerUnit);
  const lots = readSafe(words, word + rec.MARKET_FRAME.lots);
  const id = recordId(shard, ID_KIND.TRADE, words, word);
  const afterMicros = words[word + rec.MARKET_FRAME.levelOrders];
  const filledAt = fillTime(readSafe(words, word + rec.MARKET_FRAME.timeMs), afterMicros);
  return (
    `"trade_id":"${id}","filled_at":"${filledAt}"` +
    `,"outcome_index":${outcome},"taker_side":"${SIDE_NAMES[rec.recordSide(packed)]}"` +
    `,"price":"${tickToPrice(ticks, ticksPerUnit)}","token_quantity_atomic":"${mulSafe(lots, ticksPerUnit)}"` +
    `,"notional_usdc_micro":"${mulSafe(lots, ticks)}","match_type":"${MATCH_TYPE_NAMES[rec.recordMatchType(packed)]}"`
  );
}

/** The data of a delta in terms of the order's outcome, then its level in Yes terms. */
function deltaData({ shard, ticksPerUnit }: StreamMarket, words: Uint32Array, word: number): string {
  const packed = words[word + rec.MARKET_FRAME.kind];
  const outcome = rec.recordOutcome(packed);
  const side = rec.recordSide(packed);
  const yesTicks = words[word + rec.MARKET_FRAME.ticks] & rec.REC_TICKS_MASK;
  const price = tickToPrice(ownTicks(outcome, yesTicks, ticksPerUnit), ticksPerUnit);
  const lots = readSafe(words, word + rec.MARKET_FRAME.lots);
  const remaining = readSafe(words, word + rec.MARKET_FRAME.remainingLots);
  const levelLots = readSafe(words, word + rec.MARKET_FRAME.levelLots);
  const levelSide = SIDE_NAMES[side === outcome ? SIDE.BUY : SIDE.SELL];
  const idShard = rec.recordIdShard(words[word + rec.MARKET_FRAME.ticks], shard);
  const orderId = recordId(idShard, ID_KIND.ORDER, words, word);
  return (
    `"event":"${rec.DELTA_EVENT_NAMES[rec.recordKind(packed)]}","order_id":"${orderId}"` +
    `,"outcome_index":${outcome},"side":"${SIDE_NAMES[side]}","price":"${price}"` +
    `,"token_quantity_atomic":"${mulSafe(lots, ticksPerUnit)}"` +
    `,"remaining_token_quantity_atomic":"${mulSafe(remaining, ticksPerUnit)}"` +
    `,"level":{"outcome_index":0,"side":"${levelSide}","price":"${tickToPrice(yesTicks, ticksPerUnit)}"` +
    `,"token_quantity_atomic":"${productToString(levelLots, ticksPerUnit)}"` +
    `,"num_orders":${words[word + rec.MARKET_FRAME.levelOrders]}}`
  );
}

function recordId(
  shard: number,
  kind: typeof ID_KIND.ORDER | typeof ID_KIND.TRADE,
  words: Uint32Array,
  word: number,
): string {
  return timeOrderedId(
    readSafe(words, word + rec.MARKET_FRAME.idMs),
    shard,
    kind,
    readSafe(words, word + rec.MARKET_FRAME.idSequence),
  );
}

/** The quantity at the best price of one side of the book in Yes terms, as JSON. */
function bestQuantity({ ticksPerUnit }: StreamMarket, book: Book | undefined, isBid: boolean): string {
  if (book === undefined) return 'null';
  const side = isBid ? book.bids : book.asks;
  const tick = isBid ? side.highest() : side.lowest();
  return tick === NO_TICK ? 'null' : `"${productToString(side.lots[tick], ticksPerUnit)}"`;
}
