/** Replaces an order by a new one (RULES.md 7.10), which differs only in the given options. */
import { formatUnits } from './amounts.ts';
import type { ExactIntent, OrderIntent } from './order.ts';
import type { PlaceIntent } from './placer.ts';
import type { OrderRecord, PlacementBody } from './types.ts';

/** Without a size the new order is for what is still to be filled of the old one. */
export type OrderChanges = Partial<Omit<OrderIntent & ExactIntent, 'market'>>;

/** Each amount is said in one way: the price that is given replaces the old one, in whichever way that was said. */
const SAID_TWICE = [
  ['price', 'priceTicks'],
  ['size', 'quantityLots'],
] as const;

export function changedIntent(intent: PlaceIntent, changes: OrderChanges): PlaceIntent {
  const kept: Record<string, unknown> = { ...intent };
  for (const ways of SAID_TWICE) {
    if (ways.every((way) => changes[way] === undefined)) continue;
    for (const way of ways) delete kept[way];
  }
  return { ...kept, ...changes } as PlaceIntent;
}

export function isSized({ size, quantityLots }: OrderChanges): boolean {
  return size !== undefined || quantityLots !== undefined;
}

/** Null if all of it is filled: then the exchange says that the order is closed. */
export function sizeLeft({ side, maker_amount, taker_amount }: PlacementBody, record: OrderRecord): string | null {
  const signed = BigInt(side === 'BUY' ? taker_amount : maker_amount);
  const left = signed - BigInt(record.filled_token_quantity_atomic);
  return left > 0n ? formatUnits(left) : null;
}
