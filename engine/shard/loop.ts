/**
 * The turns of a shard: read commands from the rings of its gateways, apply them, commit them to the journal, and
 * publish their events and replies only once they are held. Owner: the shard's thread (shard/main.ts) calls these
 * methods in the order drawn below, for ever. The simulator in the tests calls them in the same order, ends batches
 * where it likes, and lets the shard die between any two.
 *
 *   readAhead ──► run ──► readAhead ──► run … ──► commit ──► credit ──► publish ──► readAhead …    nothing ran: idle
 *
 * `readAhead` reads the commands that are in the rings. A cancel runs at once, before queued commands whose signatures
 * are not checked yet; every other command is queued. `run` makes a slice of the signature checks of waiting commands,
 * or applies the first command of the queue, so a cancel never waits for more than one signature check.
 *
 * Invariants:
 *   LOOP-1  (output gate) Nothing the engine wrote is published before the records it belongs to are held: committed
 *           here, and in a cluster by the replicated log as well (REPLICATEDJOURNAL-1). Nor are credits released.
 *   LOOP-2  A batch ends once it has run BATCH_COMMANDS commands, so a commit never waits for an endless stream. Only
 *           held cancels that its last command releases run beyond that. Room for one command is reserved for the head
 *           of the queue, so a stream of cancels cannot starve the queue.
 *   LOOP-3  Only CANCEL and CANCEL_MANY overtake (RULES.md 5.5). All other commands, time and administration included,
 *           run in the order in which they were read (GATEWAYS-1).
 *   LOOP-4  An account's commands about one order stay in order. A CANCEL does not overtake the order that it names,
 *           nor a replacement of it. While the named order is unknown, it may be any of the account's waiting orders,
 *           so the CANCEL is held until the order is known or all of them have run. A CANCEL_MANY does not overtake its
 *           account's orders that wait for the markets it names. Cancels may overtake each other: an order that two of
 *           them name is cancelled once in either order.
 *   LOOP-5  An overtaking command runs at the time of the first waiting command: it expires no order and closes no
 *           market before the commands that it passed, which are still decided as of the time they were sent.
 *   LOOP-6  A held cancel's barrier is the ordinal of a queued command: the last one it must not overtake. It runs as
 *           soon as that command has run, so it is never held without a reason.
 *   LOOP-7  A batch is committed with exactly the records that the engine applied in it.
 *   LOOP-8  Changes that are due by time before a command are made in turns of bounded length: cancels overtake between
 *           them.
 *   LOOP-9  While markets are being ended a batch without commands is one step, and of batches with commands at most
 *           COMMANDS_FIRST in a row go without one. So markets end under any load, and usually a command waits only for
 *           the step that is running when it arrives.
 *   LOOP-10  In a cluster, batches run while earlier ones are not held yet, up to a bound. Beyond it nothing runs, so
 *           the command rings fill, and the gateway answers that the engine is busy.
 */
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Histogram } from '../../shared/base/histogram.ts';
import * as commands from '../../shared/wire/commands.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import { RecordBuffer, readSafe, writeSafe } from '../../shared/wire/record.ts';
import type { ShardMeters } from '../../shared/wire/shardMeters.ts';
import type { FrontRings } from '../../shared/wire/threads.ts';
import type { Engine } from '../core/engine.ts';
import type { JournalStore } from '../journal/journalStore.ts';
import type { JournalHead } from '../journal/row.ts';
import type { ShardChecks } from '../verify/shardChecks.ts';
import { CommandQueue, NO_BARRIER } from './commandQueue.ts';
import type { Gateway, Gateways } from './gateways.ts';
import type { Outlet } from './outlet.ts';
import { releaseRead } from './releaseRead.ts';
import { Trimmer } from './trimmer.ts';
import { Unheld } from './unheld.ts';

const { ANY_COMMAND, assertCommand, COMMAND } = commands;
const { CANCEL, CANCEL_MANY, PLACE } = COMMAND;

/**
 * The most commands per commit: about 2 ms, with signatures checked in batches. With many waiting commands, a smaller
 * number would make the shard spend much of its time waiting for the disk (bench/speed.bench.ts).
 */
const BATCH_COMMANDS = 128;
/** LOOP-10. Words of output that may wait for the log: this bounds their memory. */
const MOST_WAITING_WORDS = 1 << 20;
/**
 * Consecutive batches with commands that may go without a step: under full load there is a batch about every ten
 * milliseconds.
 */
const COMMANDS_FIRST = 4;

assert(BATCH_COMMANDS > 1, 'LOOP-2: beside what is kept for the queue a batch has room for a cancel');

