/** Deletes rows of a shard's journal that are no longer needed, a few at a time. Owner: the shard's thread. */
import type { Progress } from '../../shared/wire/progress.ts';
import type { JournalStore } from '../journal/journalStore.ts';

export class Trimmer {
  readonly #journal: Pick<JournalStore, 'trim'>;
  readonly #progress: Progress;
  readonly #shard: number;
  #trimmedSequence = 0;

  constructor(journal: Pick<JournalStore, 'trim'>, progress: Progress, shard: number) {
    this.#journal = journal;
    this.#progress = progress;
    this.#shard = shard;
  }

  /** @returns true if there may be more */
  trim(): boolean {
    const trimmable = this.#progress.trimmable(this.#shard);
    if (trimmable <= this.#trimmedSequence) return false;
    if (!this.#journal.trim(trimmable)) this.#trimmedSequence = trimmable;
    return true;
  }
}
