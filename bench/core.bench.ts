/**
 * How fast is the book alone? The real order rows, queues, levels and crossing loop, with the settlement arithmetic of
 * every fill, on one thread and nothing around them: no checks, hash index, accounts, digest or events (the `matching`
 * bench has all of those on). What the matcher would tell them ends in stand-ins that count.
 *
 * Every run asserts the stream's known totals and the checksum over every single trade.
 */
import type { Digest } from '../engine/digest.ts';
import type { Emitter } from '../engine/emit.ts';
import { ExpiryHeap } from '../engine/expiry.ts';
import type { HashIndex } from '../engine/hashIndex.ts';
import type { Ledger } from '../engine/ledger.ts';
import { Market } from '../engine/market.ts';
import { Markets } from '../engine/markets.ts';
import { Matcher } from '../engine/matcher.ts';
import { Orders } from '../engine/orders.ts';
import { assert } from '../shared/assert.ts';
import { CLOSE_REASON, MARKET_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/codes.ts';
import { packKind } from '../shared/commands.ts';
import { atLeast, median, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import {
  foldTrade,
  generateStream,
  ID_OFFSET,
  LOTS_OFFSET,
  OPERATION,
  OPERATION_BYTES,
  STREAMS,
  type Stream,
  type Totals,
} from './workload.ts';

const TIMED_RUNS = 5;
const LEAST_OPERATIONS_PER_SECOND = 3_000_000;
const TICKS_PER_UNIT = 100;
const FEE_BPS = 50;
const KINDS = [SIDE.BUY, SIDE.SELL].map((side) => packKind(side, OUTCOME.YES, TIME_IN_FORCE.GTC, 0));

/** The stream as columns, so that the timed loop decodes nothing. */
type Columns = { type: Uint8Array; side: Uint8Array; ticks: Uint8Array; lots: Uint32Array; id: Uint32Array };

export async function run(): Promise<Report> {
  const rows: Row[] = [];
  const best: number[] = [];
  for (const spec of STREAMS) {
    const steal = new StealMeter();
    const columns = toColumns(generateStream(spec));
    runOnce(columns, spec.totals);
    const rates = Array.from({ length: TIMED_RUNS }, () => runOnce(columns, spec.totals));
    best.push(Math.max(...rates));
    rows.push({
      stream: spec.name,
      'best ops/s': Math.max(...rates),
      'median ops/s': median(rates),
      [STOLEN]: steal.percent(),
    });
  }
  return {
    bench: 'core',
    settings: `1,000,000 operations, one market, fee ${FEE_BPS} bps, best of ${TIMED_RUNS} books; totals as known`,
    rows,
    goals: [atLeast('w: operations/s', best[0]!, LEAST_OPERATIONS_PER_SECOND)],
  };
}

/** One pass over a fresh book. @returns operations per second. */
function runOnce(stream: Columns, totals: Totals): number {
  const { type, side, ticks, lots, id } = stream;
  const orders = new Orders(1 << 17);
  const tally = new Tally();
  const markets = new Markets();
  const market = new Market(orders, 0, new Uint32Array(4), TICKS_PER_UNIT, 100, MARKET_STATUS.ACTIVE, FEE_BPS, 0, 1);
  const matcher = new Matcher(
    orders,
    noLedger,
    noHashes,
    new ExpiryHeap(orders),
    markets,
    noDigest,
    tally as unknown as Emitter,
  );
  const slotOf = new Int32Array(id.length);
  tally.idOf = new Uint32Array(1 << 20);
  globalThis.gc?.();
  const start = performance.now();
  for (let index = 0; index < id.length; index++) {
    if (type[index] === OPERATION.CANCEL) {
      matcher.close(market, slotOf[id[index]!]!, CLOSE_REASON.USER);
      continue;
    }
    const slot = place(orders, side[index]!, ticks[index]!, lots[index]!, index);
    tally.idOf[slot] = id[index]!;
    matcher.match(market, slot);
    if (orders.remainingLots[slot] === 0) matcher.close(market, slot, CLOSE_REASON.FILLED);
    else if (type[index] === OPERATION.SWEEP) matcher.close(market, slot, CLOSE_REASON.FAK_REMAINDER);
    else {
      market.book.rest(slot);
      slotOf[id[index]!] = slot;
    }
  }
  const seconds = (performance.now() - start) / 1000;
  assert(tally.trades === totals.trades && tally.tradedLots === totals.tradedLots, 'core: the known trades');
  assert(orders.openCount === totals.live, 'core: the known orders are left');
  assert(tally.checksum === totals.checksum, 'core: every single trade is the known one');
  return id.length / seconds;
}

function place(orders: Orders, side: number, yesTicks: number, lots: number, sequence: number): number {
  const slot = orders.allocate(1);
  orders.kind[slot] = KINDS[side]!;
  orders.isBid[slot] = 1 - side;
  orders.limitTicks[slot] = yesTicks;
  orders.yesTicks[slot] = yesTicks;
  orders.feeBps[slot] = FEE_BPS;
  orders.quantityLots[slot] = lots;
  orders.remainingLots[slot] = lots;
  orders.filledNotionalMicro[slot] = 0;
  orders.sequence[slot] = sequence;
  return slot;
}

function toColumns({ bytes, spec }: Stream): Columns {
  const count = spec.operations;
  const columns: Columns = {
    type: new Uint8Array(count),
    side: new Uint8Array(count),
    ticks: new Uint8Array(count),
    lots: new Uint32Array(count),
    id: new Uint32Array(count),
  };
  for (let index = 0; index < count; index++) {
    const at = index * OPERATION_BYTES;
    columns.type[index] = bytes[at]!;
    columns.side[index] = bytes[at + 1]!;
    columns.ticks[index] = bytes[at + 2]!;
    columns.lots[index] = bytes.readUInt32LE(at + LOTS_OFFSET);
    columns.id[index] = bytes.readUInt32LE(at + ID_OFFSET);
  }
  return columns;
}

/** Takes the place of the event writer: counts and folds the trades it is told. */
class Tally {
  trades = 0;
  tradedLots = 0;
  checksum = 0;
  idOf = new Uint32Array(0);

  fill(maker: number, _taker: number, _sequence: number, _type: number, yesTicks: number, lots: number): void {
    this.trades++;
    this.tradedLots += lots;
    this.checksum = foldTrade(this.checksum, this.idOf[maker]!, lots, yesTicks);
  }

  closed(): void {}
}

const nothing = (): void => {};
const noHashes = { close: nothing } as unknown as HashIndex;
const noDigest = { order: nothing, orderClosed: nothing } as unknown as Digest;
const noLedger = {
  spendReserved: nothing,
  spendReservedTokens: nothing,
  credit: nothing,
  addTokens: nothing,
  release: nothing,
  releaseTokens: nothing,
} as unknown as Ledger;
