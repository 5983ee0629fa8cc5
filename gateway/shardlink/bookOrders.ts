/**
 * A book order by order: the levels of bookLevels.ts, each as the queue of its orders (RULES.md 7.5). The orders are
 * copied at one moment; their texts are made, or found in the cache, while the answer is written.
 */
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { productToString } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { type Book, type BookSide, NO_TICK } from './bookViews.ts';
import { NONE } from './growingColumn.ts';
import { OrderTexts } from './orderTexts.ts';
import type { OpenOrders } from './orderViews.ts';

/** Orders of one side in an answer. */
export const MAX_ORDERS_SHOWN = 2000;

/** Texts of orders in the terms of Yes and of No. */
export type BookTexts = Readonly<Record<Outcome, OrderTexts>>;

export function makeBookTexts(): BookTexts {
  return { [OUTCOME.YES]: new OrderTexts(), [OUTCOME.NO]: new OrderTexts() };
}

/** Best price first; at one price the order that is filled first. */
class SideCopy {
  readonly yesTicks: number[] = [];
  readonly createdMs: number[] = [];
  readonly orderSequence: number[] = [];
  readonly idShards: number[] = [];
  readonly remainingLots: number[] = [];
  /** The slots that the orders were copied from, and the number of each order's last change. */
  readonly slots: number[] = [];
  readonly changes: number[] = [];
  readonly hasMore: boolean;

  constructor(book: Book, side: BookSide, from: OpenOrders, levels: number) {
    this.hasMore = this.#copy(book, side, from, levels);
  }

  /** @returns true if the levels have more orders than are shown */
  #copy(book: Book, side: BookSide, from: OpenOrders, levels: number): boolean {
    const isBids = side === book.bids;
    let tick = isBids ? side.highest() : side.lowest();
    for (let level = 0; level < levels && tick !== NO_TICK; level++) {
      for (let slot = side.head[tick]; slot !== NONE; slot = from.queueNext[slot]) {
        if (this.yesTicks.length === MAX_ORDERS_SHOWN) return true;
        this.yesTicks.push(tick);
        this.createdMs.push(from.createdMs[slot]);
        this.orderSequence.push(from.orderSequence[slot]);
        this.idShards.push(from.idShard(slot));
        this.remainingLots.push(from.remainingLots[slot]);
        this.slots.push(slot);
        this.changes.push(from.changes[slot]);
      }
      tick = isBids ? side.below(tick) : side.above(tick);
    }
    return false;
  }
}

/** The orders of both sides at the moment of construction. */
export class BookOrders {
  readonly #from: OpenOrders;
  readonly #texts: BookTexts;
  readonly #ticksPerUnit: number;
  /** Null where the book has never had an order. */
  readonly #sides: { readonly bids: SideCopy; readonly asks: SideCopy } | null;

  constructor(book: Book | undefined, from: OpenOrders, levels: number, texts: BookTexts) {
    this.#from = from;
    this.#texts = texts;
    this.#ticksPerUnit = book?.ticksPerUnit ?? 0;
    this.#sides =
      book === undefined
        ? null
        : {
            bids: new SideCopy(book, book.bids, from, levels),
            asks: new SideCopy(book, book.asks, from, levels),
          };
  }

  /** The members `bids`, `asks` and `has_more` as JSON in the terms of one outcome, an order at a time. */
  *members(outcome: Outcome): Generator<string> {
    const [first, second] = outcome === OUTCOME.YES ? (['bids', 'asks'] as const) : (['asks', 'bids'] as const);
    yield '"bids":[';
    yield* this.#rows(first, outcome);
    yield '],"asks":[';
    yield* this.#rows(second, outcome);
    const hasMore = this.#sides !== null && (this.#sides.bids.hasMore || this.#sides.asks.hasMore);
    yield `],"has_more":${hasMore}`;
  }

  *#rows(name: 'bids' | 'asks', outcome: Outcome): Generator<string> {
    if (this.#sides === null) return;
    const side = this.#sides[name];
    const texts = this.#texts[outcome];
    for (let row = 0; row < side.slots.length; row++) {
      const [slot, change] = [side.slots[row], side.changes[row]];
      let text = texts.find(this.#from, slot, change);
      if (text === undefined) {
        text = this.#render(side, row, outcome);
        texts.keep(this.#from, slot, change, text);
      }
      yield row === 0 ? text : `,${text}`;
    }
  }

  #render(side: SideCopy, row: number, outcome: Outcome): string {
    const { yesTicks, createdMs, idShards, orderSequence, remainingLots } = side;
    const ticksPerUnit = this.#ticksPerUnit;
    const ticks = outcome === OUTCOME.YES ? yesTicks[row] : ticksPerUnit - yesTicks[row];
    return JSON.stringify({
      id: timeOrderedId(createdMs[row], idShards[row], ID_KIND.ORDER, orderSequence[row]),
      price: tickToPrice(ticks, ticksPerUnit),
      remaining_token_quantity_atomic: productToString(remainingLots[row], ticksPerUnit),
    });
  }
}
