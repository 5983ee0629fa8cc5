/**
 * The turns of a leading shard's thread: batch after batch, with housekeeping when it is idle, until a message ends
 * them. In a cluster it sleeps for commands and for the log at the same time. Owner: the shard's thread (main.ts).
 *
 * Invariant:
 *   TURNS-1  The event loop takes a turn at every housekeeping. Only there do finalizers of native objects and V8's
 *            deferred tasks run; without them memory is never freed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '../../shared/base/assert.ts';
import type { Replication } from '../../shared/wire/replication.ts';
import type { RingProducer } from '../../shared/wire/ring.ts';
import type { ShardMeters } from '../../shared/wire/shardMeters.ts';
import type { Gateways } from './gateways.ts';
import type { ShardLoop } from './loop.ts';
import type { Outlet } from './outlet.ts';
import { type End, Requests } from './requests.ts';

/** An idle shard sleeps this long before it checks for a message from the gateway. */
const STOP_POLL_MS = 250;
const ROOM_WAIT_MS = 100;
/**
 * An idle shard sleeps this long while a front has no room for its events; housekeeping is due after this many sleeps.
 */
const BEHIND_MS = 2;
const WAITS_BEHIND_PER_HOUSEKEEPING = 100;
/** Idle time before housekeeping: under load the ring is empty only for a moment after each batch. */
const QUIET_MS = 20;
/** Batches after which housekeeping is due even under load. */
const BATCHES_PER_HOUSEKEEPING = 64;
/** A longer commit counts as this long when the loop waits half a commit after a large batch. */
const LONG_COMMIT_MS = 1;
/** The pause before a step of a shard with nothing else to do: this many commits long, and at most this long. */
const PAUSE_COMMITS = 3;
const STEP_PAUSE_MS = 10;
/**
 * A stop waits this long for the log to hold everything that has run. Records that it does not hold by then were never
 * acknowledged.
 */
const STOP_HELD_MS = 3000;
assert(QUIET_MS < STOP_POLL_MS, 'shard: housekeeping starts within a wait for commands');

/** A cell that no thread notifies: waiting for it is a sleep. */
const sleeper = new Int32Array(new SharedArrayBuffer(4));

type Turns = {
  readonly loop: ShardLoop;
  readonly gateways: Gateways;
  /** The event ring of main. */
  readonly events: RingProducer;
  readonly meters: ShardMeters;
  /** Null outside of a cluster. */
  readonly memory: Replication | null;
  readonly afterHousekeeping: () => void;
  readonly isRehearsal: boolean;
};

/**
 * Runs batch after batch until a message ends it, with housekeeping when it is quiet. Housekeeping after every batch
 * would cost every commit a second sync.
 */
