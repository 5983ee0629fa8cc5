/**
 * The standard order stream: a seeded flow of limit orders around a walking mid price, cancels of random live orders
 * and sweeps through the whole book. The hash of their bytes fixes two streams, so that engines in any language can be
 * compared by their totals: equal totals mean equal matching.
 *
 * One operation is 16 bytes, little-endian:
 *   byte 0 operation (OPERATION)   1 side   2 price in ticks, 1 … 99   3 –   4 lots (u32)   8 order id (u32)   12 –
 * A placed order's id is the next number from 0; a cancel names an order that is live at that moment.
 */
import { createHash } from 'node:crypto';
import { assert } from '../shared/base/assert.ts';
import { SIDE, type Side } from '../shared/base/codes.ts';
import { seededRandom } from '../test/support/random.ts';

export const OPERATION = { PLACE: 0, CANCEL: 1, SWEEP: 2 } as const;
export const OPERATION_BYTES = 16;
export const LOTS_OFFSET = 4;
export const ID_OFFSET = 8;
const LAST_TICK = 99;

/** The parameters of a stream and its known totals. */
export type StreamSpec = {
  readonly name: string;
  readonly operations: number;
  readonly seed: number;
  /** With fewer live orders a cancel becomes a placement, with more a placement becomes a cancel. */
  readonly minLive: number;
  readonly maxLive: number;
  readonly sha256: string;
  readonly totals: Totals;
};

/** `checksum` folds in maker, lots and price of every trade in order: see `foldTrade`. */
export type Totals = {
  readonly trades: number;
  readonly tradedLots: number;
  readonly live: number;
  readonly checksum: number;
};

export type Stream = { readonly spec: StreamSpec; readonly bytes: Buffer; readonly placed: number };

export const STREAMS: readonly StreamSpec[] = [
  {
    name: 'w',
    operations: 1_000_000,
    seed: 42,
    minLive: 2000,
    maxLive: 20_000,
    sha256: '007cd2d1bef22a18f41a811a3768e7fedfc58ed1fcc281a8f1265a4f1110a4f5',
    totals: { trades: 200_103, tradedLots: 15_124_110, live: 2138, checksum: -791_076_146 },
  },
  {
    name: 'deep',
    operations: 1_000_000,
    seed: 42,
    minLive: 50_000,
    maxLive: 100_000,
    sha256: '9ebb70776626919dcd9bacdf37d9b13712b973dd1dea47c51518a6ebc7bfef69',
    totals: { trades: 324_634, tradedLots: 21_387_597, live: 50_087, checksum: -1_787_687_449 },
  },
];

const PLACE_SHARE = 0.55;
const PLACE_AND_CANCEL_SHARE = 0.95;
const FIRST_MID = 50;
const LOWEST_MID = 30;
const HIGHEST_MID = 70;
const MID_STEP_OPERATIONS = 2000;
const MEAN_DISTANCE_TICKS = 5;
const MOST_DISTANCE_TICKS = 29;
const MOST_PLACED_LOTS = 200;
const MOST_SWEPT_LOTS = 600;

/** Generates the stream and asserts that its bytes are the known ones. */
export function generateStream(spec: StreamSpec): Stream {
  const random = seededRandom(spec.seed);
  const bytes = Buffer.alloc(spec.operations * OPERATION_BYTES);
  const live = new LiveOrders(spec.operations);
  const book = new ReferenceBook(spec.operations, (id) => live.remove(id));
  let mid = FIRST_MID;
  let placed = 0;

  for (let index = 0; index < spec.operations; index++) {
    if (index % MID_STEP_OPERATIONS === MID_STEP_OPERATIONS - 1) {
      mid = clamp(mid + (random() < 0.5 ? -1 : 1), LOWEST_MID, HIGHEST_MID);
    }
    // The bytes of the stream depend on the order of all draws below, also of unused ones.
    const operation = chooseOperation(random(), live.count, spec);
    const drawnSide = random() < 0.5 ? SIDE.BUY : SIDE.SELL;
    if (operation === OPERATION.CANCEL) {
      const id = live.at(Math.floor(random() * live.count));
      write(bytes, index, operation, book.side[id] as Side, book.tick[id], 0, id);
      book.cancel(id);
      live.remove(id);
      continue;
    }
    const id = placed++;
    if (operation === OPERATION.PLACE) {
      const distance = Math.min(MOST_DISTANCE_TICKS, 1 + Math.floor(-Math.log(1 - random()) * MEAN_DISTANCE_TICKS));
      const tick = drawnSide === SIDE.BUY ? mid - distance : mid + distance;
      const lots = 1 + Math.floor(random() * MOST_PLACED_LOTS);
      if (book.place(id, drawnSide, tick, lots) > 0) live.add(id);
      write(bytes, index, operation, drawnSide, tick, lots, id);
    } else {
      const tick = drawnSide === SIDE.BUY ? LAST_TICK : 1;
      const lots = 1 + Math.floor(random() * MOST_SWEPT_LOTS);
      book.sweep(id, drawnSide, tick, lots);
      write(bytes, index, operation, drawnSide, tick, lots, id);
    }
  }
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  assert(sha256 === spec.sha256, 'workload: the stream has the known bytes');
  const { totals } = spec;
  assert(
    book.trades === totals.trades && book.tradedLots === totals.tradedLots && live.count === totals.live,
    'workload: the reference book comes to the known totals',
  );
  assert(book.checksum === totals.checksum, 'workload: the reference book makes the known trades in the known order');
  return { spec, bytes, placed };
}

