/**
 * The turns of a shard: commands out of the ring, through the engine, into the journal, and only then out.
 * Owner: the shard's thread (shard.ts), which takes the turns in this order for ever; the simulator in the tests takes
 * the same ones, ends batches where it likes, and lets the shard die between any two.
 *
 *   look ──► run ──► look ──► run … ──► commit ──► credit ──► publish ──► look …        nothing has run: rest
 *
 * `look` reads on in the ring: cancels run at once, past what waits there for the check of its signature; everything
 * else queues. `run` takes the first of the queue, so between two cancels' chances lies one signature check at most.
 *
 * Invariants:
 *   S1  (output gate) Nothing the engine wrote leaves before the commit of the records it belongs to.
 *   S2  A batch is bounded, so one commit never waits for an endless stream; and it has room for the first of the
 *       queue, so no stream of cancels keeps that one waiting.
 *   S3  is in shard.ts.
 *   S4  Only CANCEL and CANCEL_MANY overtake (RULES.md 5.5). All other commands, time and administration included, run
 *       in ring order.
 *   S5  What an account sent about one order stays in order. A CANCEL does not overtake the order it names: one that is
 *       not known yet may be any order that the account has waiting, so the cancel is held until it is known or all of
 *       those have run; nor a replacement of that order. A CANCEL_MANY does not overtake its account's orders that wait
 *       for the markets it names. Cancels overtake each other: what two of them name is cancelled once, either way.
 *   S6  A command that overtakes runs at the time of the first one that waits: it makes nothing expire and no market
 *       close under those it passed, which are still decided as of the moment they were sent.
 */
import { assert } from '../shared/assert.ts';
import { CHECK_SLOTS } from '../shared/checkLayout.ts';
import type { Clock } from '../shared/clock.ts';
import * as commands from '../shared/commands.ts';
import type { Progress } from '../shared/progress.ts';
import { RecordBuffer, readSafe, writeSafe } from '../shared/record.ts';
import type { RingConsumer, RingProducer } from '../shared/ring.ts';
import { CommandQueue, NO_BARRIER } from './commandQueue.ts';
import type { Engine } from './engine.ts';
import type { JournalStore } from './journal.ts';
import type { OfferedChecks } from './verify/checkBoard.ts';

// Own constants for speed: see emit.ts.
const cmd = { ...commands };

/** Commands a commit may wait for: 2 ms of signatures. */
const BATCH_COMMANDS = 32;

/** A shorter queue is done before a helper has woken up. */
const WORTH_OFFERING = 4;
/** More than helpers take in the time of a turn, and few enough that a cancel does not notice. */
const OFFERS_A_TURN = 16;

export type ShardLoopParts = {
  readonly shard: number;
  readonly engine: Engine;
  readonly journal: JournalStore;
  readonly progress: Progress;
  readonly commands: RingConsumer;
  readonly events: RingProducer;
  readonly clock: Clock;
  /** Where there are threads that help with signatures. */
  readonly checks?: OfferedChecks | undefined;
};

/** A cancel that may not run yet. */
type Held = {
  readonly word: number;
  /** Ordinal of the last command it may not overtake. */
  barrier: number;
  /** Its order may be among those that wait: once it is there, only a replacement of it is still a barrier. */
  isOrderAwaited: boolean;
};

export class ShardLoop {
  /** Commands of this batch, and how many of them came from the front of the queue. */
  ranCount = 0;
  inOrderCount = 0;
  /** A check of this batch was another command's than the first one's. */
  #hasMadeAnother = false;
  readonly #shard: number;
  readonly #engine: Engine;
  readonly #journal: JournalStore;
  readonly #progress: Progress;
  readonly #commands: RingConsumer;
  readonly #events: RingProducer;
  readonly #checks: OfferedChecks | undefined;
  readonly #clock: Clock;
  readonly #queue: CommandQueue;
  /** Ordinal: of the queue's commands all checks before it were offered, or are not worth it. */
  #offeredEnd = 0;
  /** In ring order. */
  readonly #held: Held[] = [];
  /** The command that runs: a copy, for nothing the engine reads may lie in shared memory. */
  readonly #command = new RecordBuffer(1 << 10);
  /** Words of the engine's output that are in the event ring already. */
  #publishedWords = 0;
  #trimmed = 0;

