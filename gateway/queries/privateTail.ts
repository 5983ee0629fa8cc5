/** The SQL behind private streams that have to be caught up. Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';

export type PrivateTailTask = { readonly shard: number; readonly from: number; readonly through: number };

export type PrivateTailPage = {
  /** The read model has everything from this record on. */
  readonly start: number;
  /** In the order of the journal; `frames` as in shared/privateRecord.ts, back to back. */
  readonly records: readonly { readonly shardSequence: number; readonly frames: Uint32Array }[];
  /** There is nothing more up to `through`. */
  readonly isLast: boolean;
};

/** A page holds the record asked from again, so it must be more than one to get anywhere. */
const PAGE_RECORDS = 500;

type Row = { readonly shard_sequence: number; readonly frames: Uint8Array };

export class PrivateTailQueries {
  readonly #read: (task: PrivateTailTask) => PrivateTailPage | null;

  constructor(db: Database.Database) {
    const cursor = db.prepare<[number], number>('SELECT sequence FROM cursors WHERE shard = ?').pluck();
    const start = db
      .prepare<[number], number>('SELECT shard_sequence FROM private_tail_starts WHERE shard = ?')
      .pluck();
    const rows = db.prepare<[number, number, number], Row>(`
      SELECT shard_sequence, frames FROM private_tail
      WHERE shard = ? AND shard_sequence BETWEEN ? AND ? ORDER BY shard_sequence LIMIT ${PAGE_RECORDS}`);
    // One transaction: read.db may be made again between two statements.
    this.#read = db.transaction(({ shard, from, through }: PrivateTailTask) => {
      if ((cursor.get(shard) ?? 0) < through) return null;
      const found = rows.all(shard, from, through);
      return {
        start: start.get(shard) ?? 1,
        records: found.map((row) => ({
          shardSequence: row.shard_sequence,
          frames: new Uint32Array(new Uint8Array(row.frames).buffer),
        })),
        isLast: found.length < PAGE_RECORDS,
      };
    });
  }

  /** Null: the projector has not come that far, or is on its way there once more. */
  read(task: PrivateTailTask): PrivateTailPage | null {
    return this.#read(task);
  }
}
