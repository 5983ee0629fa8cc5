/**
 * Thread entry of a shard: recovers it, then takes the turns of its loop (shardLoop.ts) until it is told to stop.
 * Owner: this thread owns the engine and its journal; it blocks in Atomics.wait when there is nothing to do.
 *
 * Invariant S3: whatever goes wrong in here ends the thread. An assertion, a failed write or a failed sync is never
 * retried, and the journal rebuilds the state.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { assert } from '../shared/assert.ts';
import { Balances } from '../shared/balances.ts';
import { systemClock } from '../shared/clock.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../shared/eip712.ts';
import { createKeccak, type Keccak256 } from '../shared/keccak.ts';
import { Progress } from '../shared/progress.ts';
import { RingConsumer, RingProducer } from '../shared/ring.ts';
import type { ShardOptions } from '../shared/threads.ts';
import { Checkpointer } from './checkpointer.ts';
import { Engine } from './engine.ts';
import { Journal } from './journal.ts';
import { JournalError } from './journalRow.ts';
import { recover } from './recovery.ts';
import { ShardLoop } from './shardLoop.ts';
import { cachedNobleVerifier } from './verify/cachedNoble.ts';
import { OfferedChecks } from './verify/checkBoard.ts';
import { SharedTables } from './verify/sharedTables.ts';
import { createVerifier, type Verifier } from './verify/verifier.ts';

/** How long an idle shard sleeps before it looks for a message from the gateway. */
const IDLE_WAIT_MS = 250;
const ROOM_WAIT_MS = 100;
/** No command for that long is quiet enough for a rest. */
const SETTLE_MS = 20;
/** Batches until a rest is due in any case. */
const BATCHES_PER_REST = 64;
/** A commit that others are likely to want to share is put off by half of what the last one took, or half of this. */
const LONG_COMMIT_MS = 1;
/** Nobody notifies it. */
const never = new Int32Array(new SharedArrayBuffer(4));

export type ShardMessage = 'stop';
/** How the shard came back, for the log. */
export type ShardReport = {
  readonly verifier: string;
  readonly recovered: number;
  readonly fromSequence: number;
  readonly damaged: readonly string[];
};

async function main(options: ShardOptions): Promise<void> {
  const keccak = await createKeccak();
  const ownVerifier = shardVerifier(options, keccak);
  const journal = Journal.open(options);
  const domain = {
    name: DOMAIN_NAME,
    version: DOMAIN_VERSION,
    chainId: options.chainId,
    verifyingContract: options.exchangeAddress,
  };
  const hasher = hasherFor(domain, keccak);
  const { checkBoard } = options;
  const checks = checkBoard === null ? undefined : new OfferedChecks(checkBoard, options.shard, ownVerifier, hasher);
  const verifier = checks ?? ownVerifier;
  const { engine, fromSequence, damaged } = recover(
    journal,
    options.directory,
    options.shard,
    () =>
      new Engine({
        balances: new Balances(options.balances, options.shard),
        collateralCheck: options.collateralCheck,
        hasher,
        verifier,
        journal,
      }),
  );
  const progress = new Progress(options.progress);
  requireCommitted(engine.sequence, progress.committed(options.shard), options.journalPath);
  const clock = systemClock;
  engine.goLive(options.postOnlyMs === 0 ? 0 : clock.nowMs() + options.postOnlyMs);
  const checkpointer = new Checkpointer(options.journalPath);
  journal.checkpointsBy(checkpointer.cell);
  const report: ShardReport = { verifier: verifier.name, recovered: engine.sequence, fromSequence, damaged };
  parentPort?.postMessage(report);

  progress.setCommitted(options.shard, engine.sequence);
  const commands = new RingConsumer(options.commandRing);
  const events = new RingProducer(options.eventRing);
  const loop = new ShardLoop({ shard: options.shard, engine, journal, progress, commands, events, clock, checks });
  engine.describe(() => publish(loop, events));
  run(loop, commands, events);
  // The connection that is closed last clears the WAL away.
  await checkpointer.end();
  journal.close();
}

/** Without the native library it takes the tables that verifier threads have made, and makes none. */
function shardVerifier({ verifier, signerTables }: ShardOptions, keccak: Keccak256): Verifier {
  const chosen = createVerifier(verifier, keccak);
  if (chosen.name === 'native' || signerTables === null) return chosen;
  return cachedNobleVerifier(keccak, { shared: new SharedTables(signerTables), makesTables: false });
}

/**
 * Takes the turns of the loop until the gateway says stop. Under load the ring is empty for a moment after every batch:
 * a rest each time would cost every commit a second sync. A batch that is worth ending ends as soon as it has taken as
 * long as the last commit did: its answers leave soon, and a slow disk is still shared by many. The first to come
 * behind a large batch are the first of those that its answers bring: they wait a moment for the others.
 */
function run(loop: ShardLoop, commands: RingConsumer, events: RingProducer): void {
  let unrested = 0;
  let hasMore = false;
  let commitMs = 0;
  let lastCount = 0;
  for (;;) {
    runBatch(loop, commitMs);
    if (loop.ranCount > 0 && loop.ranCount * 2 < lastCount) {
      Atomics.wait(never, 0, 0, Math.min(commitMs, LONG_COMMIT_MS) / 2);
      runBatch(loop, commitMs);
    }
    if (loop.ranCount === 0) {
      if (parentPort !== null && receiveMessageOnPort(parentPort)?.message === 'stop') return;
      const isQuiet = hasMore || !commands.waitSync(unrested > 0 ? SETTLE_MS : IDLE_WAIT_MS);
      if (!isQuiet && unrested < BATCHES_PER_REST) continue;
      hasMore = loop.rest();
      unrested = 0;
      continue;
    }
    lastCount = loop.ranCount;
    const commitStartMs = performance.now();
    if (loop.commit()) loop.credit();
    commitMs = performance.now() - commitStartMs;
    publish(loop, events);
    unrested++;
  }
}

function runBatch(loop: ShardLoop, commitMs: number): void {
  const startMs = performance.now();
  while (loop.look() && !(loop.isWorthEnding && performance.now() - startMs >= commitMs)) loop.run();
}

/** What an earlier thread of this process has committed may have been answered: a journal without it is not the one. */
function requireCommitted(sequence: number, committed: number, journalPath: string): void {
  if (sequence >= committed) return;
  throw new JournalError(`journal ${journalPath}: ends at ${sequence}, but ${committed} was committed`);
}

/** The gateway always drains, so a full ring is a short wait and never a loss. */
function publish(loop: ShardLoop, events: RingProducer): void {
  while (!loop.publish()) events.waitForRoom(ROOM_WAIT_MS);
}

assert(parentPort !== null, 'shard: runs as a worker thread');
await main(workerData as ShardOptions);
