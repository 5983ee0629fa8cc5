/**
 * The quantity filled within a rolling window: one entry per millisecond with a fill, oldest first, and their sum.
 * Owner: the shard thread. Units: atomic tokens, milliseconds of record time.
 *
 * Invariants (walked by core/invariants.ts):
 *   WINDOW-1  timesMs strictly increases over the entries, and sumAtomic is the sum of atomic[0 … count).
 *   WINDOW-2  count <= MOST_ENTRIES. Beyond that, neighbours are merged into one entry at the later of their times, so
 *             a fill may count a little longer than the window, but never shorter.
 */
import { assert } from '../../shared/base/assert.ts';
import { addSafe } from '../../shared/base/int.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

export const MOST_ENTRIES = 4096;
const FIRST_ENTRIES = 8;
assert(MOST_ENTRIES % 2 === 0, 'WINDOW-2: entries can be merged in pairs');

export class FillWindow {
  count = 0;
  sumAtomic = 0;
  timesMs: Float64Array = new Float64Array(FIRST_ENTRIES);
  atomic: Float64Array = new Float64Array(FIRST_ENTRIES);

  add(timeMs: number, atomic: number): void {
    assert(atomic > 0, 'WINDOW-1: a fill has something to count');
    this.sumAtomic = addSafe(this.sumAtomic, atomic);
    const last = this.count - 1;
    if (last >= 0 && this.timesMs[last] >= timeMs) {
      assert(this.timesMs[last] === timeMs, 'WINDOW-1: fills come in order of time');
      this.atomic[last] = this.atomic[last] + atomic;
      return;
    }
    if (this.count === MOST_ENTRIES) this.#halve();
    if (this.count === this.timesMs.length) {
      this.timesMs = extend(this.timesMs, new Float64Array(this.count * 2));
      this.atomic = extend(this.atomic, new Float64Array(this.count * 2));
    }
    this.timesMs[this.count] = timeMs;
    this.atomic[this.count++] = atomic;
  }

  /** Removes the fills at or before this time. */
  dropUntil(timeMs: number): void {
    let gone = 0;
    while (gone < this.count && this.timesMs[gone] <= timeMs) this.sumAtomic -= this.atomic[gone++];
    if (gone === 0) return;
    assert(this.sumAtomic >= 0, 'WINDOW-1: the entries are no more than their sum');
    assert(gone < this.count || this.sumAtomic === 0, 'WINDOW-1: an empty window has a sum of 0');
    this.timesMs.copyWithin(0, gone, this.count);
    this.atomic.copyWithin(0, gone, this.count);
    this.count -= gone;
  }

  /** The sum without the fills at or before this time. */
  sumAfter(timeMs: number): number {
    let sum = this.sumAtomic;
    for (let i = 0; i < this.count && this.timesMs[i] <= timeMs; i++) sum -= this.atomic[i];
    return sum;
  }

  clear(): void {
    this.count = 0;
    this.sumAtomic = 0;
  }

  /** Asserts WINDOW-1 and WINDOW-2. */
  validate(): void {
    let sum = 0;
    for (let i = 0; i < this.count; i++) {
      assert(i === 0 || this.timesMs[i - 1] < this.timesMs[i], 'WINDOW-1: times strictly increase');
      assert(this.atomic[i] > 0, 'WINDOW-1: an entry is of something filled');
      sum += this.atomic[i];
    }
    assert(sum === this.sumAtomic, 'WINDOW-1: the sum is the sum of the entries');
    assert(this.count <= MOST_ENTRIES, 'WINDOW-2: the entries are bounded');
  }

  persist(io: SnapshotIo): void {
    this.count = io.number(this.count);
    this.sumAtomic = io.number(this.sumAtomic);
    this.timesMs = io.f64(this.timesMs);
    this.atomic = io.f64(this.atomic);
  }

  #halve(): void {
    for (let to = 0; to < MOST_ENTRIES / 2; to++) {
      this.timesMs[to] = this.timesMs[2 * to + 1];
      this.atomic[to] = this.atomic[2 * to] + this.atomic[2 * to + 1];
    }
    this.count = MOST_ENTRIES / 2;
  }
}
