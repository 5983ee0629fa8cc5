/**
 * Reads the events of a shard's orders from the event ring or from a journal row, in the form of the oracle: by order
 * number instead of slot. Checks on the way that the public frames of a market are numbered without a gap.
 */
import assert from 'node:assert/strict';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { decodeEvents, type Event, type EventOf } from '../../shared/wire/events.ts';
import { type OrderEvent, OrderEventReader } from '../support/orderEvents.ts';

type SeenOrder = { readonly hash: Uint32Array; readonly id: number };

export class ShardEvents {
  /** The last accepted order. */
  accepted: SeenOrder | undefined;
  fills = 0;
  readonly #reader = new OrderEventReader();
  /** Last frame of each market. */
  readonly #frames = new Map<number, number>();

  /** The events between two word offsets. */
  read(words: Uint32Array, from: number, end: number): OrderEvent[] {
    return decodeEvents(words, from, end).flatMap((event) => {
      this.#countFrame(event);
      if (event.name === 'FILL') this.fills++;
      if (event.name === 'ORDER') this.accepted = { id: event.sequence, hash: new Uint32Array(event.hash.buffer) };
      return this.#reader.read(event) ?? [];
    });
  }

  /** A shard that has recovered says where its open orders are: where they were. */
  checkSlot({ slot, sequence }: EventOf<'ORDER_STATE'>): void {
    assert.equal(this.#reader.orderAt(slot), sequence, 'a recovered order has the slot it had');
  }

  frameOf(market: number): number {
    return this.#frames.get(market) ?? 0;
  }

  #countFrame({ name, market, marketSequence }: Event): void {
    if (marketSequence === 0) return;
    assert.equal(marketSequence, this.frameOf(market) + 1, 'public frames are numbered without a gap');
    this.#frames.set(market, marketSequence + (name === 'FILL' ? 1 : 0));
  }
}

/** No rule says in which order a closing market lets its orders go: by number here. */
export function inRuleOrder(events: readonly OrderEvent[]): OrderEvent[] {
  const sorted: OrderEvent[] = [];
  let closing: { order: number }[] = [];
  const flush = (): void => {
    sorted.push(...(closing.sort((a, b) => a.order - b.order) as OrderEvent[]));
    closing = [];
  };
  for (const one of events) {
    if (one.kind === 'closed' && one.reason === CLOSE_REASON.MARKET_CLOSED) closing.push(one);
    else {
      flush();
      sorted.push(one);
    }
  }
  flush();
  return sorted;
}
