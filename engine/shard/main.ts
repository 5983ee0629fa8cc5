/**
 * Entry point of a shard's thread: recovers the shard, then takes its turns (turns.ts) until the gateway says stop. On
 * a standby it first applies the leader's records (follower.ts) until the gateway makes it lead. Before that, in a new
 * process, it serves a rehearsal shard that is thrown away, through the same functions: so V8 has compiled the hot code
 * before the first real order. Owner: this thread owns the engine and its journal. It blocks in Atomics.wait while
 * there is nothing to do.
 *
 * Invariant:
 *   SHARD-1  Every failure in here ends the thread. A failed assertion, write or sync is never retried; the next thread
 *            rebuilds the state from the journal. Only a rehearsal may fail: the shard itself then starts cold.
 *   SHARD-2  A rehearsal shares no memory and no file with the shard, apart from the functions that check signatures,
 *            and the gateway gets no message about it but its failure.
 */
import '../base/inlining.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, type Eip712Domain, hasherFor } from '../../shared/crypto/eip712.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import { Balances } from '../../shared/wire/balances.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { OutboxProducer, Replication } from '../../shared/wire/replication.ts';
import { ShardMeters } from '../../shared/wire/shardMeters.ts';
import { REHEARSED, type ShardMessage, type ShardOptions, type ShardThreadOptions } from '../../shared/wire/threads.ts';
import { Engine } from '../core/engine.ts';
import { NEWEST_RULES } from '../core/rules.ts';
import { Checkpointer } from '../journal/checkpointer.ts';
import { Journal } from '../journal/journal.ts';
import type { JournalStore } from '../journal/journalStore.ts';
import { ReplicatedJournal } from '../journal/replicatedJournal.ts';
import { JournalError, type JournalHead } from '../journal/row.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { RunAdoption } from '../snapshot/adoption.ts';
import { OfferedChecks } from '../verify/checkBoard.ts';
import { createVerifier } from '../verify/createVerifier.ts';
import { FUSED_PROBLEM } from '../verify/kernel/instance.ts';
import { Kernel } from '../verify/kernel/kernel.ts';
import { KernelDigests } from '../verify/kernelDigests.ts';
import { nobleVerifier } from '../verify/noble.ts';
import { digestsBy, type OrderChecks } from '../verify/orderChecks.ts';
import { ShardChecks } from '../verify/shardChecks.ts';
import { SpotChecked } from '../verify/spotCheck.ts';
import type { BatchVerifier, Verifier } from '../verify/verifier.ts';
import { Follower, follow } from './follower.ts';
import { Gateways } from './gateways.ts';
import { Inbox } from './inbox.ts';
import { ShardLoop } from './loop.ts';
import { Outlet } from './outlet.ts';
import { recover } from './recovery.ts';
import type { End } from './requests.ts';
import { publish, runTurns } from './turns.ts';

/** Time between two messages to the gateway about the newest row. */
const POST_HEAD_MS = 10_000;
/** Hashes that a shard looks at beside its commands, to forget those that it may. */
const SWEPT_BETWEEN = 1 << 12;
/** Time between two looks at the memory of the checkpointer. */
const REPORT_MEMORY_MS = 10_000;

/**
 * Shared by all shards that a thread serves: compiled code calls these WebAssembly functions directly, and would not
 * fit another instance's. A verifier caches signers' keys, which are the same everywhere.
 */
type Tools = { readonly keccak: Keccak256; readonly verifier: Verifier | BatchVerifier };

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

