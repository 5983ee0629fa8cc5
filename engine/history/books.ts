/**
 * The open orders and books of the markets of one shard, as the public sees them: without owners.
 * Owner: the history thread.
 *
 * Invariants:
 *   HISTORYBOOK-1  A level is there exactly while an order rests at it; its lots and orders are the sums of these.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../../shared/base/assert.ts';
import { addSafe, productToString } from '../../shared/base/int.ts';
import { tickToPrice } from '../../shared/base/units.ts';

/** An open order; `side`, `outcome` as in codes.ts. */
export type HistoryOrder = {
  readonly slot: number;
  readonly createdMs: number;
  readonly sequence: number;
  /** The shard that its id names, plus one; 0: the shard of the history. */
  readonly origin: number;
  readonly side: number;
  readonly outcome: number;
  readonly isBid: boolean;
  readonly yesTicks: number;
  priority: number;
  remainingLots: number;
};

type Level = { lots: number; orders: number };
type BookLevel = { readonly yesTicks: number; readonly lots: number; readonly orders: number };

const NOTHING: Level = { lots: 0, orders: 0 };

export class HistoryBook {
  readonly ticksPerUnit: number;
  readonly #bids = new Map<number, Level>();
  readonly #asks = new Map<number, Level>();
  readonly #resting = new Set<HistoryOrder>();

  constructor(ticksPerUnit: number) {
    this.ticksPerUnit = ticksPerUnit;
  }

  isResting(order: HistoryOrder): boolean {
    return this.#resting.has(order);
  }

  insert(order: HistoryOrder): void {
    this.#resting.add(order);
    this.#change(order, order.remainingLots, 1);
  }

  remove(order: HistoryOrder): void {
    assert(this.#resting.delete(order), 'HISTORYBOOK-1: an order that leaves the book rests in it');
    this.#change(order, -order.remainingLots, -1);
  }

  /** Takes filled lots off an order; one without a remainder leaves the book. */
  fill(order: HistoryOrder, lots: number, remainingLots: number): void {
    assert(this.#resting.has(order), 'HISTORYBOOK-1: a maker rests in the book');
    order.remainingLots = remainingLots;
    if (remainingLots === 0) this.#resting.delete(order);
    this.#change(order, -lots, remainingLots === 0 ? -1 : 0);
  }

  levelOf({ isBid, yesTicks }: HistoryOrder): Readonly<Level> {
    return this.#side(isBid).get(yesTicks) ?? NOTHING;
  }

  /** The resting orders: bids and then asks, best first, each level in its priority. */
  resting(): HistoryOrder[] {
    return [...this.#resting].sort(
      (a, b) =>
        Number(b.isBid) - Number(a.isBid) ||
        (a.isBid ? b.yesTicks - a.yesTicks : a.yesTicks - b.yesTicks) ||
        a.priority - b.priority,
    );
  }

  /** Best first. */
  levels(isBid: boolean): BookLevel[] {
    const levels = [...this.#side(isBid)].map(([yesTicks, { lots, orders }]) => ({ yesTicks, lots, orders }));
    return levels.sort((a, b) => (isBid ? b.yesTicks - a.yesTicks : a.yesTicks - b.yesTicks));
  }

  /** The checksum of RULES.md 8.8. */
  static checksum(ticksPerUnit: number, bids: readonly BookLevel[], asks: readonly BookLevel[]): number {
    const text = ({ yesTicks, lots }: BookLevel) =>
      `${tickToPrice(yesTicks, ticksPerUnit)}:${productToString(lots, ticksPerUnit)}`;
    return crc32([...bids, ...asks].map(text).join('|'));
  }

  #change(order: HistoryOrder, lots: number, orders: number): void {
    const side = this.#side(order.isBid);
    const level = side.get(order.yesTicks) ?? { lots: 0, orders: 0 };
    level.lots = addSafe(level.lots, lots);
    level.orders += orders;
    assert(level.lots >= 0 && level.orders > 0 === level.lots > 0, 'HISTORYBOOK-1: a level is the sum of its orders');
    if (level.orders === 0) side.delete(order.yesTicks);
    else side.set(order.yesTicks, level);
  }

  #side(isBid: boolean): Map<number, Level> {
    return isBid ? this.#bids : this.#asks;
  }
}
