/**
 * How fast is the matching core with everything on that needs no key? The engine the shard thread runs, one market, one
 * thread: duplicate lookup, grid, minimum, collateral, matching, fees, events and replies. Left out are the digest, the
 * signature and the journal, which have benches of their own.
 *
 * Every run starts from a fresh book. The first one reads all events back and asserts the stream's known totals and
 * every single trade; timing, allocation and latency are taken in runs of their own.
 */
import { GCProfiler } from 'node:v8';
import { Engine } from '../engine/engine.ts';
import type { JournalStore } from '../engine/journal.ts';
import type { Verifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/assert.ts';
import { Balances, createBalances } from '../shared/balances.ts';
import { OrderHasher } from '../shared/eip712.ts';
import { OK } from '../shared/errors.ts';
import * as ev from '../shared/events.ts';
import { readSafe } from '../shared/record.ts';
import {
  type CommandTape,
  encodeStream,
  idOfHash,
  setUpTape,
  TAPE_ACCOUNTS,
  TAPE_FEE_BPS,
  TAPE_LOTS,
} from './commandTape.ts';
import { Histogram } from './histogram.ts';
import { atLeast, atMost, type Goal, median, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { foldTrade, generateStream, STREAMS, type Totals } from './workload.ts';

const TIMED_RUNS = 5;
/** As often as the shard does: at the end of a full batch. */
const BATCH_COMMANDS = 256;

const LEAST_OPERATIONS_PER_SECOND = 3_000_000;
const LEAST_DEPTH_RATIO = 0.5;
const MOST_P999_US = 5;
const MOST_BYTES_PER_OPERATION = 1;

/** The tape's hashes stand for digests. */
class GivenHash extends OrderHasher {
  override digest(): void {}
}
const acceptAll: Verifier = { name: 'native', verify: () => true };
const noJournal: Pick<JournalStore, 'append'> = { append: () => {} };

export async function run(): Promise<Report> {
  const rows: Row[] = [];
  const best: number[] = [];
  const goals: Goal[] = [];
  for (const spec of STREAMS) {
    const steal = new StealMeter();
    const stream = generateStream(spec);
    const tape = encodeStream(stream);
    checkTotals(tape, spec.totals);
    runThrough(freshEngine(), tape);
    const rates = Array.from({ length: TIMED_RUNS }, () => timeRun(tape));
    const heap = measureHeap(tape);
    const latency = measureLatency(tape);
    best.push(Math.max(...rates));
    rows.push({
      stream: spec.name,
      'best ops/s': Math.max(...rates),
      'median ops/s': median(rates),
      'p50 us': latency.quantileUs(0.5),
      'p99 us': latency.quantileUs(0.99),
      'p99.9 us': latency.quantileUs(0.999),
      'max us': latency.maxNs / 1000,
      'bytes/op': heap.bytesPerOperation,
      GCs: heap.collections,
      [STOLEN]: steal.percent(),
    });
    goals.push(atMost(`${spec.name}: p99.9 us`, latency.quantileUs(0.999), MOST_P999_US));
    goals.push(atMost(`${spec.name}: heap bytes per operation`, heap.bytesPerOperation, MOST_BYTES_PER_OPERATION));
  }
  goals.unshift(
    atLeast('w: operations/s', best[0], LEAST_OPERATIONS_PER_SECOND),
    atLeast('depth: deep / w', best[1] / best[0], LEAST_DEPTH_RATIO),
  );
  return {
    bench: 'matching',
    settings:
      `1,000,000 operations, ${TAPE_ACCOUNTS} accounts, fee ${TAPE_FEE_BPS} bps, collateral on, ` +
      `best of ${TIMED_RUNS} ` +
      'fresh books; totals and every trade as known; latency with a clock read around each operation',
    rows,
    goals,
  };
}

function freshEngine(): Engine {
  const engine = new Engine({
    balances: new Balances(createBalances()),
    collateralCheck: true,
    hasher: new GivenHash(),
    verifier: acceptAll,
    journal: noJournal,
  });
  engine.goLive();
  runThrough(engine, setUpTape());
  endBatch(engine);
  return engine;
}

/** The timed loop: nothing in here but the engine. */
function runThrough(engine: Engine, tape: CommandTape): void {
  const { starts, count } = tape;
  const { words, bytes } = tape.buffer;
  for (let index = 0; index < count; index++) {
    engine.submit(words, bytes, starts[index]);
    if (index % BATCH_COMMANDS === BATCH_COMMANDS - 1) endBatch(engine);
  }
}

/** What the shard does after a commit: credits become visible, and the events are away. */
function endBatch(engine: Engine): void {
  engine.state.ledger.releaseCredits();
  engine.out.clear();
}

function timeRun(tape: CommandTape): number {
  const engine = freshEngine();
  globalThis.gc?.();
  const start = performance.now();
  runThrough(engine, tape);
  return (tape.count / (performance.now() - start)) * 1000;
}

/** All bytes the run allocated on the JavaScript heap, also those a collection took away meanwhile. */
function measureHeap(tape: CommandTape): { bytesPerOperation: number; collections: number } {
  const engine = freshEngine();
  const profiler = new GCProfiler();
  globalThis.gc?.();
  profiler.start();
  const before = process.memoryUsage().heapUsed;
  runThrough(engine, tape);
  const after = process.memoryUsage().heapUsed;
  const { statistics } = profiler.stop();
  let allocated = after - before;
  for (const { beforeGC, afterGC } of statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize;
  }
  return { bytesPerOperation: allocated / tape.count, collections: statistics.length };
}

function measureLatency(tape: CommandTape): Histogram {
  const engine = freshEngine();
  const histogram = new Histogram();
  const { starts, count } = tape;
  const { words, bytes } = tape.buffer;
  globalThis.gc?.();
  for (let index = 0; index < count; index++) {
    const start = performance.now();
    engine.submit(words, bytes, starts[index]);
    if (index % BATCH_COMMANDS === BATCH_COMMANDS - 1) endBatch(engine);
    histogram.record((performance.now() - start) * 1e6);
  }
  return histogram;
}

/** Runs the tape and reads every event: no refusal, the known totals, the known trades in the known order. */
function checkTotals(tape: CommandTape, totals: Totals): void {
  const engine = freshEngine();
  const { words, bytes } = tape.buffer;
  const idOfSlot: number[] = [];
  let trades = 0;
  let tradedLots = 0;
  let checksum = 0;
  for (let index = 0; index < tape.count; index++) {
    engine.submit(words, bytes, tape.starts[index]);
    const { words: out, lengthBytes } = engine.out;
    for (let word = 0; word < lengthBytes / 4; word += out[word] / 4) {
      const type = ev.typeOf(out[word + ev.EV_TYPE]);
      if (type === ev.EVENT.REPLY) assert(out[word + ev.EV_FLAGS] === OK, 'matching: no command is refused');
      else if (type === ev.EVENT.ORDER) idOfSlot[out[word + ev.EV_SLOT]] = idOfHash(out, word + ev.ORDER_HASH);
      else if (type === ev.EVENT.FILL) {
        const lots = readSafe(out, word + ev.FILL_LOTS) / TAPE_LOTS;
        trades++;
        tradedLots += lots;
        checksum = foldTrade(checksum, idOfSlot[out[word + ev.EV_SLOT]], lots, out[word + ev.FILL_YES_TICKS]);
      }
    }
    endBatch(engine);
  }
  assert(trades === totals.trades && tradedLots === totals.tradedLots, 'matching: the known trades and lots');
  assert(checksum === totals.checksum, 'matching: every trade has the known maker, lots and price');
  assert(engine.state.orders.openCount === totals.live, 'matching: the known orders are left');
}
