/**
 * The journal of a shard in a cluster: the file of this machine, and a copy of each row in the replicated log. A commit
 * passes the row to the replication thread before it syncs the file, so both are written at the same time. Owner: the
 * shard thread, once its shard leads (shard/main.ts).
 *
 * Invariants:
 *   REPLICATEDJOURNAL-1  A record is held once it is durable in both the file and the log: `heldSequence` is never
 *                        ahead of either.
 *   REPLICATEDJOURNAL-2  The log gets the rows of the file, byte for byte and in order, from the first row that is
 *                        appended here. The log already has all rows before it.
 *   REPLICATEDJOURNAL-3  Rows have the version chosen for this lead, which every member can read (FORMATS-1).
 */
import { assert } from '../../shared/base/assert.ts';
import type { OutboxProducer, Replication } from '../../shared/wire/replication.ts';
import type { Journal } from './journal.ts';
import type { JournalRecord, RecordVisitor } from './journalRecord.ts';
import type { JournalStore, RowCopy } from './journalStore.ts';
import type { JournalHead } from './row.ts';

type ReplicatedJournalParts = {
  readonly shard: number;
  /** Has nothing staged; its last row is the last row that the log has of this shard. */
  readonly journal: Journal;
  readonly replication: Pick<Replication, 'held' | 'format'>;
  readonly outbox: Pick<OutboxProducer, 'put' | 'flush'>;
};

export class ReplicatedJournal implements JournalStore {
  readonly #shard: number;
  readonly #journal: Journal;
  readonly #replication: Pick<Replication, 'held'>;
  readonly #outbox: Pick<OutboxProducer, 'put' | 'flush'>;

  constructor({ shard, journal, replication, outbox }: ReplicatedJournalParts) {
    this.#shard = shard;
    this.#journal = journal;
    this.#replication = replication;
    this.#outbox = outbox;
    const held = replication.held(shard);
    assert(held === journal.lastSequence, 'REPLICATEDJOURNAL-2: a shard leads from where the log ends');
    const copy: RowCopy = (sequence, bytes) => outbox.put({ stream: shard, sequence, bytes });
    journal.copiesTo(copy, replication.format('journal'));
  }

  get lastSequence(): number {
    return this.#journal.lastSequence;
  }

  get isStaged(): boolean {
    return this.#journal.isStaged;
  }

  get head(): JournalHead {
    return this.#journal.head;
  }

  /** REPLICATEDJOURNAL-1. */
  get heldSequence(): number {
    return Math.min(this.#replication.held(this.#shard), this.#journal.heldSequence);
  }

  append(record: JournalRecord): void {
    this.#journal.append(record);
  }

  commit(): void {
    this.#journal.commit();
  }

  replay(after: JournalHead, visit: RecordVisitor): void {
    this.#journal.replay(after, visit);
  }

  handOver(): void {
    this.#outbox.flush();
  }

  idle(): void {
    this.handOver();
    this.#journal.idle();
  }

  trim(sequence: number): boolean {
    return this.#journal.trim(sequence);
  }

  close(): void {
    this.#journal.close();
  }
}
