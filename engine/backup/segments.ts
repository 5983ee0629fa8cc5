/**
 * Splits the rows of a journal into parts of about a megabyte, and reads them back.
 *
 * Invariants:
 *   SEGMENTS-1  Rows are checked while they are taken: checksum, tag and chain, beginning with the head after the last
 *               segment.
 *   SEGMENTS-2  From the same head, the same rows give the same segments, so that an interrupted backup does not write
 *               them again.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ByteReader, ByteWriter } from '../../shared/records/bytes.ts';
import { JournalReader } from '../journal/reader.ts';
import { firstSequenceOf, JournalHead, type Row } from '../journal/row.ts';
import { RowReader } from '../journal/rowReader.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import type { Pace } from './pace.ts';
import type { BackedJournal, Segment } from './point.ts';
import { BackupError, type BackupStore } from './store.ts';

/** The facts about a shard that a backup needs. */
export type BackupShard = {
  readonly shard: number;
  readonly shards: number;
  readonly journalPath: string;
  readonly key: ShardKey;
};

const SEGMENT_BYTES = 1 << 20;
/**
 * Records per read of a journal. Reads are short, because an open read keeps a running shard from shortening its WAL.
 */
const BATCH_RECORDS = 1000;
const PATIENCE_MS = 60_000;
const LOOK_MS = 20;

/** The copy of one journal, which grows until a cut. */
export class JournalBackup {
  readonly #shard: BackupShard;
  readonly #store: BackupStore;
  readonly #pace: Pace;
  readonly #times: RowReader;
  #segments: Segment[] = [];
  /** The oldest record that the journal has. */
  #first = 0;
  #head = new JournalHead(0, 0, 0);
  #hasHead = false;
  /** The rows of the segment that is being filled. */
  #rows: Row[] = [];
  #bytes = 0;

  /** @param before the journal in the last point; null if there is none. */
  constructor(shard: BackupShard, store: BackupStore, pace: Pace, before: BackedJournal | null) {
    this.#shard = shard;
    this.#store = store;
    this.#pace = pace;
    this.#times = new RowReader(shard.journalPath, shard.key);
    if (before !== null && before.last > 0) this.#goOn(before);
  }

  /** The oldest record of the journal when rows were first taken; 1 if the journal was empty. */
  get first(): number {
    return Math.max(this.#first, 1);
  }

  /** Like `take`, once the journal has that record: a standby writes it a little later. */
  async takeTo(cut: number): Promise<void> {
    for (const deadlineMs = performance.now() + PATIENCE_MS; this.#head.sequence < cut; ) {
      this.take(cut);
      if (this.#head.sequence >= cut) return;
      if (performance.now() > deadlineMs) throw new BackupError(`${this.#shard.journalPath} has no record ${cut}`);
      await sleep(LOOK_MS);
    }
  }

  /** Takes the rows up to and including the row with this record; without `cut`, takes all rows. */
  take(cut?: number): void {
    const reader = new JournalReader(this.#shard.journalPath, this.#shard.key);
    try {
      const { firstSequence, lastSequence } = reader.facts();
      if (lastSequence === 0) return;
      // The journal was trimmed beyond the end of the last point, so nothing of that point is of use.
      if (!this.#hasHead || firstSequence > this.#head.sequence + 1) {
        this.#segments = [];
        this.#rows = [];
        this.#bytes = 0;
        this.#first = firstSequence;
        this.#head = reader.headBefore(firstSequence);
        this.#hasHead = true;
      }
      if (this.#first === 0) this.#first = firstSequence;
      const last = Math.min(cut ?? lastSequence, lastSequence);
      while (this.#head.sequence < last) {
        const rows = reader.copiesFrom(this.#head, Math.min(BATCH_RECORDS, last - this.#head.sequence));
        if (rows.length === 0) throw new BackupError(`${this.#shard.journalPath}: record ${last} cannot be read`);
        for (const row of rows) this.#add(row);
      }
    } finally {
      reader.close();
    }
  }

  /** Returns the journal as it is in the point. Rows that the original no longer has are left out. */
  done(): BackedJournal {
    this.#close();
    const { sequence: last, chainLow, chainHigh } = this.#head;
    const { shard } = this.#shard;
    const first = last === 0 ? 0 : this.#first;
    const segments = this.#segments.filter((segment) => segment.last >= first);
    return { shard, first, last, chainLow, chainHigh, lastMs: segments.at(-1)?.lastMs ?? 0, segments };
  }

  #goOn(before: BackedJournal): void {
    const head = new JournalHead(before.last, before.chainLow, before.chainHigh);
    const reader = new JournalReader(this.#shard.journalPath, this.#shard.key);
    try {
      if (!reader.continues(head)) return;
      const gone = before.segments.filter(({ part }) => !this.#store.has(part));
      if (!gone.every((segment) => this.#writeAgain(segment, reader))) return;
    } finally {
      reader.close();
    }
    this.#segments = [...before.segments];
    this.#head = head;
    this.#hasHead = true;
  }

  /**
   * Writes a part again that the folder once had and that every later point names. The same rows give the same part
   * (SEGMENTS-2).
   * @returns false if the journal no longer has all of the rows: then the journal is copied anew, as far as it goes
   * back
   */
  #writeAgain({ part, first, last }: Segment, reader: JournalReader): boolean {
    if (first < reader.facts().firstSequence) return false;
    const head = reader.headBefore(first);
    const rows: Row[] = [];
    while (head.sequence < last) {
      const more = reader.copiesFrom(head, Math.min(BATCH_RECORDS, last - head.sequence));
      if (more.length === 0) return false;
      for (const row of more) {
        rows.push(row);
        this.#pace.took(row.bytes.length);
      }
    }
    return this.#store.put(segmentOf(rows)) === part;
  }

  /** SEGMENTS-1: `copiesFrom` has checked the row. */
  #add(row: Row): void {
    this.#rows.push(row);
    this.#bytes += row.bytes.length;
    this.#pace.took(row.bytes.length);
    if (this.#bytes >= SEGMENT_BYTES) this.#close();
  }

  #close(): void {
    const [start, end] = [this.#rows[0], this.#rows.at(-1)];
    if (start === undefined || end === undefined) return;
    let lastMs = 0;
    this.#times.headAfter(end);
    this.#times.show(({ timeMs }) => {
      lastMs = timeMs;
    });
    const part = this.#store.put(segmentOf(this.#rows));
    this.#segments.push({ part, first: firstSequenceOf(start), last: end.sequence, lastMs });
    this.#rows = [];
    this.#bytes = 0;
  }
}

function segmentOf(rows: readonly Row[]): Uint8Array {
  const writer = new ByteWriter();
  for (const { sequence, bytes } of rows) {
    writer.number(sequence);
    writer.bytes(bytes);
  }
  return writer.done();
}

/** Yields the rows of a segment. The caller checks them. */
export function* rowsOf(bytes: Uint8Array): Generator<Row> {
  const reader = new ByteReader(bytes);
  while (!reader.isAtEnd) yield { sequence: reader.number(), bytes: new Uint8Array(reader.bytes()) };
}
