/**
 * The events of orders, by order number: a slot is used again, the sequence number of an order is not. The engine rig
 * reads them from the engine's own buffer, the simulator from the event ring and from journals, and the oracle produces
 * the same.
 */
import type { Event } from '../../shared/wire/events.ts';

/** Ticks are in Yes terms. */
export type Fill = {
  kind: 'fill';
  maker: number;
  taker: number;
  lots: number;
  ticks: number;
  matchType: number;
  makerFee: number;
  takerFee: number;
};
export type Closed = { kind: 'closed'; order: number; reason: number; left: number };
export type OrderEvent =
  | Fill
  | Closed
  | { kind: 'order'; order: number }
  | { kind: 'rest'; order: number; lots: number }
  | { kind: 'dormant' | 'woken'; order: number };

export class OrderEventReader {
  /** Order number by slot. */
  readonly #orderAt = new Map<number, number>();

  /** The order that was last in this slot. */
  orderAt(slot: number): number {
    return this.#orderAt.get(slot)!;
  }

  /** The slots that have had an order, each with its last one. */
  orders(): IterableIterator<[slot: number, order: number]> {
    return this.#orderAt.entries();
  }

  /** The order was placed before this reader was there. */
  note(slot: number, order: number): void {
    this.#orderAt.set(slot, order);
  }

  /** @returns undefined for an event that is not about an order. */
  read(event: Event): OrderEvent | undefined {
    switch (event.name) {
      case 'ORDER':
        this.note(event.slot, event.sequence);
        return { kind: 'order', order: event.sequence };
      case 'REST':
        return { kind: 'rest', order: this.orderAt(event.slot), lots: event.remainingLots };
      case 'CLOSED':
        return { kind: 'closed', order: this.orderAt(event.slot), reason: event.reason, left: event.remainingLots };
      case 'DORMANT':
        return { kind: 'dormant', order: this.orderAt(event.slot) };
      case 'WOKEN':
        return { kind: 'woken', order: this.orderAt(event.slot) };
      case 'FILL': {
        const { lots, yesTicks: ticks, matchType, makerFee, takerFee } = event;
        const [maker, taker] = [this.orderAt(event.makerSlot), this.orderAt(event.takerSlot)];
        return { kind: 'fill', maker, taker, lots, ticks, matchType, makerFee, takerFee };
      }
      default:
        return undefined;
    }
  }
}
