/**
 * Copies of an account's open orders in one market at one moment, for an answer that is written while the orders
 * change. Copying an order takes a hundredth of the time of writing it. Columns as in orderViews.ts, one row an order.
 * Owner: the answer.
 */
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { HASH_WORDS } from '../../shared/base/openOrderIndex.ts';
import { NO_GROUP } from '../../shared/wire/commands.ts';
import type { OrderColumns } from './orderFacts.ts';
import type { OpenOrders } from './orderViews.ts';

export class OrderCopies implements OrderColumns {
  readonly count: number;
  readonly hash: Uint32Array<ArrayBuffer>;
  readonly kind: Uint32Array<ArrayBuffer>;
  readonly limitTicks: Uint16Array<ArrayBuffer>;
  readonly quantityLots: Float64Array<ArrayBuffer>;
  readonly remainingLots: Float64Array<ArrayBuffer>;
  readonly filledNotionalMicro: Float64Array<ArrayBuffer>;
  readonly orderSequence: Float64Array<ArrayBuffer>;
  readonly createdMs: Float64Array<ArrayBuffer>;
  readonly #idShards: Uint16Array<ArrayBuffer>;
  /** The slots that the orders were copied from, and the number of each order's last change. */
  readonly slots: ArrayLike<number>;
  readonly changes: Uint32Array<ArrayBuffer>;
  readonly #market: number;
  readonly #clientIds: (string | null)[] = [];
  readonly #groups: number[] = [];

  /** @param slots open orders of one market */
  constructor(from: OpenOrders, market: number, slots: ArrayLike<number>) {
    const count = slots.length;
    this.count = count;
    this.#market = market;
    this.hash = new Uint32Array(count * HASH_WORDS);
    this.kind = new Uint32Array(count);
    this.limitTicks = new Uint16Array(count);
    this.quantityLots = new Float64Array(count);
    this.remainingLots = new Float64Array(count);
    this.filledNotionalMicro = new Float64Array(count);
    this.orderSequence = new Float64Array(count);
    this.createdMs = new Float64Array(count);
    this.#idShards = new Uint16Array(count);
    this.slots = slots;
    this.changes = new Uint32Array(count);
    for (let row = 0; row < count; row++) this.#copy(from, slots[row], row);
  }

  marketOf(_row: number): number {
    return this.#market;
  }

  orderId(row: number): string {
    return timeOrderedId(this.createdMs[row], this.#idShards[row], ID_KIND.ORDER, this.orderSequence[row]);
  }

  clientIdOf(row: number): string | null {
    return this.#clientIds[row] ?? null;
  }

  groupOf(row: number): number {
    return this.#groups[row] ?? NO_GROUP;
  }

  #copy(from: OpenOrders, slot: number, row: number): void {
    for (let i = 0; i < HASH_WORDS; i++) this.hash[row * HASH_WORDS + i] = from.hash[slot * HASH_WORDS + i];
    this.kind[row] = from.kind[slot];
    this.limitTicks[row] = from.limitTicks[slot];
    this.quantityLots[row] = from.quantityLots[slot];
    this.remainingLots[row] = from.remainingLots[slot];
    this.filledNotionalMicro[row] = from.filledNotionalMicro[slot];
    this.orderSequence[row] = from.orderSequence[slot];
    this.createdMs[row] = from.createdMs[slot];
    this.#idShards[row] = from.idShard(slot);
    this.changes[row] = from.changes[slot];
    this.#clientIds.push(from.clientIdOf(slot));
    this.#groups.push(from.groupOf(slot));
  }
}