type ShardLoopParts = {
  readonly shard: number;
  readonly engine: Engine;
  readonly journal: JournalStore;
  readonly progress: Progress;
  /** To the gateways that the shard serves. */
  readonly outlet: Outlet;
  readonly clock: Clock;
  /** Of the engine. */
  readonly checks: Pick<ShardChecks, 'work' | 'take'>;
  /** Absent: nothing is measured. */
  readonly meters?: ShardMeters;
  /** True in a cluster: committed records become held some time later. */
  readonly isReplicated?: boolean;
};

/** A cancel that may not run yet. */
type HeldCancel = {
  readonly gateway: Gateway;
  readonly word: number;
  /** Ordinal of the last queued command that it must not overtake. */
  barrier: number;
  /**
   * True while the named order may be among the queued ones. Once it is known, only a replacement of it is a barrier.
   */
  isOrderUnknown: boolean;
};

export class ShardLoop {
  /** Commands that ran in this batch, and the number of those that came from the queue. */
  ranCount = 0;
  inOrderCount = 0;
  /** True if the shard checked signatures of the queue ahead in this batch. */
  #hasWorkedAhead = false;
  /** LOOP-9. The last batches that had no step while there was one to run. */
  #batchesWithoutStep = 0;
  readonly #shard: number;
  readonly #engine: Engine;
  readonly #journal: JournalStore;
  readonly #progress: Progress;
  readonly #gateways: Gateways;
  readonly #outlet: Outlet;
  readonly #trimmer: Trimmer;
  /** Null outside a cluster: committed records are held at once. */
  readonly #unheld: Unheld | null;
  readonly #checks: Pick<ShardChecks, 'work' | 'take'>;
  readonly #clock: Clock;
  readonly #queueSec: Histogram | undefined;
  readonly #queue: CommandQueue;
  /** In the order in which they were read. */
  readonly #held: HeldCancel[] = [];
  /** A copy of the running command: the engine reads no shared memory. */
  readonly #command = new RecordBuffer(1 << 10);

  constructor(parts: ShardLoopParts) {
    this.#shard = parts.shard;
    this.#engine = parts.engine;
    this.#journal = parts.journal;
    this.#progress = parts.progress;
    this.#gateways = parts.outlet.gateways;
    this.#trimmer = new Trimmer(parts.journal, parts.progress, parts.shard);
    this.#outlet = parts.outlet;
    this.#unheld = parts.isReplicated ? new Unheld(parts.journal.head, this.#outlet.end) : null;
    this.#checks = parts.checks;
    this.#clock = parts.clock;
    this.#queueSec = parts.meters?.histograms.queueSec;
    this.#queue = new CommandQueue(this.#gateways.capacity);
  }

  /** Reads ahead in the rings: cancels run, everything else is queued. @returns whether `run` has a command to run. */
  readAhead(): boolean {
    const gateways = this.#gateways;
    const most = this.inOrderCount > 0 ? BATCH_COMMANDS : BATCH_COMMANDS - 1;
    while (this.ranCount < most) {
      const gateway = gateways.next();
      if (gateway === null) break;
      const { commands, word } = gateway;
      const { words } = commands;
      assertCommand(words, word);
      const type = words[word + ANY_COMMAND.type] & 0xffff;
      if (type === CANCEL.TYPE || type === CANCEL_MANY.TYPE) this.#runOrHold(gateway, word);
      else this.#queue.push(gateway.number, commands, word);
    }
    return !this.#queue.isEmpty && this.ranCount < BATCH_COMMANDS;
  }

