/**
 * Turns the records of one shard into rows of the public history (shared/base/historyTables.ts). It keeps the markets
 * and the open orders, so its memory grows with their number and not with the journal.
 * Owner: the history thread.
 *
 * Invariants:
 *   SHARDHISTORY-1  Rows depend on the records alone, never on when or in how many steps they are read.
 *   SHARDHISTORY-2  The first row of a market on a day comes after the rows of its state when the day began.
 *   SHARDHISTORY-3  A market has a row of its book for the end of each minute in which the book changed.
 */
import { assert } from '../../shared/base/assert.ts';
import {
  CLOSE_REASON,
  MARKET_STATUS_NAMES,
  MATCH_TYPE_NAMES,
  SIDE_NAMES,
  STAGE_NAMES,
  stageAfter,
} from '../../shared/base/codes.ts';
import { filledMicros } from '../../shared/base/fillTimes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { BOOK_LEVELS, type HistoryTable } from '../../shared/base/historyTables.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { bucketOf, MINUTE_MS } from '../../shared/tables/buckets.ts';
import { isBidInYes, kindOutcome, kindSide } from '../../shared/wire/commands.ts';
import {
  ANY_EVENT,
  assertEvent,
  decodeEvent,
  EVENT,
  type Event,
  type EventOf,
  typeOf,
} from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';
import { HistoryBook, type HistoryOrder } from './books.ts';

/** A market as the history knows it. What `terms` has are the columns of `markets` after `change`. */
type HistoryMarket = {
  readonly id: string;
  readonly book: HistoryBook;
  terms: string;
  stage: number;
  sequence: number;
  lastFillMicros: number;
  /** The end of the minute in which the book has changed since its last row; 0: it has not. */
  dueMs: number;
  /** The day on which its state was last written. */
  openedMs: number;
};

export type KeptMarket = Omit<HistoryMarket, 'book'> & { readonly index: number; readonly ticksPerUnit: number };
export type KeptOrder = HistoryOrder & { readonly market: number; readonly isResting: boolean };

/** @param line the values of the columns, joined by commas, with its end. */
type RowSink = (market: HistoryMarket, table: HistoryTable, line: string) => void;

type OpenOrder = { readonly order: HistoryOrder; readonly market: HistoryMarket };

export class ShardHistory {
  readonly #shard: number;
  readonly #write: RowSink;
  readonly #markets = new Map<number, HistoryMarket>();
  /** Open orders by slot. */
  readonly #orders = new Map<number, OpenOrder>();
  #dayMs = 0;
  #timeMs = 0;

  constructor(shard: number, write: RowSink) {
    this.#shard = shard;
    this.#write = write;
  }

  /** The next rows are of this day, which begins at this time. */
  beginDay(dayMs: number): void {
    this.#dayMs = dayMs;
  }

  /** @param timeMs that of the record, or of the one before if that is later */
  record(timeMs: number, { events }: Pick<JournalRecord, 'events'>): void {
    this.#timeMs = timeMs;
    this.apply(events.words, events.word, events.end);
  }

  /** Events of a record, or those with which a shard describes its state. */
  apply(words: Uint32Array, start: number, end: number): void {
    for (let word = start; word < end; word += words[word] >>> 2) {
      assertEvent(words, word);
      switch (typeOf(words[word + ANY_EVENT.type])) {
        case EVENT.ORDER.TYPE:
          this.#place(words, word, end);
          break;
        case EVENT.ORDER_STATE.TYPE:
          this.#restore(words, word, end);
          break;
        case EVENT.REST.TYPE:
          this.#enters('open', words, word);
          break;
        case EVENT.WOKEN.TYPE:
          this.#enters('wake', words, word);
          break;
        case EVENT.DORMANT.TYPE:
          this.#leaves('dormant', words, word);
          break;
        case EVENT.CLOSED.TYPE:
          this.#closed(words, word);
          break;
        case EVENT.FILL.TYPE:
          this.#filled(words, word);
          break;
        case EVENT.MARKET.TYPE:
          this.#decoded(decodeEvent(words, word));
          break;
        case EVENT.STAGE.TYPE:
          this.#step(words[word + EVENT.STAGE.stage], words[word + EVENT.STAGE.from]);
          break;
        case EVENT.LAST_FILL.TYPE:
          this.#of(words, word).lastFillMicros = readSafe(words, word + EVENT.LAST_FILL.filledMicros);
          break;
        // Everything else is of accounts. An ORDER_TAG is read with its order.
      }
    }
  }

  /** SHARDHISTORY-3 for all minutes that have ended by then. */
  endMinutes(untilMs: number): void {
    for (const market of this.#markets.values()) {
      if (market.dueMs !== 0 && market.dueMs <= untilMs) this.#bookRow(market);
    }
  }

  get openOrders(): number {
    return this.#orders.size;
  }

