/**
 * The memory of the process by kind, and that of each of its threads as V8 counts it, for the metrics.
 * Owner: the gateway thread.
 *
 * A thread is asked by an interrupt of V8, which also reaches one that waits in Atomics.wait, and costs it 0.05 ms. One
 * that is in a system call answers after that: until then its figures are those of before, and no scrape waits for it.
 * What is private to the process costs the system a walk over all of its pages, so that is asked for once a minute.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import { memoryOf, type ThreadMemory } from '../../shared/base/threadMemory.ts';

/** Time for which a scrape waits for the answers of threads. */
const PATIENCE_MS = 50;
const PRIVATE_EVERY_MS = 60_000;
/** The gateway thread itself. */
const OWN = 'gateway';
/** The library of the query pool gives its threads no name. */
const UNNAMED = 'query';

/** Lines of /proc/self/status, which says them in kB. */
const OF_STATUS = { resident: 'VmRSS', anonymous: 'RssAnon', file: 'RssFile', shared: 'RssShmem' } as const;

type Asked = { readonly name: string; isAsked: boolean; memory: ThreadMemory | null };

export class MemoryUse {
  readonly #threads = new Map<Worker, Asked>();
  readonly #process = new Map<string, number>();
  #privateMs = Number.NEGATIVE_INFINITY;
  /** Threads that were started before are not seen. */
  constructor() {
    process.on('worker', (worker) => {
      const name = this.#freeName((worker as Worker & { readonly threadName: string }).threadName || UNNAMED);
      this.#threads.set(worker, { name, isAsked: false, memory: null });
      worker.once('exit', () => this.#threads.delete(worker));
    });
  }

  /** Resolves when the figures are those of now, or after PATIENCE_MS. */
  async refresh(): Promise<void> {
    const asked = [this.#readStatus(), this.#readPrivate(), ...[...this.#threads].map((each) => this.#ask(...each))];
    await Promise.race([Promise.all(asked), sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  /** Bytes by kind, without those kinds that the system does not report. */
  get process(): ReadonlyMap<string, number> {
    return this.#process;
  }

  /** By name of the thread. One that has not answered yet is left out. */
  threads(): (readonly [name: string, memory: ThreadMemory])[] {
    const others = [...this.#threads.values()].flatMap(({ name, memory }) =>
      memory === null ? [] : [[name, memory] as const],
    );
    return [[OWN, memoryOf(getHeapStatistics())], ...others];
  }

  async #ask(worker: Worker, thread: Asked): Promise<void> {
    if (thread.isAsked) return;
    thread.isAsked = true;
    // Rejected where the thread ends meanwhile.
    const found = await worker.getHeapStatistics().catch(() => null);
    thread.isAsked = false;
    if (found !== null) thread.memory = memoryOf(found);
  }

  async #readStatus(): Promise<void> {
    const text = await readFile('/proc/self/status', 'latin1').catch(() => null);
    if (text === null) this.#process.set('resident', process.memoryUsage.rss());
    else for (const [kind, line] of Object.entries(OF_STATUS)) this.#process.set(kind, sumOf(text, line));
  }

  async #readPrivate(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#privateMs < PRIVATE_EVERY_MS) return;
    this.#privateMs = nowMs;
    const text = await readFile('/proc/self/smaps_rollup', 'latin1').catch(() => null);
    if (text !== null) this.#process.set('private', sumOf(text, 'Private_\\w+'));
  }

  /** Two threads that run at the same time have different names; the next run of a thread has the name again. */
  #freeName(name: string): string {
    const taken = new Set([...this.#threads.values()].map((thread) => thread.name));
    for (let number = 2, free = name; ; free = `${name} ${number++}`) if (!taken.has(free)) return free;
  }
}

/** A process has one. It is made before the first thread is. */
export const memoryUse = new MemoryUse();

/** In bytes. */
function sumOf(text: string, line: string): number {
  const found = text.matchAll(new RegExp(`^${line}:\\s+(\\d+) kB`, 'gm'));
  return [...found].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}