export async function runTurns(turns: Turns): Promise<End> {
  const { loop, gateways, events, meters, memory, afterHousekeeping, isRehearsal } = turns;
  let batchesSinceHousekeeping = 0;
  let hasMoreHousekeeping = false;
  let commitMs = 0;
  let lastCount = 0;
  let hasPaused = false;
  let waitsBehind = 0;
  const requests = new Requests(isRehearsal);
  const isHeldDue = (): boolean => loop.isHeldDue;
  for (;;) {
    if (loop.isHeldDue) release(loop, events);
    if (requests.readNowAndThen(loop) || loop.isBehind) publish(loop, events);
    const startMs = performance.now();
    const mayRun = loop.mayRun && memory?.state() !== 'lost';
    if (mayRun) runBatch(loop, commitMs);
    if (loop.ranCount > 0 && loop.ranCount * 2 < lastCount) {
      // After a large batch wait half a commit: its replies trigger commands that can share the next sync.
      Atomics.wait(sleeper, 0, 0, Math.min(commitMs, LONG_COMMIT_MS) / 2);
      runBatch(loop, commitMs);
    }
    const hasRun = loop.ranCount > 0;
    if (!hasRun) {
      if (requests.read(loop)) publish(loop, events);
      if (requests.end !== null) {
        if (memory !== null) awaitHeld(loop, events, memory);
        return requests.end;
      }
    }
    const isStepping = mayRun && loop.hasSteps && batchesSinceHousekeeping < BATCHES_PER_HOUSEKEEPING;
    if (!hasRun && !isStepping) {
      const quietMs = loop.isBehind ? BEHIND_MS : batchesSinceHousekeeping > 0 ? QUIET_MS : STOP_POLL_MS;
      const waitMs = mayRun && loop.hasSteps ? 0 : quietMs;
      const isWoken = mayRun
        ? gateways.waitSync(waitMs, isHeldDue) || loop.isHeldDue
        : waitForLog(loop, memory, waitMs);
      if (loop.isBehind && ++waitsBehind % WAITS_BEHIND_PER_HOUSEKEEPING !== 0) continue;
      const isQuiet = hasMoreHousekeeping || !isWoken;
      if (!isQuiet && batchesSinceHousekeeping < BATCHES_PER_HOUSEKEEPING) continue;
      hasMoreHousekeeping = loop.idle();
      afterHousekeeping();
      batchesSinceHousekeeping = 0;
      await nextTurn();
      continue;
    }
    if (!hasRun && !hasPaused) {
      // Between two steps the disk is mostly idle: a command that arrives then has its own commit.
      hasPaused = true;
      if (gateways.waitSync(Math.min(PAUSE_COMMITS * commitMs, STEP_PAUSE_MS))) continue;
    }
    hasPaused = false;
    if (loop.isStepDue) loop.step();
    lastCount = loop.ranCount;
    const commitStartMs = performance.now();
    const hasCommitted = loop.commit();
    if (hasCommitted) loop.credit();
    const committedMs = performance.now();
    commitMs = committedMs - commitStartMs;
    publish(loop, events);
    if (hasCommitted) measure(meters, lastCount, [startMs, commitStartMs, committedMs]);
    batchesSinceHousekeeping++;
  }
}

/** The log holds more: publishes the resulting credits and events. */
function release(loop: ShardLoop, events: RingProducer): void {
  loop.credit();
  publish(loop, events);
}

/** LOOP-10. Commands wait as well. @returns true if the log holds more */
function waitForLog(loop: ShardLoop, memory: Replication | null, timeoutMs: number): boolean {
  assert(memory !== null, 'LOOP-10: only the log of a cluster stops a shard');
  const seenBell = memory.bell();
  if (!loop.isHeldDue) memory.waitForBell(seenBell, timeoutMs);
  return loop.isHeldDue;
}

/** Before a stop: everything that has run is answered, unless the log does not accept it. */
function awaitHeld(loop: ShardLoop, events: RingProducer, memory: Replication): void {
  const deadlineMs = performance.now() + STOP_HELD_MS;
  for (;;) {
    loop.handOver();
    if (loop.isHeldDue) release(loop, events);
    const leftMs = deadlineMs - performance.now();
    if (loop.isAllHeld || leftMs <= 0 || memory.state() === 'lost') return;
    waitForLog(loop, memory, Math.min(leftMs, QUIET_MS));
  }
}

/** @param moments the times at which the batch began to run, to be committed and to be published */
function measure({ histograms }: ShardMeters, commands: number, moments: readonly [number, number, number]): void {
  const [startMs, commitStartMs, committedMs] = moments;
  histograms.batchCommands.observe(commands);
  histograms.runSec.observe((commitStartMs - startMs) / 1000);
  histograms.commitSec.observe((committedMs - commitStartMs) / 1000);
  histograms.publishSec.observe((performance.now() - committedMs) / 1000);
}

/**
 * A batch that is worth ending ends once it has run for as long as the last commit took: its replies leave soon, and on
 * a slow disk many commands still share a sync.
 */
function runBatch(loop: ShardLoop, commitMs: number): void {
  const startMs = performance.now();
  while (loop.readAhead() && !(loop.isWorthEnding && performance.now() - startMs >= commitMs)) loop.run();
}

/** Main always drains its ring, so a full ring means a short wait and never a loss. Fronts are not waited for. */
export function publish(outlet: Pick<Outlet, 'publish'>, events: RingProducer): void {
  while (!outlet.publish()) events.waitForRoom(ROOM_WAIT_MS);
}