  *markets(): Generator<KeptMarket> {
    for (const [index, { book, ...market }] of this.#markets) {
      yield { index, ticksPerUnit: book.ticksPerUnit, ...market };
    }
  }

  *orders(): Generator<KeptOrder> {
    const indexes = new Map([...this.#markets].map(([index, market]) => [market, index]));
    for (const { order, market } of this.#orders.values()) {
      yield { ...order, market: indexes.get(market)!, isResting: market.book.isResting(order) };
    }
  }

  keepMarket({ index, ticksPerUnit, ...market }: KeptMarket): void {
    this.#markets.set(index, { ...market, book: new HistoryBook(ticksPerUnit) });
  }

  keepOrder({ market: index, isResting, ...order }: KeptOrder): void {
    const market = this.#markets.get(index)!;
    this.#orders.set(order.slot, { order, market });
    if (isResting) market.book.insert(order);
  }

  #place(words: Uint32Array, word: number, end: number): HistoryOrder {
    const slot = words[word + ANY_EVENT.slot];
    const kind = words[word + EVENT.ORDER.kind];
    const market = this.#of(words, word);
    const { ticksPerUnit } = market.book;
    const sequence = readSafe(words, word + EVENT.ORDER.sequence);
    const next = word + (words[word] >>> 2);
    const isTagged = next < end && typeOf(words[next + ANY_EVENT.type]) === EVENT.ORDER_TAG.TYPE;
    const order = {
      slot,
      sequence,
      // An ORDER has 0 there.
      origin: words[word + EVENT.ORDER_STATE.origin],
      createdMs: readSafe(words, word + EVENT.ORDER.createdMs),
      side: kindSide(kind),
      outcome: kindOutcome(kind),
      isBid: isBidInYes(kind) === 1,
      yesTicks: ownTicks(kindOutcome(kind), words[word + EVENT.ORDER.limitTicks], ticksPerUnit),
      priority: isTagged ? readSafe(words, next + EVENT.ORDER_TAG.priority) : sequence,
      remainingLots: readSafe(words, word + EVENT.ORDER.remainingLots),
    };
    this.#orders.set(slot, { order, market });
    return order;
  }

  #restore(words: Uint32Array, word: number, end: number): void {
    const order = this.#place(words, word, end);
    if (words[word + EVENT.ORDER.isDormant] === 0) this.#of(words, word).book.insert(order);
  }

