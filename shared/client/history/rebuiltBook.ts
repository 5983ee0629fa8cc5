/**
 * The book of one market, rebuilt order by order from its `book_events` of a day, and compared with `books` and with
 * what each event says about its level.
 *
 * Invariant:
 *   REBUILT-1  Events are applied without a gap: each has the next number, and a fill leaves one for its trade.
 */
import { crc32OfText } from '../../base/crc32.ts';
import { tickToPrice } from '../../base/units.ts';
import type { HistoryRow } from './rows.ts';

export type BookEventRow = HistoryRow<'book_events'>;
export type BookRow = HistoryRow<'books'>;

type Order = {
  readonly id: string;
  readonly priority: bigint;
  readonly side: string;
  readonly ticks: number;
  lots: bigint;
};
type RebuiltLevel = { readonly ticks: number; readonly lots: bigint; readonly orders: readonly Order[] };

const REMOVED = ['cancel', 'expire', 'dormant'];

export class RebuiltBook {
  sequence: bigint | null = null;
  readonly #orders = new Map<string, Order>();
  /** By side and ticks: the sum and the number of orders. */
  readonly #levels = new Map<string, { lots: bigint; orders: number }>();

  /** Throws an error that says what is wrong. */
  apply(row: BookEventRow): void {
    if (row.event === 'resting') {
      if (this.sequence !== null && row.sequence !== this.sequence) throw wrong(row, 'rests at another number');
      this.sequence = row.sequence;
      this.#enter(row);
      return;
    }
    const step = row.event === 'fill' ? 2n : 1n;
    if (this.sequence !== null && row.sequence !== this.sequence + step) throw wrong(row, `follows ${this.sequence}`);
    this.sequence = row.sequence;
    if (row.event === 'open' || row.event === 'wake') this.#enter(row);
    else this.#change(row);
    const level = this.#levels.get(`${row.book_side}${row.yes_ticks}`) ?? { lots: 0n, orders: 0 };
    if (level.lots !== row.level_lots || level.orders !== row.level_orders) {
      throw wrong(row, `its level has ${level.lots} lots of ${level.orders} orders`);
    }
  }

  /** Best first, each level in the order in which it is filled. */
  levels(side: 'bid' | 'ask'): RebuiltLevel[] {
    const byTicks = new Map<number, Order[]>();
    for (const order of this.#orders.values()) {
      if (order.side !== side) continue;
      const level = byTicks.get(order.ticks) ?? [];
      byTicks.set(order.ticks, [...level, order]);
    }
    return [...byTicks]
      .sort(([a], [b]) => (side === 'bid' ? b - a : a - b))
      .map(([ticks, orders]) => ({
        ticks,
        lots: orders.reduce((sum, { lots }) => sum + lots, 0n),
        orders: orders.sort((a, b) => (a.priority < b.priority ? -1 : 1)),
      }));
  }

  /** That of RULES.md 8.8. */
  checksum(ticksPerUnit: number): number {
    const text = ({ ticks, lots }: RebuiltLevel) =>
      `${tickToPrice(ticks, ticksPerUnit)}:${lots * BigInt(ticksPerUnit)}`;
    return crc32OfText([...this.levels('bid'), ...this.levels('ask')].map(text).join('|'));
  }

  #enter(row: BookEventRow): void {
    if (this.#orders.has(row.order_id)) throw wrong(row, 'is in the book already');
    const order = {
      id: row.order_id,
      priority: row.priority,
      side: row.book_side,
      ticks: row.yes_ticks,
      lots: row.lots,
    };
    this.#orders.set(row.order_id, order);
    this.#add(order, row.lots, 1);
  }

  #change(row: BookEventRow): void {
    const order = this.#orders.get(row.order_id);
    if (order === undefined) throw wrong(row, 'is not in the book');
    const isRemoved = REMOVED.includes(row.event);
    if (!isRemoved && row.event !== 'fill') throw wrong(row, 'is no known event');
    order.lots -= row.lots;
    if (order.lots !== row.remaining_lots || order.lots < 0n) throw wrong(row, `leaves ${order.lots} lots`);
    if (order.lots === 0n) this.#orders.delete(order.id);
    this.#add(order, -row.lots, order.lots === 0n ? -1 : 0);
  }

  #add({ side, ticks }: Order, lots: bigint, orders: number): void {
    const name = `${side}${ticks}`;
    const level = this.#levels.get(name) ?? { lots: 0n, orders: 0 };
    const changed = { lots: level.lots + lots, orders: level.orders + orders };
    if (changed.orders === 0) this.#levels.delete(name);
    else this.#levels.set(name, changed);
  }
}

/** Compares a rebuilt book with the rows of one minute. Throws an error that says what is wrong. */
export function compareBook(book: RebuiltBook, rows: readonly BookRow[]): void {
  const [{ time_ms, sequence, ticks_per_unit }] = rows;
  const at = `book of ${new Date(Number(time_ms)).toISOString()}, after frame ${sequence}`;
  const rebuilt = book.checksum(ticks_per_unit);
  const other = rows.find(({ checksum }) => checksum !== BigInt(rebuilt));
  if (other !== undefined) throw new Error(`${at}: the checksum is ${other.checksum}, rebuilt it is ${rebuilt}`);
  const sides = { bid: book.levels('bid'), ask: book.levels('ask') };
  for (const row of rows) {
    if (row.book_side !== 'bid' && row.book_side !== 'ask') continue;
    const level = sides[row.book_side][row.level];
    const isSame = level?.ticks === row.yes_ticks && level.lots === row.lots && level.orders.length === row.orders;
    if (!isSame) throw new Error(`${at}: level ${row.level} of the ${row.book_side}s is another one`);
  }
}

function wrong({ event, order_id, sequence }: BookEventRow, what: string): Error {
  return new Error(`frame ${sequence}: ${event} of order ${order_id} ${what}`);
}
