/**
 * Makes a journal from the rows of another journal, for a member that joins a cluster or for a backup.
 *
 * Invariant:
 *   JOURNALCOPY-1  Each row follows its predecessor, and was written with the key of the shard.
 */
import { Journal } from './journal.ts';
import { firstSequenceOf, type JournalHead, type Row } from './row.ts';
import { RowReader } from './rowReader.ts';
import type { ShardKey } from './shardKey.ts';

type JournalCopyOptions = {
  /** The path of a file that does not exist yet. */
  readonly path: string;
  readonly shard: number;
  readonly shards: number;
  readonly key: ShardKey;
};

export class JournalCopy {
  readonly #reader: RowReader;
  readonly #open: (start?: JournalHead) => Journal;
  #journal: Journal | null = null;
  #head: JournalHead | null = null;

  constructor({ path, shard, shards, key }: JournalCopyOptions) {
    this.#reader = new RowReader(path, key);
    this.#open = (start) => Journal.open({ shard, shards, journalPath: path, journalSync: 'normal', key }, start);
  }

  /** JOURNALCOPY-1. Takes the next row. */
  add(row: Row): void {
    this.#head ??= this.#reader.headBefore(row, firstSequenceOf(row));
    this.#journal ??= this.#open(this.#head);
    this.#reader.load(row, this.#head);
    this.#journal.appendCopy(row);
  }

  /** Commits the rows so far as one transaction. A shard without records gets a journal too. */
  commit(): void {
    this.#journal ??= this.#open();
    this.#journal.commit();
  }

  /** The checkpoint at closing makes the journal durable. */
  close(): void {
    this.#journal?.close();
  }
}
