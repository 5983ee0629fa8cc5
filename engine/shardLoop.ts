/**
 * The turns of a shard: a batch of commands out of the ring, through the engine, into the journal, and only then out.
 * Owner: the shard's thread (shard.ts), which takes the turns in this order for ever; the simulator in the tests takes
 * the same ones and lets the shard die between any two.
 *
 *   drain ──► submit, each ──► commit ──► credit ──► publish ──► drain …            nothing to drain: rest
 *
 * Invariants:
 *   S1  (output gate) Nothing the engine wrote leaves before the commit of the records it belongs to.
 *   S2  A batch is bounded, so one commit never waits for an endless stream.
 */
import { assert } from '../shared/assert.ts';
import type { Progress } from '../shared/progress.ts';
import { RecordBuffer } from '../shared/record.ts';
import type { RingConsumer, RingProducer } from '../shared/ring.ts';
import type { Engine } from './engine.ts';
import type { JournalStore } from './journal.ts';

/**
 * Commands a commit may wait for: 2 ms of signatures. While one batch is written and answered, gateway and clients work
 * on others; were everything in the ring one batch, each side would mostly wait for the other.
 */
const BATCH_COMMANDS = 32;

export type ShardLoopParts = {
  readonly shard: number;
  readonly engine: Engine;
  readonly journal: JournalStore;
  readonly progress: Progress;
  readonly commands: RingConsumer;
  readonly events: RingProducer;
};

export class ShardLoop {
  readonly #shard: number;
  readonly #engine: Engine;
  readonly #journal: JournalStore;
  readonly #progress: Progress;
  readonly #commands: RingConsumer;
  readonly #events: RingProducer;
  readonly #batch = new RecordBuffer(1 << 16);
  readonly #starts = new Uint32Array(BATCH_COMMANDS);
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
  }

  /**
   * Copies a batch out of the ring: the gateway gets its room back while the commands run, and nothing the engine reads
   * can change under it. @returns how many commands there are.
   */
  drain(): number {
    const commands = this.#commands;
    this.#batch.clear();
    let count = 0;
    for (; count < BATCH_COMMANDS; count++) {
      const word = commands.next();
      if (word < 0) break;
      this.#starts[count] = this.#batch.appendRecords(commands.words, word, commands.words[word]!);
    }
    if (count > 0) commands.release();
    return count;
  }

  /** Runs one command of the batch. */
  submit(index: number): void {
    this.#engine.submit(this.#batch.words, this.#batch.bytes, this.#starts[index]!);
  }

  /** Makes the batch durable. @returns false when no command of it changed anything. */
  commit(): boolean {
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
    ring.publish();
    const isAll = from === end;
    this.#publishedWords = isAll ? 0 : from;
    if (isAll) out.clear();
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
}