/** The running 32-bit sum over all trades of a run; the price is the maker's. */
export function foldTrade(checksum: number, makerId: number, lots: number, tick: number): number {
  return (Math.imul(checksum, 31) + Math.imul(makerId, 7) + lots * tick) | 0;
}

function chooseOperation(draw: number, liveCount: number, spec: StreamSpec): number {
  if (draw >= PLACE_AND_CANCEL_SHARE) return OPERATION.SWEEP;
  if (draw < PLACE_SHARE) return liveCount > spec.maxLive ? OPERATION.CANCEL : OPERATION.PLACE;
  return liveCount < spec.minLive ? OPERATION.PLACE : OPERATION.CANCEL;
}

function write(
  bytes: Buffer,
  index: number,
  operation: number,
  side: Side,
  tick: number,
  lots: number,
  id: number,
): void {
  const at = index * OPERATION_BYTES;
  bytes[at] = operation;
  bytes[at + 1] = side;
  bytes[at + 2] = tick;
  bytes.writeUInt32LE(lots, at + LOTS_OFFSET);
  bytes.writeUInt32LE(id, at + ID_OFFSET);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/** A set with random access by index: a removal moves the last member into the gap. */
class LiveOrders {
  count = 0;
  readonly #ids: Int32Array;
  readonly #place: Int32Array;

  constructor(capacity: number) {
    this.#ids = new Int32Array(capacity);
    this.#place = new Int32Array(capacity).fill(-1);
  }

  at(place: number): number {
    return this.#ids[place];
  }

  add(id: number): void {
    this.#place[id] = this.count;
    this.#ids[this.count++] = id;
  }

  remove(id: number): void {
    const place = this.#place[id];
    const last = this.#ids[--this.count];
    this.#ids[place] = last;
    this.#place[last] = place;
    this.#place[id] = -1;
  }
}

type Queue = { ids: number[]; first: number };

/**
 * Price-time matching in its simplest form: a list for each price, searched from the best price on. A cancelled order
 * stays in its list with nothing left and is dropped when it reaches the front.
 */
class ReferenceBook {
  trades = 0;
  tradedLots = 0;
  checksum = 0;
  readonly side: Uint8Array;
  readonly tick: Uint8Array;
  readonly #left: Int32Array;
  readonly #queues: readonly (readonly Queue[])[] = [SIDE.BUY, SIDE.SELL].map(() =>
    Array.from({ length: LAST_TICK + 1 }, () => ({ ids: [], first: 0 })),
  );
  readonly #onFilled: (id: number) => void;

  constructor(capacity: number, onFilled: (id: number) => void) {
    this.side = new Uint8Array(capacity);
    this.tick = new Uint8Array(capacity);
    this.#left = new Int32Array(capacity);
    this.#onFilled = onFilled;
  }

  /** @returns the lots that rest. */
  place(id: number, side: Side, tick: number, lots: number): number {
    const left = this.sweep(id, side, tick, lots);
    if (left > 0) this.#queues[side][tick].ids.push(id);
    this.#left[id] = left;
    return left;
  }

  /** @returns the lots that were not filled; they do not rest. */
  sweep(id: number, side: Side, limit: number, lots: number): number {
    this.side[id] = side;
    this.tick[id] = limit;
    const opposite = this.#queues[side === SIDE.BUY ? SIDE.SELL : SIDE.BUY];
    let left = lots;
    if (side === SIDE.BUY)
      for (let tick = 1; tick <= limit && left > 0; tick++) left = this.#take(opposite[tick], tick, left);
    else for (let tick = LAST_TICK; tick >= limit && left > 0; tick--) left = this.#take(opposite[tick], tick, left);
    return left;
  }

  cancel(id: number): void {
    this.#left[id] = 0;
  }

  #take(queue: Queue, tick: number, wanted: number): number {
    let left = wanted;
    while (left > 0 && queue.first < queue.ids.length) {
      const maker = queue.ids[queue.first];
      const lots = Math.min(left, this.#left[maker]);
      if (lots > 0) {
        left -= lots;
        this.#left[maker] -= lots;
        this.trades++;
        this.tradedLots += lots;
        this.checksum = foldTrade(this.checksum, maker, lots, tick);
        if (this.#left[maker] === 0) this.#onFilled(maker);
      }
      if (this.#left[maker] === 0) queue.first++;
    }
    if (queue.first === queue.ids.length && queue.first > 0) {
      queue.ids.length = 0;
      queue.first = 0;
    }
    return left;
  }
}
