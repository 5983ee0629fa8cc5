/**
 * Rows of one kind that changed since the last seal: what they add to the state digest is made anew then, once, however
 * often they changed meanwhile. Owner: the shard thread. Memory grows by doubling.
 */
import { extend } from './columns.ts';

export class Unsealed {
  count = 0;
  /** The first `count` are noted, in order of their first change. */
  rows = new Int32Array(1024);
  #isNoted = new Uint8Array(1024);

  note(row: number): void {
    if (row < this.#isNoted.length && this.#isNoted[row] !== 0) return;
    this.#add(row);
  }

  clear(): void {
    for (let i = 0; i < this.count; i++) this.#isNoted[this.rows[i]!] = 0;
    this.count = 0;
  }

  #add(row: number): void {
    if (row >= this.#isNoted.length) {
      let n = this.#isNoted.length * 2;
      while (n <= row) n *= 2;
      this.#isNoted = extend(this.#isNoted, new Uint8Array(n));
    }
    if (this.count === this.rows.length) this.rows = extend(this.rows, new Int32Array(this.count * 2));
    this.#isNoted[row] = 1;
    this.rows[this.count++] = row;
  }
}
