/**
 * Thread entry of the matching bench: runs one subject through every stream. Each subject has its own thread, because
 * V8 compiles for the types it has seen: in a shared thread no subject would be compiled as in a shard.
 *
 * Every run starts from a fresh book and ends with the stream's known totals. Speed, allocation and latency are taken
 * in runs of their own.
 */
import { GCProfiler } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../shared/base/assert.ts';
import { encodeStream } from './commandTape.ts';
import { Histogram } from './histogram.ts';
import { CoreRun, decodeOperations } from './matchingCore.ts';
import { checkEvents, EngineRun } from './matchingEngine.ts';
import { PeerRun, peerIds } from './matchingPeer.ts';
import type { Run } from './matchingRun.ts';
import { SCALES, type Scale, ScaledEngine } from './matchingScale.ts';
import { formatNumber, median, STOLEN, StealMeter } from './report.ts';
import { generateStream, STREAMS, type Stream, type StreamSpec, type Totals } from './workload.ts';

export type SubjectName = 'core' | 'engine' | 'scale' | 'peer';

const TIMED_RUNS = 5;
/** The peer needs ten seconds for a run. */
const PEER_TIMED_RUNS = 2;
/** The size of a full batch of the shard. */
const BATCH_COMMANDS = 256;
/** Totals for a subject that checks its own results. */
const NO_TOTALS: Totals = { trades: 0, tradedLots: 0, live: 0, checksum: 0 };

function prepare(name: SubjectName, stream: Stream): () => Run {
  if (name === 'core') {
    const operations = decodeOperations(stream);
    return () => new CoreRun(operations);
  }
  const tape = encodeStream(stream);
  checkEvents(tape, stream.spec.totals);
  return () => new EngineRun(tape);
}

function measureSubject(name: SubjectName) {
  if (name === 'scale') return SCALES.map(measureScale);
  // On the deep stream the peer would take minutes: every cancel rebuilds the index of a whole level.
  if (name === 'peer') return [measurePeer(STREAMS[0])];
  return STREAMS.map((spec) => measure(spec.name, prepare(name, generateStream(spec)), TIMED_RUNS, spec.totals));
}

function measureScale(scale: Scale) {
  const engine = new ScaledEngine(scale);
  const label = `${formatNumber(scale.markets)} mkt, ${formatNumber(scale.resting)} rest`;
  return measure(label, () => engine.next(), TIMED_RUNS);
}

function measurePeer(spec: StreamSpec) {
  const stream = generateStream(spec);
  const ids = peerIds(stream);
  return measure(spec.name, () => new PeerRun(stream, ids), PEER_TIMED_RUNS, spec.totals);
}

function measure(stream: string, start: () => Run, timedRuns: number, totals?: Totals) {
  const steal = new StealMeter();
  timeRun(start(), totals);
  const rates = Array.from({ length: timedRuns }, () => timeRun(start(), totals));
  const heap = measureHeap(start());
  const latency = measureLatency(start());
  return {
    stream,
    'best ops/s': Math.max(...rates),
    'median ops/s': median(rates),
    'p50 us': latency.quantileUs(0.5),
    'p99 us': latency.quantileUs(0.99),
    'p99.9 us': latency.quantileUs(0.999),
    'max us': latency.maxNs / 1000,
    'bytes/op': heap.bytesPerOperation,
    GCs: heap.collections,
    [STOLEN]: steal.percent(),
  };
}
export type Measured = ReturnType<typeof measure>;

/** The timed loop; it runs nothing but the subject. */
function runThrough(run: Run): void {
  const { count } = run;
  for (let index = 0; index < count; index++) {
    run.step(index);
    if (index % BATCH_COMMANDS === BATCH_COMMANDS - 1) run.endBatch();
  }
}

function timeRun(run: Run, totals: Totals = NO_TOTALS): number {
  globalThis.gc?.();
  const start = performance.now();
  runThrough(run);
  const rate = (run.count / (performance.now() - start)) * 1000;
  run.check(totals);
  return rate;
}

/** All bytes that the run allocated on the JavaScript heap, including those already collected. */
function measureHeap(run: Run): { bytesPerOperation: number; collections: number } {
  const profiler = new GCProfiler();
  globalThis.gc?.();
  profiler.start();
  const before = process.memoryUsage().heapUsed;
  runThrough(run);
  const after = process.memoryUsage().heapUsed;
  const { statistics } = profiler.stop();
  let allocated = after - before;
  for (const { beforeGC, afterGC } of statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize;
  }
  return { bytesPerOperation: allocated / run.count, collections: statistics.length };
}

function measureLatency(run: Run): Histogram {
  const histogram = new Histogram();
  globalThis.gc?.();
  for (let index = 0; index < run.count; index++) {
    const start = performance.now();
    run.step(index);
    if (index % BATCH_COMMANDS === BATCH_COMMANDS - 1) run.endBatch();
    histogram.record((performance.now() - start) * 1e6);
  }
  return histogram;
}

assert(parentPort !== null, 'matching: runs as a worker thread');
parentPort.postMessage(measureSubject(workerData as SubjectName));