/** Resolves with the message that ended it. */
async function serve(options: ShardOptions, tools: Tools, isRehearsal = false): Promise<End> {
  assert(options.shard < options.shards, 'shard: its index is below the number of shards');
  const key = await ShardKey.create(options.journalKey, options.shard);
  const { checks, engine, journal, meters, recovery } = recovered(options, tools, key);
  const { shard } = options;
  const progress = new Progress(options.progress);
  requireCommitted(engine.sequence, progress.committed(shard), options.journalPath);
  const clock = systemClock;
  const goLive = (): void => {
    const postOnlyUntilMs = options.postOnlyMs === 0 ? 0 : clock.nowMs() + options.postOnlyMs;
    engine.goLive(postOnlyUntilMs, options.maxOrdersEver, rulesOf(options));
  };
  const isFollowing = options.replication?.mode === 'follow';
  if (!isFollowing) goLive();
  const checkpointer = new Checkpointer(options.journalPath);
  journal.checkpointsBy(checkpointer.cell);
  if (!isRehearsal) post({ report: recovery });

  progress.setCommitted(shard, engine.sequence);
  const gateways = new Gateways(options, post);
  const events = gateways.mainEvents;
  const outlet = new Outlet(engine, gateways);
  engine.describe(() => publish(outlet, events));
  const heads = options.journalSync === 'full' && !isRehearsal ? new HeadReport() : null;
  const memory = new MemoryReport(checkpointer, meters);
  const { directory, hashesInMemory: most } = options;
  const adoption = new RunAdoption({ directory, shard, key, hashes: engine.state.hashes, most });
  const report = (head: JournalHead): void => {
    progress.setReserveBytes(shard, journal.reserveLeftBytes());
    checks.counts.report(meters);
    meters.set('ordersEver', engine.state.hashes.size);
    engine.state.hashes.sweep(SWEPT_BETWEEN);
    for (const damagedRun of engine.state.hashes.spilled.takeDamage()) {
      progress.noteDamage(shard);
      post({ damagedRun });
    }
    adoption.step(engine.sequence, performance.now());
    heads?.postIfDue(head);
    memory.reportIfDue();
  };
  report(journal.head);
  const close = async (): Promise<void> => {
    // The connection closed last removes the WAL.
    await checkpointer.end();
    journal.close();
    adoption.close();
  };
  if (isFollowing) {
    const follower = new Follower({ shard, engine, journal, progress, outlet, events });
    const next = await follow(follower, new Inbox(parentPort!), {
      restore: () => {
        goLive();
        post({ restored: engine.sequence });
      },
      afterHousekeeping: () => report(journal.head),
    });
    if (next === 'stop') {
      heads?.post(journal.head);
      await close();
      return next;
    }
  }
  const { store, memory: log } = inCluster(options, journal);
  const isReplicated = log !== null;
  const parts = { shard, engine, journal: store, progress, outlet, clock, checks, meters, isReplicated };
  const loop = new ShardLoop(parts);
  const afterHousekeeping = (): void => report(loop.heldHead);
  let end: End;
  try {
    end = await runTurns({ loop, gateways, events, meters, memory: log, afterHousekeeping, isRehearsal });
  } catch (error) {
    // A shard that has ended writes nothing more. A rehearsal has nothing to keep, and its thread continues.
    if (isRehearsal) await close();
    throw error;
  }
  heads?.post(loop.heldHead);
  await close();
  return end;
}

/** The shard as recovered from this machine's files. */
function recovered(options: ShardOptions, { keccak, verifier }: Tools, key: ShardKey) {
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
  const verifierProblem = verifier instanceof Kernel ? FUSED_PROBLEM : null;
  const recovery = { verifier: verifier.name, verifierProblem, recovered: engine.sequence, fromSequence, damaged };
  return { checks, engine, journal, meters, recovery };
}

/** Every reader of the journal knows these rules. They stay the same for a whole lead. */
function rulesOf({ replication }: ShardOptions): number {
  return replication === undefined ? NEWEST_RULES : new Replication(replication.memory).format('engine');
}

type Committed = { readonly store: JournalStore; readonly memory: Replication | null };

/** Where the loop commits to: the journal of this machine alone, or the log of the cluster as well. */
function inCluster({ shard, replication: options }: ShardOptions, journal: Journal): Committed {
  if (options === undefined) return { store: journal, memory: null };
  const memory = new Replication(options.memory);
  const outbox = new OutboxProducer(options.outbox);
  return { store: new ReplicatedJournal({ shard, journal, replication: memory, outbox }), memory };
}

/** Checks of signatures are spot-checked, unless the reference makes them. */
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
 * An earlier thread of this process committed up to `committed` and may have acknowledged it: a shorter journal has
 * lost records.
 */
function requireCommitted(sequence: number, committed: number, journalPath: string): void {
  if (sequence >= committed) return;
  throw new JournalError(`journal ${journalPath}: ends at ${sequence}, but ${committed} was committed`);
}

/** Reports now and then how far the journal goes. Used where a committed row survives a power cut. */
class HeadReport {
  #postedSequence = 0;
  #postedMs = 0;

  postIfDue(head: JournalHead): void {
    if (performance.now() - this.#postedMs >= POST_HEAD_MS) this.post(head);
  }

  post({ sequence, chainLow, chainHigh }: JournalHead): void {
    if (sequence === this.#postedSequence) return;
    post({ head: { sequence, chainLow, chainHigh } });
    this.#postedSequence = sequence;
    this.#postedMs = performance.now();
  }
}

/** Reports now and then the memory of the checkpointer: main knows only the threads that it has started itself. */
class MemoryReport {
  readonly #checkpointer: Checkpointer;
  readonly #meters: ShardMeters;
  #askedMs = 0;

  constructor(checkpointer: Checkpointer, meters: ShardMeters) {
    this.#checkpointer = checkpointer;
    this.#meters = meters;
  }

  reportIfDue(): void {
    if (performance.now() - this.#askedMs < REPORT_MEMORY_MS) return;
    this.#askedMs = performance.now();
    void this.#checkpointer.memory().then((memory) => {
      this.#meters.checkpointerMemory = memory;
    });
  }
}

function post(message: ShardMessage, transfer?: ArrayBuffer[]): void {
  parentPort?.postMessage(message, transfer);
}

assert(parentPort !== null, 'shard: runs as a worker thread');
await main(workerData);
