/** A server whose threads wait HURRY_TIMES as short (hurry.mjs), and the memory that it alone has. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDirectory } from './directory.ts';
import { eventually } from './eventually.ts';
import { type Scope, startServer, type TestServer } from './server.ts';

const PRELOADED = new URL('./hurry.mjs', import.meta.url).href;
/**
 * Waits of a second, and of a quarter of one, which verifiers and shards make, become waits of a few milliseconds, and
 * of one.
 */
const HURRY_TIMES = 250;
/** Turns in which every thread collects its garbage twice, and its finalizers run. */
const SETTLED_TURNS = 500;
/** At least this many turns come within the patience of a test, even on the busiest machine. */
const STEP_TURNS = 500;
const SAMPLES = 20;
const SAMPLE_MS = 100;
const MB = 1024 * 1024;
/** Threads that wait in Atomics.wait for as long as the exchange runs. */
const BLOCKING = /^(?:shard \d+|projector|spot checker|verifier \d+)$/;

export class HurriedServer {
  readonly server: TestServer;
  readonly #directory: string;

  private constructor(server: TestServer, directory: string) {
    this.server = server;
    this.#directory = directory;
  }

  static async start(scope: Scope, env: Record<string, string> = {}): Promise<HurriedServer> {
    const directory = temporaryDirectory();
    const server = await startServer(scope, {
      ...env,
      NODE_OPTIONS: `--import=${PRELOADED}`,
      HURRY_TIMES: String(HURRY_TIMES),
      HURRY_DIRECTORY: directory,
    });
    return new HurriedServer(server, directory);
  }

  /** By blocking thread: the number of its turns so far. */
  turns(): Map<string, number> {
    const names = readdirSync(this.#directory).filter((name) => BLOCKING.test(name));
    return new Map(names.map((name) => [name, Number(readFileSync(join(this.#directory, name), 'latin1'))]));
  }

  /** Resolves once every thread has taken this many more turns. @returns the names of these threads */
  async turned(turns: number): Promise<string[]> {
    const before = this.turns();
    for (let step = STEP_TURNS; step <= turns; step += STEP_TURNS) {
      await eventually(`${step} turns of every thread`, async () =>
        [...this.turns()].every(([name, count]) => count - (before.get(name) ?? 0) >= step),
      );
    }
    return [...before.keys()].sort();
  }

  /** MB of private memory with all that waits to be freed: the least of some samples. */
  async mb(): Promise<number> {
    let least = Number.POSITIVE_INFINITY;
    for (let sample = 0; sample < SAMPLES; sample++, await sleep(SAMPLE_MS)) {
      least = Math.min(least, privateMbOf(this.server.pid!));
    }
    return least;
  }

  /** The same once every thread has collected its garbage: memory in use, or leaked. */
  async settledMb(): Promise<number> {
    const collect = join(this.#directory, 'COLLECT');
    writeFileSync(collect, '');
    await this.turned(SETTLED_TURNS);
    const settled = await this.mb();
    rmSync(collect);
    return settled;
  }
}

function privateMbOf(pid: number): number {
  const lines = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1').matchAll(/^Private_\w+:\s+(\d+) kB/gm);
  const bytes = [...lines].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
  assert.ok(bytes > 0, 'the system tells what is private');
  return bytes / MB;
}