  #enters(event: string, words: Uint32Array, word: number): void {
    const { order, market } = this.#orders.get(words[word + ANY_EVENT.slot])!;
    this.#changes(market);
    market.book.insert(order);
    this.#bookEvent(event, market, readSafe(words, word + ANY_EVENT.marketSequence), order, order.remainingLots);
  }

  #leaves(event: string, words: Uint32Array, word: number): void {
    const { order, market } = this.#orders.get(words[word + ANY_EVENT.slot])!;
    this.#changes(market);
    market.book.remove(order);
    this.#bookEvent(event, market, readSafe(words, word + ANY_EVENT.marketSequence), order, order.remainingLots, 0);
  }

  /** A taker or a dormant order that ends was not in the book, and a filled maker has left it with its fill. */
  #closed(words: Uint32Array, word: number): void {
    const slot = words[word + ANY_EVENT.slot];
    const isPublic = readSafe(words, word + ANY_EVENT.marketSequence) !== 0;
    const isExpired = words[word + EVENT.CLOSED.reason] === CLOSE_REASON.EXPIRED;
    if (isPublic) this.#leaves(isExpired ? 'expire' : 'cancel', words, word);
    this.#orders.delete(slot);
  }

  #filled(words: Uint32Array, word: number): void {
    const { order: maker, market } = this.#orders.get(words[word + EVENT.FILL.makerSlot])!;
    const { order: taker } = this.#orders.get(words[word + EVENT.FILL.takerSlot])!;
    this.#changes(market);
    const sequence = readSafe(words, word + ANY_EVENT.marketSequence);
    const lots = readSafe(words, word + EVENT.FILL.lots);
    market.lastFillMicros = filledMicros(this.#timeMs, market.lastFillMicros);
    taker.remainingLots = readSafe(words, word + EVENT.FILL.takerRemainingLots);
    market.book.fill(maker, lots, readSafe(words, word + EVENT.FILL.makerRemainingLots));
    const tradeId = timeOrderedId(
      this.#timeMs,
      this.#shard,
      ID_KIND.TRADE,
      readSafe(words, word + EVENT.FILL.tradeSequence),
    );
    const type = MATCH_TYPE_NAMES[words[word + EVENT.FILL.matchType]];
    const head = `${market.id},${sequence},${market.lastFillMicros},${tradeId},${type},${SIDE_NAMES[taker.side]}`;
    const yesTicks = words[word + EVENT.FILL.yesTicks];
    this.#write(market, 'trades', `${head},${taker.outcome},${yesTicks},${market.book.ticksPerUnit},${lots}\n`);
    this.#bookEvent('fill', market, sequence + 1, maker, lots);
  }

  #bookEvent(
    event: string,
    market: HistoryMarket,
    sequence: number,
    order: HistoryOrder,
    lots: number,
    remaining = order.remainingLots,
    timeMs = this.#timeMs,
  ): void {
    market.sequence = sequence;
    const level = market.book.levelOf(order);
    const idShard = order.origin === 0 ? this.#shard : order.origin - 1;
    const id = timeOrderedId(order.createdMs, idShard, ID_KIND.ORDER, order.sequence);
    const head = `${market.id},${sequence},${timeMs},${event},${id},${SIDE_NAMES[order.side]},${order.outcome}`;
    const place = `${order.isBid ? 'bid' : 'ask'},${order.yesTicks},${market.book.ticksPerUnit}`;
    const sums = `${lots},${remaining},${order.priority},${level.lots},${level.orders}`;
    this.#write(market, 'book_events', `${head},${place},${sums}\n`);
  }

  #decoded(event: Event): void {
    if (event.name === 'MARKET') this.#market(event);
  }

  #market(event: EventOf<'MARKET'>): void {
    const { ticksPerUnit } = event;
    const terms =
      `${event.feeBps},${ticksPerUnit},${event.minOrderAtomic}` +
      `,${event.startMs},${event.endMs},${event.payoutYesPpm}`;
    const known = this.#markets.get(event.market);
    const market = known ?? {
      id: bytesToUuid(event.uuid),
      book: new HistoryBook(ticksPerUnit),
      terms: '',
      stage: event.stage,
      sequence: event.lastMarketSequence,
      lastFillMicros: 0,
      dueMs: 0,
      openedMs: 0,
    };
    this.#markets.set(event.market, market);
    const status = MARKET_STATUS_NAMES[event.status];
    const line = `${status},${terms}`;
    if (market.terms === line && market.stage === event.stage) return;
    if (known !== undefined) this.#open(market);
    else market.openedMs = this.#dayMs;
    market.terms = line;
    market.stage = event.stage;
    this.#marketRow(market, 'change', this.#timeMs);
  }

  /** The event changes all markets of the shard at once. */
  #step(to: number, from: number): void {
    for (const market of this.#markets.values()) {
      const stage = stageAfter(market.stage, from, to);
      if (stage === market.stage) continue;
      this.#open(market);
      market.stage = stage;
      this.#marketRow(market, 'change', this.#timeMs);
    }
  }

  #marketRow(market: HistoryMarket, change: string, timeMs: number): void {
    const { id, sequence, stage, terms } = market;
    const comma = terms.indexOf(',');
    const state = `${terms.slice(0, comma)},${STAGE_NAMES[stage]}${terms.slice(comma)}`;
    this.#write(market, 'markets', `${id},${sequence},${timeMs},${change},${state}\n`);
  }

  /** Called before the book of a market changes. */
  #changes(market: HistoryMarket): void {
    this.#open(market);
    if (market.dueMs !== 0 && market.dueMs <= this.#timeMs) this.#bookRow(market);
    market.dueMs = bucketOf(this.#timeMs, MINUTE_MS) + MINUTE_MS;
  }

  /** SHARDHISTORY-2. */
  #open(market: HistoryMarket): void {
    if (market.openedMs === this.#dayMs) return;
    assert(market.dueMs === 0, 'SHARDHISTORY-3: a day ends with the row of its last minute');
    market.openedMs = this.#dayMs;
    this.#marketRow(market, 'opening', this.#dayMs);
    for (const order of market.book.resting()) {
      this.#bookEvent('resting', market, market.sequence, order, order.remainingLots, order.remainingLots, this.#dayMs);
    }
    market.dueMs = this.#dayMs;
    this.#bookRow(market);
  }

  #bookRow(market: HistoryMarket): void {
    const { book, dueMs, id, sequence } = market;
    const sides = [book.levels(true), book.levels(false)] as const;
    const { ticksPerUnit } = book;
    const head = `${id},${dueMs},${sequence},${HistoryBook.checksum(ticksPerUnit, ...sides)}`;
    market.dueMs = 0;
    for (const [index, levels] of sides.entries()) {
      for (const [level, { yesTicks, lots, orders }] of levels.slice(0, BOOK_LEVELS).entries()) {
        const place = `${index === 0 ? 'bid' : 'ask'},${level},${yesTicks},${ticksPerUnit}`;
        this.#write(market, 'books', `${head},${place},${lots},${orders}\n`);
      }
    }
    if (sides[0].length + sides[1].length === 0) {
      this.#write(market, 'books', `${head},,0,0,${ticksPerUnit},0,0\n`);
    }
  }

  #of(words: Uint32Array, word: number): HistoryMarket {
    return this.#markets.get(words[word + ANY_EVENT.market])!;
  }
}
