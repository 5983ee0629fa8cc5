/**
 * Entry point of a shard's thread: recovers the shard, then runs its loop (loop.ts) until the gateway says stop.
 * Before that a new process has it serve a shard that is thrown away, through the same functions: V8 compiles what is
 * hot, and the first real orders find it compiled.
 * Owner: this thread owns the engine and its journal. It blocks in Atomics.wait while there is nothing to do.
 *
 * Invariant:
 *   SHARD-1  Every failure in here ends the thread. A failed assertion, write or sync is never retried; the next thread
 *            rebuilds the state from the journal. Only a rehearsal may fail: the shard itself then starts cold.
 *   SHARD-2  A rehearsal shares no memory and no file with the shard, apart from the functions that check signatures,
 *            and the gateway gets no message about it but its failure.
 */
import '../base/inlining.ts';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, type Eip712Domain, hasherFor } from '../../shared/crypto/eip712.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { Balances } from '../../shared/wire/balances.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';
import { ShardMeters } from '../../shared/wire/shardMeters.ts';
import { REHEARSED, type ShardMessage, type ShardOptions, type ShardThreadOptions } from '../../shared/wire/threads.ts';
import { Engine } from '../core/engine.ts';
import { Checkpointer } from '../journal/checkpointer.ts';
import { Journal } from '../journal/journal.ts';
import { JournalError } from '../journal/row.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { OfferedChecks } from '../verify/checkBoard.ts';
import { createVerifier } from '../verify/createVerifier.ts';
import { Kernel } from '../verify/kernel/kernel.ts';
import { KernelDigests } from '../verify/kernelDigests.ts';
import { nobleVerifier } from '../verify/noble.ts';
import { digestsBy, type OrderChecks } from '../verify/orderChecks.ts';
import { ShardChecks } from '../verify/shardChecks.ts';
import { SpotChecked } from '../verify/spotCheck.ts';
import type { BatchVerifier, Verifier } from '../verify/verifier.ts';
import { ShardLoop } from './loop.ts';
import { recover } from './recovery.ts';

/** Time for which an idle shard sleeps before it looks for a message from the gateway. */
const STOP_POLL_MS = 250;
const ROOM_WAIT_MS = 100;
/** Idle time before housekeeping: under load the ring is empty only for a moment after each batch. */
const QUIET_MS = 20;
/** Batches after which housekeeping is due even under load. */
const BATCHES_PER_HOUSEKEEPING = 64;
/** Time between two messages to the gateway about the newest row. */
const POST_HEAD_MS = 10_000;
/** A longer commit counts as this long where the loop waits half a commit after a large batch. */
const LONG_COMMIT_MS = 1;
/** The pause before a step of a shard that has nothing else to do: so many commits long, and at most this long. */
const PAUSE_COMMITS = 3;
const STEP_PAUSE_MS = 10;
assert(QUIET_MS < STOP_POLL_MS, 'shard: housekeeping starts within a wait for commands');

/** A cell that no thread notifies: waiting for it is a sleep. */
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * The same for all that a thread serves: compiled code calls their functions of WebAssembly directly, and would not fit
 * those of another instance. A verifier keeps keys of signers, which are the same everywhere.
 */
type Tools = { readonly keccak: Keccak256; readonly verifier: Verifier | BatchVerifier };

type End = 'stop' | typeof REHEARSED;

async function main({ rehearsals = [], ...options }: ShardThreadOptions): Promise<void> {
  const keccak = await createKeccak();
  const tools: Tools = { keccak, verifier: createVerifier(options.verifier, keccak) };
  for (const rehearsal of rehearsals) if ((await rehearse(rehearsal, tools)) === 'stop') return;
  await serve(options, tools);
}

async function rehearse(options: ShardOptions, tools: Tools): Promise<End> {
  try {
    return await serve(options, tools, true);
  } catch (error) {
    post({ rehearsalFailure: String(error) });
    return REHEARSED;
  }
}

/** Resolves with the message that has ended it. */
async function serve(options: ShardOptions, { keccak, verifier }: Tools, isRehearsal = false): Promise<End> {
  assert(options.shard < options.shards, 'shard: its index is below the number of shards');
  const key = await ShardKey.create(options.journalKey, options.shard);
  const journal = Journal.open({ ...options, key });
  const hasher = hasherFor(domainOf(options), keccak);
  const meters = new ShardMeters(options.meters, options.shard);
  const { checkBoard } = options;
  const checks = new ShardChecks({
    digests: verifier instanceof Kernel ? new KernelDigests(verifier, hasher) : digestsBy(hasher),
    verifier,
    board: checkBoard === null ? undefined : new OfferedChecks(checkBoard, options.shard),
    batchSizes: meters.histograms.batchSignatures,
  });
  const { engine, fromSequence, damaged } = recover(
    journal,
    options.directory,
    options.shard,
    () =>
      new Engine({
        balances: new Balances(options.balances, options.shard),
        collateralCheck: options.collateralCheck,
        checks: spotChecked(options, checks, verifier.name, keccak),
        journal,
      }),
  );
  const progress = new Progress(options.progress);
  requireCommitted(engine.sequence, progress.committed(options.shard), options.journalPath);
  const clock = systemClock;
  const postOnlyUntilMs = options.postOnlyMs === 0 ? 0 : clock.nowMs() + options.postOnlyMs;
  engine.goLive(postOnlyUntilMs, options.maxOrdersEver);
  const checkpointer = new Checkpointer(options.journalPath);
  journal.checkpointsBy(checkpointer.cell);
  if (!isRehearsal) post({ report: { verifier: verifier.name, recovered: engine.sequence, fromSequence, damaged } });

  progress.setCommitted(options.shard, engine.sequence);
  const commands = new RingConsumer(options.commandRing);
  const events = new RingProducer(options.eventRing);
  const loop = new ShardLoop({
    shard: options.shard,
    engine,
    journal,
    progress,
    commands,
    events,
    clock,
    checks,
    meters,
  });
  engine.describe(() => publish(loop, events));
  const heads = options.journalSync === 'full' && !isRehearsal ? new HeadReport(journal) : null;
  const report = (): void => {
    progress.setReserveBytes(options.shard, journal.reserveLeftBytes());
    checks.counts.report(meters);
    heads?.postIfDue();
  };
  report();
  const close = async (): Promise<void> => {
    // The connection that is closed last removes the WAL.
    await checkpointer.end();
    journal.close();
  };
  let end: End;
  try {
    end = run(loop, commands, events, meters, report, isRehearsal);
  } catch (error) {
    // Of a shard nothing is written any more. A rehearsal has nothing to keep, and its thread goes on.
    if (isRehearsal) await close();
    throw error;
  }
  heads?.post();
  await close();
  return end;
}

