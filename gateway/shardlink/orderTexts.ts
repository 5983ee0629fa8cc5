/**
 * A cache of open orders' texts, each kept until the order changes: a client that repeatedly asks for its orders, or
 * for a book order by order, costs only look-ups, whatever else happens in the market. Owner: the gateway thread.
 *
 * Invariants:
 *   ORDERTEXT-1  A text is returned only for the change of its slot from which it was rendered.
 *   ORDERTEXT-2  The cached texts have a bounded number of characters; if another does not fit, all are dropped.
 */
import { assert } from '../../shared/base/assert.ts';
import { grown } from './growingColumn.ts';
import type { OpenOrders } from './orderViews.ts';

/** About forty thousand orders. */
const MOST_CHARACTERS = 16 * 1024 * 1024;
const FIRST_SLOTS = 64;

type OfShard = {
  /** A recovered shard has a new object here. */
  readonly orders: OpenOrders;
  /** By slot: its text, and the number of the change that the text shows; 0 where there is none. */
  readonly texts: string[];
  changes: Uint32Array;
};

/** By shard and slot, texts of one kind. */
export class OrderTexts {
  readonly #mostCharacters: number;
  #shards: OfShard[] = [];
  #characters = 0;

  constructor(mostCharacters = MOST_CHARACTERS) {
    this.#mostCharacters = mostCharacters;
  }

  /** The text of the order in this slot after this change; undefined if it is not cached. */
  find(orders: OpenOrders, slot: number, change: number): string | undefined {
    const kept = this.#shards[orders.shard];
    return kept?.orders === orders && kept.changes[slot] === change ? kept.texts[slot] : undefined;
  }

  /** Keeps the text, unless the order has changed since. */
  keep(orders: OpenOrders, slot: number, change: number, text: string): void {
    if (orders.changes[slot] !== change || text.length > this.#mostCharacters) return;
    const before = this.#of(orders).texts[slot]?.length ?? 0;
    if (this.#characters - before + text.length > this.#mostCharacters) {
      this.#shards = [];
      this.#characters = 0;
    } else {
      this.#characters -= before;
    }
    const kept = this.#of(orders);
    kept.changes = grown(kept.changes, slot + 1);
    // An array with holes would be slower.
    while (kept.texts.length <= slot) kept.texts.push('');
    kept.changes[slot] = change;
    kept.texts[slot] = text;
    this.#characters += text.length;
    assert(this.#characters <= this.#mostCharacters, 'ORDERTEXT-2: what is kept is bounded');
  }

  #of(orders: OpenOrders): OfShard {
    const known = this.#shards[orders.shard];
    if (known?.orders === orders) return known;
    for (const text of known?.texts ?? []) this.#characters -= text.length;
    const made: OfShard = { orders, texts: [], changes: new Uint32Array(FIRST_SLOTS) };
    this.#shards[orders.shard] = made;
    return made;
  }
}
