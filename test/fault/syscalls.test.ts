/**
 * A kill, an I/O error or a full disk at the n-th system call that writes or syncs, in any thread of a real server:
 * while it starts, while it trades, while it stops. Whatever the process does then, what it had acknowledged is there
 * when it starts again, and what it refused is not.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fault/syscalls.test.ts
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { TestServer } from '../support/server.ts';
import { attachStrace, skipWithoutStrace, straceEnded } from '../support/strace.ts';
import { Witness } from '../support/witness.ts';

const POINTS = timesOf({ suite: 2, soak: 20 });
const SEED = seedOr(2);
const COMMANDS = timesOf({ suite: 60, soak: 120 });
const ENVIRONMENT = { SNAPSHOT_EVERY: '200', JOURNAL_KEEP: '100' };

const KILL = 'signal=SIGKILL';
/** A write may find the disk full or broken; a sync only broken. */
const FAULTS: Readonly<Record<string, readonly string[]>> = {
  pwrite64: [KILL, 'error=EIO', 'error=ENOSPC'],
  fsync: [KILL, 'error=EIO'],
  fdatasync: [KILL, 'error=EIO'],
  ftruncate: [KILL, 'error=EIO'],
  rename: [KILL, 'error=ENOSPC'],
  unlink: [KILL],
};
/** The more often a call is made, the more places there are to hit. */
const WEIGHTS = { pwrite64: 8, fsync: 4, fdatasync: 2, ftruncate: 1, rename: 1, unlink: 1 } as const;
const CALLS = Object.entries(WEIGHTS).flatMap(([call, weight]) => Array<string>(weight).fill(call));
/** About how many writes a thread makes while the server starts, trades and stops. */
const WRITES = { start: 12, trade: 80, stop: 10 } as const;
/** It makes a few of the other calls, and one more for every few writes. */
const WRITES_PER_CALL = 6;

const skip = skipWithoutStrace;
const random = seededRandom(SEED);
const directory = temporaryDirectory();

/** One point where a fault is put. */
class Point {
  readonly syscall = pick(CALLS);
  readonly fault = pick(FAULTS[this.syscall]);
  /** Small numbers more often than large ones: rare calls are as interesting. */
  readonly at: number;
  readonly #tracePath: string;

  constructor(phase: keyof typeof WRITES) {
    const reach = this.syscall === 'pwrite64' ? WRITES[phase] : 2 + WRITES[phase] / WRITES_PER_CALL;
    this.at = Math.floor(reach ** random());
    this.#tracePath = join(directory, `${phase}.trace`);
    rmSync(this.#tracePath, { force: true });
  }

  get strace(): string[] {
    const inject = `inject=${this.syscall}:${this.fault}:when=${this.at}`;
    return ['-o', this.#tracePath, '-e', `trace=${this.syscall}`, '-e', inject];
  }

  /** True if the call was reached: `isEnded` means that the server had ended by itself. */
  isHit(isEnded: boolean): boolean {
    return this.fault === KILL ? isEnded : readFileSync(this.#tracePath, 'utf8').includes('INJECTED');
  }

  toString(): string {
    return `${this.fault} at ${this.syscall} ${this.at}`;
  }
}

type Run = { readonly point: Point; readonly isHit: boolean };

const claim = `a first start that is cut short is in nobody's way, and ${POINTS} faults lose nothing acknowledged`;

test(`${claim} (SEED=${SEED})`, { skip }, async (t) => {
  const server = new TestServer(join(directory, 'data'));
  t.after(() => server.kill());
  t.diagnostic(`first start: ${(await faultWhileStarting(server)).point}`);
  await server.start(ENVIRONMENT);
  const witness = await Witness.create(server, SEED, { mayDiskFill: true });
  let hits = 0;
  const note = (phase: string, { point, isHit }: Run): void => {
    if (isHit) hits++;
    t.diagnostic(`${phase}: ${point}${isHit ? '' : ' (not reached)'}`);
  };
  for (let points = 0; points < POINTS; points += 2) {
    server.mayEnd();
    if (points % 4 === 0) note('trading', await faultWhileTrading(server, witness));
    else note('stopping', await faultWhileStopping(server, witness));
    note('starting', await faultWhileStarting(server));
    await server.start(ENVIRONMENT);
    await witness.check();
  }
  assert.ok(POINTS < 4 || hits > 0, 'some calls were reached');
});

async function faultWhileTrading(server: TestServer, witness: Witness): Promise<Run> {
  const point = new Point('trade');
  const tracer = await attachStrace(server.pid!, point.strace);
  await witness.trade({ commands: COMMANDS });
  const isEnded = server.pid === undefined;
  await server.kill();
  await straceEnded(tracer);
  return { point, isHit: point.isHit(isEnded) };
}

async function faultWhileStopping(server: TestServer, witness: Witness): Promise<Run> {
  await witness.trade({ commands: COMMANDS });
  const point = new Point('stop');
  const tracer = await attachStrace(server.pid!, point.strace);
  const code = await server.stop();
  await straceEnded(tracer);
  return { point, isHit: point.isHit(code === null) };
}

/** The server may start all the same. */
async function faultWhileStarting(server: TestServer): Promise<Run> {
  const point = new Point('start');
  // As a grandchild the tracer leaves the server our own child, with its own process id and end. Only the one system
  // call stops a thread: a start makes thousands of others.
  await server.start(ENVIRONMENT, ['strace', '--seccomp-bpf', '-D', '-f', ...point.strace]).catch(() => {});
  const isEnded = server.pid === undefined;
  await server.kill();
  return { point, isHit: point.isHit(isEnded) };
}

function pick<T>(from: readonly T[]): T {
  return from[Math.floor(random() * from.length)];
}
