/**
 * A shard without its thread: the real engine behind real rings, run by the test one step at a time, so that a
 * gateway's side of the rings can be driven to any moment. Signatures are not checked and nothing is durable.
 */
import { Engine } from '../../engine/core/engine.ts';
import type { JournalRecord } from '../../engine/journal/journalRecord.ts';
import type { Balances } from '../../shared/wire/balances.ts';
import { RecordBuffer } from '../../shared/wire/record.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';
import { createRingBuffer, RING } from '../../shared/wire/ringLayout.ts';
import { loneChecks, MemoryJournal, replayRows } from './engine.ts';

const EVENT_RING_BYTES = 1 << 20;

export class InThreadShard {
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing = createRingBuffer(EVENT_RING_BYTES);
  readonly engine: Engine;
  readonly #balances: Balances;
  readonly #journal: MemoryJournal;
  readonly #commands: RingConsumer;
  readonly #events: RingProducer;
  readonly #command = new RecordBuffer(4096);

  /** @param journal the journal that an earlier thread of the shard has left. */
  constructor(balances: Balances, commandRingBytes = 1 << 16, journal = new MemoryJournal()) {
    this.#balances = balances;
    this.#journal = journal;
    this.commandRing = createRingBuffer(commandRingBytes);
    this.#commands = new RingConsumer(this.commandRing);
    this.#events = new RingProducer(this.eventRing);
    this.engine = new Engine({
      balances,
      collateralCheck: true,
      checks: loneChecks(),
      journal,
    });
    replayRows(this.engine, journal);
    this.engine.goLive();
  }

  /** The records that it has journaled. */
  get records(): readonly JournalRecord[] {
    return this.#journal.rows;
  }

  /** The next thread of the same shard: it never sees the contents of this one's rings. */
  rebuilt(): InThreadShard {
    return new InThreadShard(this.#balances, this.commandRing.byteLength - RING.BYTES, this.#journal);
  }

  /** Publishes the state and READY, as at the start of a thread. */
  describe(): void {
    this.engine.describe(() => this.#publish());
  }

  /**
   * Runs every command in the ring and publishes the results.
   * @param overhear called for each event
   * @returns the number of commands.
   */
  step(overhear?: (words: Uint32Array, word: number) => void): number {
    let count = 0;
    for (let word = this.#commands.next(); word >= 0; word = this.#commands.next()) {
      this.#command.clear();
      this.#command.appendRecords(this.#commands.words, word, this.#commands.words[word]);
      this.engine.submit(this.#command.words, this.#command.bytes, 0);
      count++;
    }
    this.#commands.release();
    this.engine.state.ledger.releaseCredits();
    const { words, lengthBytes } = this.engine.out;
    for (let word = 0; word < lengthBytes / 4; word += words[word] / 4) overhear?.(words, word);
    this.#publish();
    return count;
  }

  #publish(): void {
    const { words, lengthBytes } = this.engine.out;
    for (let from = 0; from < lengthBytes / 4; from += words[from] / 4) {
      const to = this.#events.tryClaim(words[from], 0);
      if (to < 0) throw new Error('the event ring of the test is too small');
      this.#events.words.set(words.subarray(from, from + words[from] / 4), to);
    }
    this.#events.publish();
    this.engine.out.clear();
  }
}
