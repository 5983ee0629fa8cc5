/**
 * A book kept from the stream alone, as a market maker would keep it. It follows every frame of one market, refuses a
 * gap, and computes the checksum its own way.
 */
import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import type { Json } from './server.ts';

type Level = { quantity: string; orders: number };

export class StreamBook {
  readonly marketId: string;
  /** Null until the first `book` frame. */
  sequence: number | null = null;
  /** The number of checksums that were present and right. */
  checked = 0;
  bookFrames = 0;
  /** The last `bbo` frame of each outcome. */
  readonly best: Json[] = [];
  readonly #bids = new Map<string, Level>();
  readonly #asks = new Map<string, Level>();

  constructor(marketId: string) {
    this.marketId = marketId;
  }

  follow(frames: readonly Json[]): void {
    for (const frame of frames) this.apply(frame);
  }

  apply(frame: Json): void {
    if (frame.market_id !== this.marketId) return;
    const { data } = frame;
    if (frame.channel === 'book') this.#begin(frame);
    else if (frame.channel === 'bbo') {
      assert.equal(frame.sequence, this.sequence, 'a bbo belongs to the last frame');
      this.best[data.outcome_index] = data;
    } else {
      assert.equal(frame.sequence, this.sequence! + 1, 'no frame is missing and none comes twice');
      this.sequence = frame.sequence;
      if (frame.channel === 'book_delta') this.#change(data);
    }
  }

  levels(): Json {
    const rows = (side: Map<string, Level>, sign: number) =>
      [...side]
        .sort(([a], [b]) => sign * (Number(a) - Number(b)))
        .map(([price, { quantity, orders }]) => [price, quantity, orders]);
    return { bids: rows(this.#bids, -1), asks: rows(this.#asks, 1) };
  }

  checksum(): number {
    const { bids, asks } = this.levels();
    return crc32([...bids, ...asks].map(([price, quantity]: Json) => `${price}:${quantity}`).join('|'));
  }

  /** `shown` is what GET /v1/orders/book answers for outcome 0. */
  assertShown(shown: Json): void {
    const rows = (levels: Json[]) =>
      levels.map(({ price, token_quantity_atomic, num_orders }) => [price, token_quantity_atomic, num_orders]);
    assert.equal(shown.sequence, this.sequence);
    assert.deepEqual(this.levels(), { bids: rows(shown.bids), asks: rows(shown.asks) });
  }

  #begin({ sequence, data }: Json): void {
    this.bookFrames++;
    this.sequence = sequence;
    for (const [side, rows] of [
      [this.#bids, data.outcome_0.bids],
      [this.#asks, data.outcome_0.asks],
    ]) {
      side.clear();
      for (const row of rows) side.set(row.price, { quantity: row.token_quantity_atomic, orders: row.num_orders });
    }
    this.#check(data.checksum);
  }

  #change({ level, checksum }: Json): void {
    const side = level.side === 'BUY' ? this.#bids : this.#asks;
    if (level.num_orders === 0) side.delete(level.price);
    else side.set(level.price, { quantity: level.token_quantity_atomic, orders: level.num_orders });
    assert.equal(level.num_orders === 0, level.token_quantity_atomic === '0');
    if (checksum !== undefined) this.#check(checksum);
  }

  #check(checksum: number): void {
    assert.equal(this.checksum(), checksum, 'the book is the one the server has');
    this.checked++;
  }
}
