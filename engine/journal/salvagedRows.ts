/**
 * The rows of a journal whose SQLite file is damaged: each row is found in the pages by itself, whether or not SQLite
 * can read the file. The reader checks each row and refuses a damaged one because of its checksum or tag. Memory grows
 * with the number of rows, by some tens of bytes each. The exchange must be stopped.
 */
import { SqlitePages } from '../../shared/base/sqlitePages.ts';
import type { RowSource, StoredFacts } from './reader.ts';
import type { Row } from './row.ts';

export class SalvagedRows implements RowSource {
  readonly name: string;
  readonly #pages: SqlitePages;
  /** The sequence numbers of the rows, ascending, and the place of each row. */
  readonly #sequences: readonly number[];
  readonly #places: readonly { readonly page: number; readonly index: number }[];
  readonly #meta: readonly unknown[] | null;

  constructor(path: string) {
    this.name = path;
    this.#pages = new SqlitePages(path);
    let meta: readonly unknown[] | null = null;
    const found = new Map<number, { readonly page: number; readonly index: number }>();
    for (const { rowid, page, index } of this.#pages.cells()) {
      const columns = this.#pages.columnsOf({ page, index });
      if (columns?.length === 2 && columns[0] === null && columns[1] instanceof Uint8Array) {
        found.set(rowid, { page, index });
      } else if (columns?.length === 3 && columns.every((column) => typeof column === 'number')) {
        meta = columns;
      }
    }
    this.#meta = meta;
    this.#sequences = [...found.keys()].sort((a, b) => a - b);
    this.#places = this.#sequences.map((sequence) => found.get(sequence)!);
  }

  facts(): StoredFacts {
    const [layoutVersion, shard, shards] = (this.#meta ?? []) as (number | undefined)[];
    return {
      layoutVersion,
      shard,
      shards,
      oldestRow: this.#sequences[0] ?? null,
      lastSequence: this.#sequences.at(-1) ?? 0,
    };
  }

  rows(from: number, to: number): Row[] {
    const rows: Row[] = [];
    for (let at = this.#firstAt(from); at < this.#sequences.length; at++) {
      const sequence = this.#sequences[at];
      const bytes = this.#pages.columnsOf(this.#places[at])?.[1];
      if (bytes instanceof Uint8Array) rows.push({ sequence, bytes });
      if (sequence >= to) break;
    }
    return rows;
  }

  close(): void {
    this.#pages.close();
  }

  /** Returns the first row that ends with this sequence number or a later one. */
  #firstAt(sequence: number): number {
    let low = 0;
    let high = this.#sequences.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sequences[middle] < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
