/**
 * A journal that is made from the rows of another one: of a member that joins a cluster, or of a backup.
 *
 * Invariant:
 *   JOURNALCOPY-1  The rows follow from one another, and were written with the key of their shard.
 */
import { Journal } from './journal.ts';
import { firstSequenceOf, type JournalHead, type Row } from './row.ts';
import { RowReader } from './rowReader.ts';
import type { ShardKey } from './shardKey.ts';

type JournalCopyOptions = {
  /** Of a file that does not exist. */
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

  /** Makes the rows so far one transaction. A shard without records has a journal too. */
  commit(): void {
    this.#journal ??= this.#open();
    this.#journal.commit();
  }

  /** The checkpoint of a journal that is closed makes it durable. */
  close(): void {
    this.#journal?.close();
  }
}
