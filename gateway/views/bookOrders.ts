/**
 * A book order by order: the levels of bookLevels.ts, each as the queue of its orders (RULES.md 7.5). The orders are
 * copied at one moment, and their texts are made afterwards, as the answer is written.
 */
import { OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { productToString } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';
import { type Book, type BookSide, NO_TICK } from './books.ts';
import { NONE } from './growingColumn.ts';
import type { OpenOrders } from './orders.ts';

/** Orders of one side in an answer. */
export const MAX_ORDERS_SHOWN = 2000;

/** Best price first; at one price the order that is filled first. */
class SideCopy {
  readonly yesTicks: number[] = [];
  readonly createdMs: number[] = [];
  readonly orderSequence: number[] = [];
  readonly remainingLots: number[] = [];
  readonly hasMore: boolean;

  constructor(book: Book, side: BookSide, from: OpenOrders, levels: number) {
    this.hasMore = this.#copy(book, side, from, levels);
  }

  /** @returns whether the levels have more orders than are shown. */
  #copy(book: Book, side: BookSide, from: OpenOrders, levels: number): boolean {
    const isBids = side === book.bids;
    let tick = isBids ? side.highest() : side.lowest();
    for (let level = 0; level < levels && tick !== NO_TICK; level++) {
      for (let slot = side.head[tick]; slot !== NONE; slot = from.queueNext[slot]) {
        if (this.yesTicks.length === MAX_ORDERS_SHOWN) return true;
        this.yesTicks.push(tick);
        this.createdMs.push(from.createdMs[slot]);
        this.orderSequence.push(from.orderSequence[slot]);
        this.remainingLots.push(from.remainingLots[slot]);
      }
      tick = isBids ? side.below(tick) : side.above(tick);
    }
    return false;
  }
}

/** The orders of both sides as they are when it is made. */
export class BookOrders {
  readonly #shard: number;
  readonly #ticksPerUnit: number;
  /** Null where the book has never had an order. */
  readonly #sides: { readonly bids: SideCopy; readonly asks: SideCopy } | null;

  constructor(book: Book | undefined, from: OpenOrders, levels: number) {
    this.#shard = from.shard;
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
    const { yesTicks, createdMs, orderSequence, remainingLots } = this.#sides[name];
    const ticksPerUnit = this.#ticksPerUnit;
    for (const [row, tick] of yesTicks.entries()) {
      const id = timeOrderedId(createdMs[row]!, this.#shard, ID_KIND.ORDER, orderSequence[row]!);
      const price = tickToPrice(outcome === OUTCOME.YES ? tick : ticksPerUnit - tick, ticksPerUnit);
      const quantity = productToString(remainingLots[row]!, ticksPerUnit);
      yield `${row === 0 ? '' : ','}{"id":"${id}","price":"${price}","remaining_token_quantity_atomic":"${quantity}"}`;
    }
  }
}