  constructor(parts: ShardLoopParts) {
    this.#shard = parts.shard;
    this.#engine = parts.engine;
    this.#journal = parts.journal;
    this.#progress = parts.progress;
    this.#commands = parts.commands;
    this.#events = parts.events;
    this.#checks = parts.checks;
    this.#clock = parts.clock;
    this.#queue = new CommandQueue(parts.commands, parts.commands.capacity);
  }

  /** Reads on in the ring and runs what may overtake. @returns whether a command waits that the batch has room for. */
  look(): boolean {
    const { words } = this.#commands;
    const most = this.inOrderCount > 0 ? BATCH_COMMANDS : BATCH_COMMANDS - 1;
    while (this.ranCount < most) {
      const word = this.#commands.next();
      if (word < 0) break;
      const type = words[word + cmd.CMD_TYPE]! & 0xffff;
      if (type === cmd.COMMAND.CANCEL || type === cmd.COMMAND.CANCEL_MANY) this.#runOrHold(word);
      else this.#queue.push(word);
    }
    return !this.#queue.isEmpty && this.ranCount < BATCH_COMMANDS;
  }

  /**
   * Runs the first of the queue, and the cancels that had to wait for it; or makes the check of another one, while
   * somebody else is still at that of the first.
   */
  run(): void {
    const queue = this.#queue;
    const { first } = queue;
    if (this.#checks !== undefined) {
      this.#offer(this.#checks);
      if (this.#checks.makeAnother(first, this.#offeredEnd)) {
        this.#hasMadeAnother = true;
        return;
      }
      this.#checks.take(first);
    }
    this.#copy(queue.wordOf(first));
    this.#engine.arrivedAt(this.#clock.nowMs());
    this.#submit();
    this.inOrderCount++;
    queue.shift();
    if (this.#held.length > 0 && queue.isSignedAt(first)) this.#freeHeld();
  }

  /**
   * Ending the batch now, though it has room, serves somebody: a cancel has run in it, whose answer should not wait for
   * the batch to be long, or as many commands have run as still wait. Those are worked on while gateway and clients
   * turn the answers to these into new ones; were they all one batch, each side would wait for the other.
   */
  get isWorthEnding(): boolean {
    const { ranCount, inOrderCount } = this;
    // A batch of cancels alone has to get on with the queue in some way, or a stream of them would keep it waiting.
    const hasGotOn = inOrderCount > 0 || this.#hasMadeAnother || this.#queue.isEmpty;
    const hasCancelled = ranCount > inOrderCount && hasGotOn;
    return hasCancelled || inOrderCount >= this.#queue.length;
  }

  /** Ends the batch and makes it durable. @returns false when no command of it changed anything. */
  commit(): boolean {
    this.ranCount = 0;
    this.inOrderCount = 0;
    this.#hasMadeAnother = false;
    this.#commands.release(this.#queue.isEmpty ? undefined : this.#queue.wordOf(this.#queue.first));
    if (!this.#journal.isStaged) return false;
    this.#journal.commit();
    return true;
  }

  /** What the batch earned may be spent in other shards, and the projector may read it. */
  credit(): void {
    this.#engine.state.ledger.releaseCredits();
    this.#progress.setCommitted(this.#shard, this.#engine.sequence);
  }

  /** Hands over what the engine wrote, as far as there is room. @returns whether that was all of it. */
  publish(): boolean {
    assert(!this.#journal.isStaged, 'S1: nothing leaves before its commit');
    const { out } = this.#engine;
    const { words } = out;
    const ring = this.#events;
    const end = out.lengthBytes >>> 2;
    let from = this.#publishedWords;
    while (from < end) {
      const to = ring.tryClaim(words[from]!, 0);
      if (to < 0) break;
      const count = words[from]! >>> 2;
      for (let i = 1; i < count; i++) ring.words[to + i] = words[from + i]!;
      from += count;
    }
    // A tick that finds nothing due says nothing, and wakes nobody.
    if (from > this.#publishedWords) ring.publish();
    const isAll = from === end;
    this.#publishedWords = isAll ? 0 : from;
    if (isAll) {
      out.clear();
      // Nobody waits for it here, where the command that seals would have to make up for a thousand others.
      this.#engine.state.digest.catchUp();
    }
    return isAll;
  }

  /** Nothing to drain: a moment for what could wait. @returns whether there is more of it. */
  rest(): boolean {
    this.#journal.idle();
    const trimmable = this.#progress.trimmable(this.#shard);
    if (trimmable <= this.#trimmed) return false;
    if (!this.#journal.trim(trimmable)) this.#trimmed = trimmable;
    return true;
  }

  /** The first of the queue is not worth it: its turn is now. */
  #offer(checks: OfferedChecks): void {
    const { first, end } = this.#queue;
    if (end - first < WORTH_OFFERING) return;
    const begin = Math.max(this.#offeredEnd, first + 1);
    const offeredEnd = Math.min(end, first + CHECK_SLOTS, begin + OFFERS_A_TURN);
    if (offeredEnd <= begin) return;
    for (let ordinal = begin; ordinal < offeredEnd; ordinal++) {
      if (this.#queue.isSignedAt(ordinal)) checks.offer(ordinal, this.#commands, this.#queue.wordOf(ordinal));
    }
    this.#offeredEnd = offeredEnd;
    checks.publish(first + 1, offeredEnd);
  }

  #runOrHold(word: number): void {
    const isOrderAwaited = this.#isAwaited(word);
    const barrier = this.#queue.barrier(word, !isOrderAwaited);
    if (barrier === NO_BARRIER) this.#overtake(word);
    else this.#held.push({ word, barrier, isOrderAwaited });
  }

  /** After a command that may have brought the order of one of them, or was its barrier. */
  #freeHeld(): void {
    const held = this.#held;
    let kept = 0;
    for (const one of held) {
      if (this.#isFree(one)) this.#overtake(one.word);
      else held[kept++] = one;
    }
    held.length = kept;
  }

  #isFree(held: Held): boolean {
    if (held.barrier < this.#queue.first) return true;
    if (!held.isOrderAwaited || !this.#hasBroughtOrderOf(held.word) || this.#isAwaited(held.word)) return false;
    held.isOrderAwaited = false;
    held.barrier = this.#queue.barrier(held.word, true, held.barrier);
    return held.barrier === NO_BARRIER;
  }

  /** Whether the order of a CANCEL is unknown so far; one that was refused stays it. */
  #isAwaited(word: number): boolean {
    const { words } = this.#commands;
    if ((words[word + cmd.CMD_TYPE]! & 0xffff) !== cmd.COMMAND.CANCEL) return false;
    return !this.#engine.state.hashes.find(words, word + cmd.CANCEL_HASH);
  }

  /** Whether the command that has just run brought the order that the CANCEL names: cheaper than asking the index. */
  #hasBroughtOrderOf(word: number): boolean {
    return this.#command.words[cmd.PLACE_HASH] === this.#commands.words[word + cmd.CANCEL_HASH];
  }

  #overtake(word: number): void {
    this.#copy(word);
    if (!this.#queue.isEmpty) {
      const { words } = this.#command;
      const firstMs = readSafe(this.#commands.words, this.#queue.wordOf(this.#queue.first) + cmd.CMD_TIME_MS);
      if (readSafe(words, cmd.CMD_TIME_MS) > firstMs) writeSafe(words, cmd.CMD_TIME_MS, firstMs);
    }
    this.#submit();
  }

  #copy(word: number): void {
    const { words } = this.#commands;
    this.#command.clear();
    this.#command.appendRecords(words, word, words[word]!);
  }

  #submit(): void {
    this.#engine.submit(this.#command.words, this.#command.bytes, 0);
    this.ranCount++;
  }
}
