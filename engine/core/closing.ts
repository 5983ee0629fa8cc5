/** The end of an order, whatever its reason. Owner: the shard thread. */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import type { OpenOrderIndex } from '../../shared/base/openOrderIndex.ts';
import type { Market } from '../book/market.ts';
import type { Orders } from '../book/orders.ts';
import * as rows from '../book/orders.ts';
import type { Ledger } from '../money/ledger.ts';
import { releaseReservation } from '../money/settle.ts';
import type { Digest } from '../output/digest.ts';
import type { EventWriter } from '../output/emit.ts';
import type { ExpiryHeap } from './expiry.ts';

const { CLOSE_REASON } = codes;
const { DOUBLE_AT, DOUBLE_SHIFT, SLOT_STATE, WORD_AT, WORD_SHIFT } = rows;

export class Closing {
  readonly #orders: Orders;
  readonly #ledger: Ledger;
  readonly #openOrders: OpenOrderIndex;
  readonly #expiry: ExpiryHeap;
  readonly #digest: Digest;
  readonly #emit: EventWriter;

  constructor(
    orders: Orders,
    ledger: Ledger,
    openOrders: OpenOrderIndex,
    expiry: ExpiryHeap,
    digest: Digest,
    emit: EventWriter,
  ) {
    this.#orders = orders;
    this.#ledger = ledger;
    this.#openOrders = openOrders;
    this.#expiry = expiry;
    this.#digest = digest;
    this.#emit = emit;
  }

  /**
   * Closes an order for good: it leaves its queue, its reservation is released, it is no longer found by its hash, its
   * slot is freed, and CLOSED is emitted. The event is public (it has a market sequence) if the order was visible in
   * the book and did not leave by being filled.
   */
  close(market: Market, slot: number, reason: number): void {
    const orders = this.#orders;
    const { doubles, words } = orders;
    const row = slot << WORD_SHIFT;
    const state = words[row | WORD_AT.STATE];
    const isFilled = doubles[(slot << DOUBLE_SHIFT) | DOUBLE_AT.REMAINING_LOTS] === 0;
    assert(state !== SLOT_STATE.FREE, 'ORDERS-1: an order is closed once');
    assert(words[row | WORD_AT.MARKET] === market.index, 'ORDERS-1: an order is closed in its own market');
    assert(isFilled === (reason === CLOSE_REASON.FILLED), 'ORDERS-3: an order is filled when nothing remains');
    const isPublic = state === SLOT_STATE.RESTING && reason !== CLOSE_REASON.FILLED;
    if (state !== SLOT_STATE.INCOMING) {
      market.book.remove(slot);
      this.#openOrders.remove(orders.signed.words, slot);
    }
    this.#emit.closed(slot, isPublic ? ++market.sequence : 0, reason);
    releaseReservation(orders, this.#ledger, slot, market.ticksPerUnit);
    this.#expiry.remove(slot);
    this.#digest.markOrder(slot);
    orders.free(slot);
    assert(market.openOrders > 0, 'MARKET-4: a market counts the order that is closed');
    market.openOrders--;
  }
}