  /**
   * Runs the first command of the queue, and the cancels that were held because of it. While the signature of that
   * command, or of one checked with it, is not done, makes a slice of that check instead and runs nothing.
   */
  run(): void {
    const queue = this.#queue;
    const { first } = queue;
    assert(this.ranCount < BATCH_COMMANDS, 'LOOP-2: the batch has room for the first of the queue');
    if (this.#checks.work(queue, this.#engine.state.hashes)) {
      this.#hasWorkedAhead = true;
      return;
    }
    const { words } = queue.memoryOf(first);
    const word = queue.wordOf(first);
    this.inOrderCount++;
    if (this.#tickBefore(words, word)) return;
    this.#copy(words, word);
    const nowMs = this.#clock.nowMs();
    this.#engine.arrivedAt(nowMs);
    this.#queueSec?.observe((nowMs - readSafe(this.#command.words, ANY_COMMAND.timeMs)) / 1000);
    this.#checks.take(first);
    this.#submit(queue.gatewayOf(first));
    queue.shift();
    if (this.#held.length > 0 && queue.isSigned(first)) this.#runFreedCancels();
  }

  /** LOOP-8. Makes the changes due before the command, some per turn. @returns true if this turn is used up */
  #tickBefore(words: Uint32Array, word: number): boolean {
    const timeMs = readSafe(words, word + ANY_COMMAND.timeMs);
    if (!this.#engine.isDue(timeMs)) return false;
    this.#engine.tick(timeMs);
    if (!this.#engine.isDue(timeMs)) return false;
    this.ranCount++;
    return true;
  }

  /** True while markets are being ended. */
  get hasSteps(): boolean {
    return this.#engine.hasSteps;
  }

  /** LOOP-9. To be asked once in each batch, when its commands have run. */
  get isStepDue(): boolean {
    return this.hasSteps && (this.ranCount === 0 || this.#batchesWithoutStep >= COMMANDS_FIRST);
  }

  /** Continues with the markets that are being ended. */
  step(): void {
    assert(this.isStepDue, 'LOOP-9: commands go first');
    this.#engine.step();
    this.#batchesWithoutStep = -1; // this batch has one
  }

  /**
   * True if the batch should end although it has room: a cancel should not wait for others to fill the batch. Also,
   * once as many commands have run as still wait, the waiting ones can run while gateway and clients turn these replies
   * into new commands; in one batch, each side would wait for the other.
   */
  get isWorthEnding(): boolean {
    const { ranCount, inOrderCount } = this;
    // A batch of cancels alone must also have helped the queue, or a stream of cancels would starve it.
    const hasHelpedQueue = inOrderCount > 0 || this.#hasWorkedAhead || this.#queue.isEmpty;
    const hasCancelled = ranCount > inOrderCount && hasHelpedQueue;
    return hasCancelled || inOrderCount >= this.#queue.length;
  }

  /** Ends the batch and makes it durable. @returns false if none of its commands changed anything */
  commit(): boolean {
    assert(this.inOrderCount <= BATCH_COMMANDS, 'LOOP-2: the commands that a batch takes from the queue are bounded');
    this.ranCount = 0;
    this.inOrderCount = 0;
    this.#hasWorkedAhead = false;
    this.#batchesWithoutStep = this.hasSteps ? this.#batchesWithoutStep + 1 : 0;
    releaseRead(this.#gateways, this.#queue, this.#held);
    const hasChanged = this.#journal.isStaged;
    if (hasChanged) {
      assert(this.#journal.lastSequence === this.#engine.sequence, 'LOOP-7: the journal holds every applied record');
      this.#journal.commit();
    }
    if (this.#unheld !== null) this.#noteUnheld(this.#unheld, hasChanged);
    return hasChanged;
  }

  /** Serves a front from now on. To be called between two batches. */
  attach(front: number, rings: FrontRings): void {
    assert(this.ranCount === 0 && !this.#journal.isStaged, 'OUTLET-2: a front is attached between two batches');
    this.#outlet.attach(front, rings);
    this.#queue.reserve(this.#gateways.capacity);
  }

  /** GATEWAYS-4. The same for a front whose thread has ended. */
  detach(front: number): void {
    this.#gateways.leave(front);
    releaseRead(this.#gateways, this.#queue, this.#held);
  }

  #noteUnheld(unheld: Unheld, hasChanged: boolean): void {
    if (hasChanged) this.#engine.state.emit.published(this.#engine.sequence);
    if (this.#outlet.end === unheld.end) return;
    unheld.push(this.#journal.head, this.#engine.state.ledger.sealCredits(), this.#outlet.end);
  }

  /** LOOP-10. */
  get mayRun(): boolean {
    return this.#unheld === null || !(this.#unheld.isFull || this.#outlet.waitingWords > MOST_WAITING_WORDS);
  }

  /** True if more is held than was credited and published. Always false outside a cluster. */
  get isHeldDue(): boolean {
    return this.#unheld?.isDue(this.#journal.heldSequence) ?? false;
  }

  /** True when all that has run is held and published. */
  get isAllHeld(): boolean {
    return this.#unheld === null || this.#unheld.isEmpty;
  }

  /** The end of the last batch that is held and was credited. */
  get heldHead(): JournalHead {
    return this.#unheld === null ? this.#journal.head : this.#unheld.heldHead;
  }

  /**
   * Makes the credits of held records available to other shards, and the records to the projector. The records count as
   * committed first: a copy that includes a shard which has spent a credit also includes the credit's record
   * (CONTROLCOPIES-2).
   */
  credit(): void {
    assert(!this.#journal.isStaged, 'LOOP-1: credits are spent after their commit');
    const unheld = this.#unheld;
    if (unheld === null) {
      this.#progress.setCommitted(this.#shard, this.#engine.sequence);
      this.#engine.state.ledger.releaseCredits();
      return;
    }
    const { heldSequence } = this.#journal;
    if (!unheld.isDue(heldSequence)) return;
    // The log has accepted rows, so there is room for more.
    this.#journal.handOver();
    const credits = unheld.release(heldSequence);
    this.#progress.setCommitted(this.#shard, unheld.heldHead.sequence);
    this.#engine.state.ledger.releaseSealed(credits);
  }

  /** True when a front had no room for all of its events: `publish` has to be called again. */
  get isBehind(): boolean {
    return this.#outlet.isBehind;
  }

  /** Copies output of held batches into the event rings as far as there is room. @returns whether main has it all. */
  publish(): boolean {
    assert(!this.#journal.isStaged, 'LOOP-1: events are published after their commit');
    return this.#outlet.publish(this.#unheld?.heldEnd);
  }

  /** Hands over rows for which the log had no room. */
  handOver(): void {
    this.#journal.handOver();
  }

  /** Idle housekeeping: mark, WAL and trimming. @returns whether there is more of it to do. */
  idle(): boolean {
    assert(this.ranCount === 0, 'loop: housekeeping is done between two batches');
    this.#journal.idle();
    return this.#trimmer.trim();
  }

  #runOrHold(gateway: Gateway, word: number): void {
    const { words } = gateway.commands;
    const isOrderUnknown = this.#isOrderUnknown(words, word);
    const barrier = this.#queue.barrier(words, word, !isOrderUnknown);
    if (barrier === NO_BARRIER) this.#overtake(gateway, word);
    else this.#held.push({ gateway, word, barrier, isOrderUnknown });
  }

  /** Runs the held cancels whose barrier has just run, or whose order has just become known. */
  #runFreedCancels(): void {
    const held = this.#held;
    let kept = 0;
    for (const cancel of held) {
      if (this.#isFree(cancel)) this.#overtake(cancel.gateway, cancel.word);
      else held[kept++] = cancel;
    }
    held.length = kept;
  }

  #isFree(cancel: HeldCancel): boolean {
    const { first } = this.#queue;
    assert(cancel.barrier >= first - 1, 'LOOP-6: a held cancel runs as soon as its barrier has run');
    if (cancel.barrier < first) return true;
    const { words } = cancel.gateway.commands;
    if (!cancel.isOrderUnknown || !this.#hasPlacedOrderOf(words, cancel.word)) return false;
    if (this.#isOrderUnknown(words, cancel.word)) return false;
    cancel.isOrderUnknown = false;
    cancel.barrier = this.#queue.barrier(words, cancel.word, true, cancel.barrier);
    return cancel.barrier === NO_BARRIER;
  }

  /** True while the hash that a CANCEL names is not indexed. Refused orders are never indexed. */
  #isOrderUnknown(words: Uint32Array, word: number): boolean {
    if ((words[word + ANY_COMMAND.type] & 0xffff) !== CANCEL.TYPE) return false;
    return !this.#engine.state.wasAccepted(words, word + CANCEL.hash);
  }

  /** True if the last command may have placed the order that the CANCEL names: cheaper than a look-up in the index. */
  #hasPlacedOrderOf(words: Uint32Array, word: number): boolean {
    return this.#command.words[PLACE.hash] === words[word + CANCEL.hash];
  }

  /** Runs a cancel at the time of the first queued command, if that is earlier (LOOP-5). */
  #overtake(gateway: Gateway, word: number): void {
    const queue = this.#queue;
    this.#copy(gateway.commands.words, word);
    if (!queue.isEmpty) {
      const { words } = this.#command;
      const firstMs = readSafe(queue.memoryOf(queue.first).words, queue.wordOf(queue.first) + ANY_COMMAND.timeMs);
      if (readSafe(words, ANY_COMMAND.timeMs) > firstMs) writeSafe(words, ANY_COMMAND.timeMs, firstMs);
    }
    this.#submit(gateway.number, true);
  }

  #copy(words: Uint32Array, word: number): void {
    this.#command.clear();
    this.#command.appendRecords(words, word, words[word]);
  }

  #submit(gateway: number, isOvertaking = false): void {
    this.#engine.gateway = gateway;
    this.#engine.submit(this.#command.words, this.#command.bytes, 0, isOvertaking);
    this.ranCount++;
  }
}
