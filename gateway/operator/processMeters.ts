/**
 * Measures this process by what Node and Linux know of it: processor, memory, files, event loop, garbage collection.
 * Owner: the gateway thread. A scrape samples first, and its metrics are those of that moment.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, type IntervalHistogram, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, type HeapSpaceInfo } from 'node:v8';
import { Histogram } from '../../shared/base/histogram.ts';

/** Interval of the samples of the event loop's delay: short enough to see a stall, long enough to cost nothing. */
const LOOP_SAMPLE_MS = 200;
const GC_BOUNDS_SEC = [0.001, 0.01, 0.1, 1, 2, 5];
const GC_KINDS: ReadonlyMap<number, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);
const KIB = 1024;
const NS_PER_SEC = 1e9;

/** An entry of a garbage collection. */
type Collection = { readonly duration: number; readonly detail?: { readonly kind: number } };
type Counts = ReadonlyMap<string, number>;
/** Resources that are one operation, as an answer of the file system or of the resolver. */
const REQUEST = /Req(?:Wrap|Callback|Promise)?$/;
const TIMERS: ReadonlySet<string> = new Set(['Timeout', 'Immediate']);

export class ProcessMeters {
  readonly startSec = Math.floor(Date.now() / 1000 - process.uptime());
  /** By kind; a kind that has not run is absent. */
  readonly gcSec = new Map<string, Histogram>();
  readonly maxFds = maxFds();
  /** The delay of a callback that the sample has asked for. */
  lagSec = 0;
  /** The event loop between this sample and the one before, in seconds. */
  loop = secondsOf(null);
  cpu = process.cpuUsage();
  memory = process.memoryUsage();
  /** Lines of /proc/self/status by name, in bytes; empty where there is none. */
  status: Counts = new Map();
  spaces: readonly HeapSpaceInfo[] = [];
  readonly #loopDelay = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  readonly #observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const kind = GC_KINDS.get(kindOf(entry));
      if (kind === undefined) continue;
      const seconds = this.gcSec.get(kind) ?? new Histogram(GC_BOUNDS_SEC);
      this.gcSec.set(kind, seconds);
      seconds.observe(entry.duration / 1000);
    }
  });

  start(): void {
    this.#loopDelay.enable();
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  stop(): void {
    this.#loopDelay.disable();
    this.#observer.disconnect();
  }

  async sample(): Promise<void> {
    this.cpu = process.cpuUsage();
    this.memory = process.memoryUsage();
    this.status = bytesOf(tryRead('/proc/self/status'));
    this.spaces = getHeapSpaceStatistics();
    this.loop = secondsOf(this.#loopDelay);
    this.#loopDelay.reset();
    const askedMs = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    this.lagSec = (performance.now() - askedMs) / 1000;
  }

  /** Undefined where Linux does not say it. The directory that is read is open itself. */
  openFds(): number | undefined {
    try {
      return readdirSync('/proc/self/fd').length - 1;
    } catch {
      return undefined;
    }
  }

  activeResources(): Counts {
    return counted(process.getActiveResourcesInfo());
  }

  // The functions of Node that list handles and requests are not documented, and end the process if one is collected.
  activeHandles(): Counts {
    return counted(process.getActiveResourcesInfo().filter((name) => !REQUEST.test(name) && !TIMERS.has(name)));
  }

  activeRequests(): Counts {
    return counted(process.getActiveResourcesInfo().filter((name) => REQUEST.test(name)));
  }
}

function kindOf({ detail }: Collection): number {
  return detail === undefined ? Number.NaN : detail.kind;
}

function counted(names: readonly string[]): Counts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Zeros if there was no sample of the loop. */
function secondsOf(delays: IntervalHistogram | null) {
  if (delays === null || delays.count === 0) return { min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 };
  return {
    min: delays.min / NS_PER_SEC,
    max: delays.max / NS_PER_SEC,
    mean: delays.mean / NS_PER_SEC,
    stddev: delays.stddev / NS_PER_SEC,
    p50: delays.percentile(50) / NS_PER_SEC,
    p90: delays.percentile(90) / NS_PER_SEC,
    p99: delays.percentile(99) / NS_PER_SEC,
  };
}

function bytesOf(status: string): Counts {
  const lines = status.matchAll(/^(Vm\w+):\s+(\d+) kB$/gm);
  return new Map([...lines].map(([, name, kibibytes]) => [name, Number(kibibytes) * KIB]));
}

function maxFds(): number | undefined {
  const soft = /^Max open files +(\d+)/m.exec(tryRead('/proc/self/limits'))?.[1];
  return soft === undefined ? undefined : Number(soft);
}

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
