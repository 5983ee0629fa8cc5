/**
 * Memory of the process by kind, and of each of its threads as V8 counts it, for the metrics.
 * Owner: the gateway thread.
 *
 * A thread is asked by an interrupt of V8, which also reaches a thread that waits in Atomics.wait, and costs it 0.05
 * ms. A thread in a system call answers after the call: until then its previous figures are shown, and no scrape waits
 * for it. To count the private memory of the process the system has to walk over all of its pages, so that figure is
 * refreshed once a minute.
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
/** The name here for threads of the query pool, whose library gives them none. */
const UNNAMED = 'query';
/** Node 22 and Node 24 give these names to a thread that has none. */
const NAMES_OF_UNNAMED: readonly string[] = ['', 'WorkerThread'];

/** Lines of /proc/self/status, in kB. */
const OF_STATUS = { resident: 'VmRSS', anonymous: 'RssAnon', file: 'RssFile', shared: 'RssShmem' } as const;

type Asked = { readonly name: string; isAsked: boolean; memory: ThreadMemory | null };

export class MemoryUse {
  readonly #threads = new Map<Worker, Asked>();
  readonly #process = new Map<string, number>();
  #privateMs = Number.NEGATIVE_INFINITY;
  /** Threads that were started earlier are not counted. */
  constructor() {
    process.on('worker', (worker) => {
      const { threadName } = worker as Worker & { readonly threadName: string };
      const name = this.#freeName(NAMES_OF_UNNAMED.includes(threadName) ? UNNAMED : threadName);
      this.#threads.set(worker, { name, isAsked: false, memory: null });
      worker.once('exit', () => this.#threads.delete(worker));
    });
  }

  /** Resolves when the figures are current, or after PATIENCE_MS. */
  async refresh(): Promise<void> {
    const asked = [this.#readStatus(), this.#readPrivate(), ...[...this.#threads].map((each) => this.#ask(...each))];
    await Promise.race([Promise.all(asked), sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  /** Bytes by kind, without the kinds that the system does not report. */
  get process(): ReadonlyMap<string, number> {
    return this.#process;
  }

  /** Memory by name of the thread. A thread that has not answered yet is left out. */
  threads(): (readonly [name: string, memory: ThreadMemory])[] {
    const others = [...this.#threads.values()].flatMap(({ name, memory }) =>
      memory === null ? [] : [[name, memory] as const],
    );
    return [[OWN, memoryOf(getHeapStatistics())], ...others];
  }

  async #ask(worker: Worker, thread: Asked): Promise<void> {
    if (thread.isAsked) return;
    thread.isAsked = true;
    // Rejected if the thread ends in the meantime.
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

  /** Two threads that run at the same time have different names; a thread's next run gets its name again. */
  #freeName(name: string): string {
    const taken = new Set([...this.#threads.values()].map((thread) => thread.name));
    for (let number = 2, free = name; ; free = `${name} ${number++}`) if (!taken.has(free)) return free;
  }
}

/** The one instance of the process. It is made before the first thread is. */
export const memoryUse = new MemoryUse();

/** In bytes. */
function sumOf(text: string, line: string): number {
  const found = text.matchAll(new RegExp(`^${line}:\\s+(\\d+) kB`, 'gm'));
  return [...found].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}
