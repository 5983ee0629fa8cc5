/** A thread that is started again, on a clock of the test; the thread is a stand-in that the test ends. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { SupervisedThread } from '../../../../gateway/base/supervisedThread.ts';

class Runs {
  readonly workers: (EventEmitter & { messages: unknown[] })[] = [];
  readonly ends: (string | null)[] = [];
  startsAgain = true;
  readonly thread: SupervisedThread;
  readonly #t: TestContext;
  #nowMs = 1_000_000;

  constructor(t: TestContext) {
    this.#t = t;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(performance, 'now', () => this.#nowMs);
    this.thread = new SupervisedThread({
      name: 'busy',
      launch: () => {
        const messages: unknown[] = [];
        const postMessage = (message: unknown): number => messages.push(message);
        const worker = Object.assign(new EventEmitter(), { messages, postMessage, terminate: async () => 0 });
        this.workers.push(worker);
        return worker as unknown as Worker;
      },
      onEnd: (error) => {
        this.ends.push(error === null ? null : error.message);
        return this.startsAgain;
      },
    });
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    this.#t.mock.timers.tick(ms);
  }

  /** Ends the run after this long. @returns the time until the next run, to the millisecond. */
  end(afterMs: number, error?: Error): number {
    this.pass(afterMs);
    const worker = this.workers.at(-1)!;
    const before = this.workers.length;
    if (error !== undefined) worker.emit('error', error);
    worker.emit('exit', 1);
    for (let waitedMs = 1; waitedMs <= 10_000; waitedMs++) {
      this.pass(1);
      if (this.workers.length > before) return waitedMs;
    }
    return Number.POSITIVE_INFINITY;
  }
}

test('the wait before a new run doubles from 100 ms to 5 s, and is short again after a run of 5 s', (t) => {
  const runs = new Runs(t);
  const waits = Array.from({ length: 8 }, () => runs.end(0));
  assert.deepEqual(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  assert.equal(runs.end(4999), 5000);
  assert.deepEqual([runs.end(5000), runs.end(0)], [100, 200]);
});

test('the end of a run is reported with its error, or with its exit code', (t) => {
  const runs = new Runs(t);
  runs.end(0, new Error('out of disk'));
  runs.end(0);
  assert.deepEqual(runs.ends, ['out of disk', 'the busy thread ended with code 1']);
});

test('a thread whose end is accepted is not started again', (t) => {
  const runs = new Runs(t);
  runs.startsAgain = false;
  assert.equal(runs.end(0), Number.POSITIVE_INFINITY);
});

test('a stop asks the thread to end, reports no error and starts no other', async (t) => {
  const runs = new Runs(t);
  const stopped = runs.thread.stop();
  assert.deepEqual(runs.workers[0].messages, ['stop']);
  assert.equal(runs.end(0), Number.POSITIVE_INFINITY);
  await stopped;
  assert.deepEqual(runs.ends, [null]);
});

test('a stop between two runs starts no other, and has nothing to wait for', async (t) => {
  const runs = new Runs(t);
  runs.workers[0].emit('exit', 1);
  await runs.thread.stop();
  runs.pass(10_000);
  assert.equal(runs.workers.length, 1);
});
