/**
 * Keeps the newest known row of each journal in control.db as well: a journal that has lost its end is refused at the
 * start, even if its mark was changed with it.
 * Owner: the gateway thread.
 */
import type { KnownHead } from '../../shared/base/journalKey.ts';
import { JOURNAL_HEADS, NO_ROWS, openHeads, sealHeads } from '../../shared/crypto/journalHeads.ts';
import type { Platform } from './platform.ts';
import { StartError } from './startError.ts';

export class JournalHeads {
  readonly #platform: Platform;
  readonly #masterKey: Uint8Array;
  readonly #heads: KnownHead[];
  #isSaved = true;

  /** @param areNew the journals do not exist yet. */
  constructor(platform: Platform, masterKey: Uint8Array, shards: number, areNew: boolean) {
    this.#platform = platform;
    this.#masterKey = masterKey;
    const sealed = platform.read(JOURNAL_HEADS);
    if (sealed !== undefined) {
      this.#heads = [...open(masterKey, sealed)];
      return;
    }
    if (!areNew) throw new StartError('control.db does not know the ends of the journals: put a backup in its place');
    this.#heads = Array.from({ length: shards }, () => NO_ROWS);
    this.#isSaved = false;
    this.save();
  }

  of(shard: number): KnownHead {
    return this.#heads[shard];
  }

  /** A shard has committed up to this row. */
  note(shard: number, head: KnownHead): void {
    this.#heads[shard] = head;
    this.#isSaved = false;
  }

  save(): void {
    if (this.#isSaved) return;
    this.#platform.write(JOURNAL_HEADS, sealHeads(this.#masterKey, this.#heads));
    this.#isSaved = true;
  }
}

function open(masterKey: Uint8Array, sealed: string): readonly KnownHead[] {
  try {
    return openHeads(masterKey, sealed);
  } catch {
    throw new StartError('control.db: its notes about the journals were altered: put a backup in its place');
  }
}
