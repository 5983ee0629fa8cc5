/**
 * The notifications that accounts have read (RULES.md 14.64), kept in control.db. Owner: the gateway thread. The marks
 * of the most recently asking accounts are in memory.
 *
 * A notification comes from a source (a shard, or the notices) at a sequence number of that source. A mark holds each
 * source's last sequence number at the moment when everything was marked as read. It holds no time, because a record
 * that is written later may have been under way at that time already: it would count as read before anyone saw it.
 *
 * Invariants:
 *   READMARKS-1  What is read stays read: the sequences of an account's marks never fall.
 *   READMARKS-2  The time at which a notification was read does not change, except by the bounds below.
 *   READMARKS-3  An account has at most MOST_MARKS marks and MOST_SINGLES single reads. Beyond them the oldest mark is
 *                dropped, because the next one covers it too, and the oldest single read makes everything before it in
 *                its source count as read.
 */
import { assert } from '../../shared/base/assert.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

/** Where a notification comes from. */
export type Origin = { readonly id: string; readonly source: number; readonly sequence: number };

type Mark = {
  readonly readMs: number;
  /** Nothing older than this is unread. */
  readonly fromMs: number;
  /** By source. */
  readonly through: readonly number[];
};
type SingleRead = Origin & { readonly readMs: number };

/** Everything that an account has read. Every change replaces the object. */
export type Reads = {
  /** Oldest first. */
  readonly marks: readonly Mark[];
  readonly singles: ReadonlyMap<string, SingleRead>;
};

type MarkRow = { readMs: number; fromMs: number; through: string };

const MOST_MARKS = 50;
const MOST_SINGLES = 500;
const MOST_ACCOUNTS = 500;

export class ReadMarks {
  readonly #changes: Changes;
  /** The number of shards and one for the notices. */
  readonly #sources: number;
  /** By account, least recently used first. */
  readonly #reads = new Map<number, Reads>();
  readonly #selectMarks;
  readonly #selectSingles;
  readonly #write: (account: number, before: Reads, after: Reads) => void;

  constructor(database: ControlDatabase, shards: number, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#sources = shards + 1;
    this.#selectMarks = database.prepare<[number], MarkRow>(
      `SELECT read_ms AS readMs, from_ms AS fromMs, through FROM read_marks WHERE account_index = ? ORDER BY read_ms`,
    );
    this.#selectSingles = database.prepare<[number], SingleRead>(
      `SELECT id, source, sequence, read_ms AS readMs FROM single_reads WHERE account_index = ? ORDER BY read_ms, id`,
    );
    this.#write = writer(database);
  }

  /** The reads of these accounts are loaded again when they are asked for. */
  reload(changed: TakenRows): void {
    for (const table of ['read_marks', 'single_reads']) {
      for (const account of changed.numbersOf(table)) this.#reads.delete(account);
    }
  }

  of(account: number): Reads {
    const reads = this.#reads.get(account) ?? this.#load(account);
    this.#keep(account, reads);
    return reads;
  }

  /** Everything up to these sequences has been read; nothing older than `fromMs` was unread. */
  markAll(account: number, through: readonly number[], fromMs: number, nowMs: number): void {
    assert(through.length === this.#sources, 'READMARKS-1: a mark has a sequence of each source');
    const { marks, singles } = this.of(account);
    const latest = marks.at(-1);
    // A mark of the same millisecond is extended; so is the latest mark after the clock was set back.
    const readMs = Math.max(nowMs, latest?.readMs ?? 0);
    const mark = { readMs, fromMs: Math.max(fromMs, latest?.fromMs ?? 0), through: joined(through, latest) };
    const earlier = marks.filter((other) => other.readMs < readMs);
    this.#change(account, { marks: [...earlier, mark].slice(-MOST_MARKS), singles });
  }

  /** A notification that was unread has been read. */
  markOne(account: number, { id, source, sequence }: Origin, nowMs: number): void {
    assert(source < this.#sources, 'READMARKS-1: a notification comes from a known source');
    const reads = this.of(account);
    assert(readMsOf(reads, { id, source, sequence }) === null, 'READMARKS-2: a notification is read once');
    const singles = new Map(reads.singles).set(id, { id, source, sequence, readMs: nowMs });
    let { marks } = reads;
    if (singles.size > MOST_SINGLES) {
      const oldest: SingleRead = singles.values().next().value!;
      singles.delete(oldest.id);
      marks = [...marks.slice(0, -1), this.#covering(oldest, marks.at(-1))];
    }
    this.#change(account, { marks, singles });
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  /** The latest mark, or a first one, extended to cover a single read (READMARKS-3). */
  #covering({ source, sequence, readMs }: SingleRead, latest: Mark | undefined): Mark {
    const through = new Array<number>(this.#sources).fill(0);
    through[source] = sequence;
    return { readMs, fromMs: 0, ...latest, through: joined(through, latest) };
  }

  #change(account: number, after: Reads): void {
    const before = this.of(account);
    this.#changes.write(() => this.#write(account, before, after));
    this.#keep(account, after);
  }

  #load(account: number): Reads {
    const marks = this.#selectMarks.all(account).map(({ readMs, fromMs, through }) => {
      return { readMs, fromMs, through: JSON.parse(through) };
    });
    return { marks, singles: new Map(this.#selectSingles.all(account).map((single) => [single.id, single])) };
  }

  #keep(account: number, reads: Reads): void {
    this.#reads.delete(account);
    this.#reads.set(account, reads);
    if (this.#reads.size > MOST_ACCOUNTS) this.#reads.delete(this.#reads.keys().next().value!);
  }
}

/** When a notification was read; null while it is unread. */
export function readMsOf({ marks, singles }: Reads, { id, source, sequence }: Origin): number | null {
  const single = singles.get(id);
  if (single !== undefined) return single.readMs;
  return marks.find(({ through }) => sequence <= through[source])?.readMs ?? null;
}

/** READMARKS-1 */
function joined(through: readonly number[], before: Mark | undefined): number[] {
  return through.map((sequence, source) => Math.max(sequence, before?.through[source] ?? 0));
}

/** Writes the difference in one transaction. */
function writer(database: ControlDatabase): (account: number, before: Reads, after: Reads) => void {
  const setMark = database.prepare<[number, number, number, string]>(
    'INSERT OR REPLACE INTO read_marks (account_index, read_ms, from_ms, through) VALUES (?, ?, ?, ?)',
  );
  const dropMark = database.prepare<[number, number]>('DELETE FROM read_marks WHERE account_index = ? AND read_ms = ?');
  const addSingle = database.prepare<[number, string, number, number, number]>(
    'INSERT INTO single_reads (account_index, id, source, sequence, read_ms) VALUES (?, ?, ?, ?, ?)',
  );
  const dropSingle = database.prepare<[number, string]>('DELETE FROM single_reads WHERE account_index = ? AND id = ?');
  return database.transaction((account: number, before: Reads, after: Reads) => {
    for (const mark of before.marks) if (!after.marks.includes(mark)) dropMark.run(account, mark.readMs);
    for (const mark of after.marks) {
      if (before.marks.includes(mark)) continue;
      setMark.run(account, mark.readMs, mark.fromMs, JSON.stringify(mark.through));
    }
    for (const id of before.singles.keys()) if (!after.singles.has(id)) dropSingle.run(account, id);
    for (const { id, source, sequence, readMs } of after.singles.values()) {
      if (!before.singles.has(id)) addSingle.run(account, id, source, sequence, readMs);
    }
  });
}
