/**
 * The batches of a shard that are committed on this machine and not held by the replicated log yet, in order. Meanwhile
 * the shard continues with the next batches, but no output of the waiting ones leaves the thread. Owner: the loop of a
 * shard that leads in a cluster.
 *
 * Invariants:
 *   UNHELD-1  Batches are released in their order, each when the log holds its last record and all before it.
 *   UNHELD-2  A batch that changed nothing and only has replies waits for the batches before it: its refusals depend on
 *             their effects.
 */
import { assert } from '../../shared/base/assert.ts';
import type { JournalHead } from '../journal/row.ts';

/** Where a batch ends: in the journal, among the sealed credits, and in the engine's output (outlet.ts). */
type Batch = { readonly head: JournalHead; readonly credits: number; end: number };

/**
 * The most batches that wait: their commands have an unknown outcome if the log breaks off. Several times as many as
 * keep a distant log busy.
 */
const MOST_BATCHES = 64;

export class Unheld {
  /** The end of the last released batch; its output ends at `heldEnd`. */
  heldHead: JournalHead;
  heldEnd: number;
  readonly #batches: Batch[] = [];

  /** @param head the end of the journal @param end the end of the output, when the shard begins to lead */
  constructor(head: JournalHead, end: number) {
    this.heldHead = head;
    this.heldEnd = end;
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  /** Where the output of the last batch ends. */
  get end(): number {
    return this.#batches.at(-1)?.end ?? this.heldEnd;
  }

  get isFull(): boolean {
    return this.#batches.length >= MOST_BATCHES;
  }

  push(head: JournalHead, credits: number, end: number): void {
    const last = this.#batches.at(-1);
    assert(last === undefined || last.head.sequence <= head.sequence, 'UNHELD-1: batches follow one another');
    if (last !== undefined && last.head.sequence === head.sequence) last.end = end;
    else this.#batches.push({ head, credits, end });
  }

  /** True when a batch can be released. */
  isDue(heldSequence: number): boolean {
    const first = this.#batches[0];
    return first !== undefined && first.head.sequence <= heldSequence;
  }

  /** Releases the batches up to a record. @returns the number of sealed credits that may be spent elsewhere now. */
  release(heldSequence: number): number {
    let count = 0;
    let credits = 0;
    for (const batch of this.#batches) {
      if (batch.head.sequence > heldSequence) break;
      this.heldHead = batch.head;
      this.heldEnd = batch.end;
      credits = batch.credits;
      count++;
    }
    this.#batches.splice(0, count);
    return credits;
  }
}
