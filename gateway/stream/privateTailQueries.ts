/** The SQL for private streams that are catching up. It runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { PRIVATE_TAIL } from '../../shared/tables/privateTail.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';

export type PrivateTailTask = { readonly shard: number; readonly from: number; readonly through: number };

export type PrivateTailPage = {
  /** The read model has the frames of all records from this one on. */
  readonly start: number;
  /** In the order of the journal; `frames` as in shared/wire/privateRecord.ts, back to back. */
  readonly records: readonly { readonly shardSequence: number; readonly frames: Uint32Array }[];
  /** True if no record up to `through` follows this page. */
  readonly isLast: boolean;
};

/** More than one, because a page repeats the record that the last one ended with. */
const PAGE_RECORDS = 500;

const FRAMES = select(PRIVATE_TAIL, 'shard_sequence', 'frames');

export class PrivateTailQueries {
  /** Null when the projector has not reached the record yet, or read.db is being recreated. */
  readonly read: (task: PrivateTailTask) => PrivateTailPage | null;

  constructor(db: Database.Database) {
    const cursor = db.prepare<[number], number>('SELECT sequence FROM cursors WHERE shard = ?').pluck();
    const start = db
      .prepare<[number], number>('SELECT shard_sequence FROM private_tail_starts WHERE shard = ?')
      .pluck();
    const rows = db.prepare<[number, number, number], SelectedBy<typeof FRAMES>>(`
      SELECT ${FRAMES.sql} FROM private_tail
      WHERE shard = ? AND shard_sequence BETWEEN ? AND ? ORDER BY shard_sequence LIMIT ${PAGE_RECORDS}`);
    this.read = ({ shard, from, through }) => {
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
    };
  }
}