/** The checks are checked themselves, unless the reference makes them. */
function spotChecked(options: ShardOptions, checks: OrderChecks, name: string, keccak: Keccak256): OrderChecks {
  if (name === 'noble') return checks;
  const digests = digestsBy(hasherFor(domainOf(options), keccak));
  const { spotMemory: memory, shard } = options;
  return new SpotChecked({ memory, shard, checks, digests, reference: nobleVerifier(keccak) });
}

function domainOf({ chainId, exchangeAddress: verifyingContract }: ShardOptions): Eip712Domain {
  return { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId, verifyingContract };
}

/**
 * Runs batch after batch until a message ends it, with housekeeping when it is quiet. Housekeeping after every batch
 * would cost every commit a second sync.
 */
function run(
  loop: ShardLoop,
  commands: RingConsumer,
  events: RingProducer,
  meters: ShardMeters,
  afterHousekeeping: () => void,
  isRehearsal: boolean,
): End {
  let batchesSinceHousekeeping = 0;
  let hasMoreHousekeeping = false;
  let commitMs = 0;
  let lastCount = 0;
  let hasPaused = false;
  for (;;) {
    const startMs = performance.now();
    runBatch(loop, commitMs);
    if (loop.ranCount > 0 && loop.ranCount * 2 < lastCount) {
      // After a large batch wait half a commit: its replies trigger commands that can share the next sync.
      Atomics.wait(sleeper, 0, 0, Math.min(commitMs, LONG_COMMIT_MS) / 2);
      runBatch(loop, commitMs);
    }
    const hasRun = loop.ranCount > 0;
    const end = hasRun ? null : receivedEnd();
    // The rehearsal may have failed before it got its message, which then says nothing to the shard.
    if (end === 'stop' || (end === REHEARSED && isRehearsal)) return end;
    const isStepping = loop.hasSteps && batchesSinceHousekeeping < BATCHES_PER_HOUSEKEEPING;
    if (!hasRun && !isStepping) {
      const waitMs = loop.hasSteps ? 0 : batchesSinceHousekeeping > 0 ? QUIET_MS : STOP_POLL_MS;
      const isQuiet = hasMoreHousekeeping || !commands.waitSync(waitMs);
      if (!isQuiet && batchesSinceHousekeeping < BATCHES_PER_HOUSEKEEPING) continue;
      hasMoreHousekeeping = loop.idle();
      afterHousekeeping();
      batchesSinceHousekeeping = 0;
      continue;
    }
    if (!hasRun && !hasPaused) {
      // Between two steps alone the disk is mostly idle: a command that comes then has a commit of its own.
      hasPaused = true;
      if (commands.waitSync(Math.min(PAUSE_COMMITS * commitMs, STEP_PAUSE_MS))) continue;
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

function receivedEnd(): End | null {
  return parentPort === null ? null : (receiveMessageOnPort(parentPort)?.message ?? null);
}

/** @param moments when the batch began to run, to be committed and to be published */
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

/**
 * An earlier thread of this process committed up to `committed` and may have acknowledged it: a shorter journal has
 * lost records.
 */
function requireCommitted(sequence: number, committed: number, journalPath: string): void {
  if (sequence >= committed) return;
  throw new JournalError(`journal ${journalPath}: ends at ${sequence}, but ${committed} was committed`);
}

/** Reports now and then how far the journal goes. Used where a committed row survives a power cut. */
class HeadReport {
  readonly #journal: Journal;
  #postedSequence = 0;
  #postedMs = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  postIfDue(): void {
    if (performance.now() - this.#postedMs >= POST_HEAD_MS) this.post();
  }

  post(): void {
    const { sequence, chainLow, chainHigh } = this.#journal.head;
    if (sequence === this.#postedSequence) return;
    post({ head: { sequence, chainLow, chainHigh } });
    this.#postedSequence = sequence;
    this.#postedMs = performance.now();
  }
}

function post(message: ShardMessage): void {
  parentPort?.postMessage(message);
}

/** The gateway always drains the ring, so a full one is a short wait and never a loss. */
function publish(loop: ShardLoop, events: RingProducer): void {
  while (!loop.publish()) events.waitForRoom(ROOM_WAIT_MS);
}

assert(parentPort !== null, 'shard: runs as a worker thread');
await main(workerData as ShardThreadOptions);
