/**
 * Follows the journal of one shard into its spool, and keeps where it is. Owner: the history thread.
 *
 * Invariants:
 *   SHARDWRITER-1  A checkpoint stands at the first record of an hour, where every piece ends: whatever ends the
 *                  thread, the next one continues there and writes the same bytes.
 *   SHARDWRITER-2  The journal is trimmed only up to what a checkpoint has on the disk.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import { dayName } from '../../shared/base/historyTables.ts';
import { bucketOf, DAY_MS, HOUR_MS } from '../../shared/tables/buckets.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalError, JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { oldestState } from '../snapshot/replica.ts';
import { replaceFile } from './files.ts';
import { type KeptMarket, type KeptOrder, ShardHistory } from './shardHistory.ts';
import { Spool, type SpoolLengths } from './spool.ts';

const CHECKPOINT_FORMAT = 1;
/** A checkpoint syncs each file of the hour: a quiet hour is not worth one. */
const CHECKPOINT_RECORDS = 10_000;
/** A command of a day comes no later than this after its end. */
const LATE_MS = 60_000;

/** The records of a day that is not published yet. */
export type ShardDay = { readonly first: number; last: number; readonly isWhole: boolean };

type HistorySource = {
  readonly journalPath: string;
  /** Of the snapshots. */
  readonly directory: string;
  readonly shard: number;
  readonly key: ShardKey;
};

type Checkpoint = {
  readonly format: number;
  readonly head: { readonly sequence: number; readonly chainLow: number; readonly chainHigh: number };
  /** The last record whose rows are in the spool: records up to it that come after the head are skipped. */
  readonly through: number;
  readonly timeMs: number;
  readonly dayMs: number;
  readonly isWhole: boolean;
  readonly days: Readonly<Record<string, ShardDay>>;
  readonly lengths: SpoolLengths;
  readonly markets: readonly KeptMarket[];
};

export class ShardWriter {
  readonly shard: number;
  /** Unpublished days by name, the one that is being written too. */
  readonly days: Record<string, ShardDay>;
  readonly folder: string;
  readonly #source: HistorySource;
  readonly #reader: JournalReader;
  readonly #history: ShardHistory;
  readonly #spool: Spool;
  #head: JournalHead;
  /** The head before the records that are being read. */
  #before: JournalHead;
  #through = 0;
  #keptSequence = 0;
  #keptThrough = 0;
  #timeMs = 0;
  #dayMs = 0;
  /** False until the first day since history began has ended, if it began after the start of that day. */
  #isWhole = true;
  #isRestoring = false;

  /** @param working the folder of what is not published. @param onMadeAnew the journal is not that of the checkpoint */
  constructor(source: HistorySource, working: string, onMadeAnew: (journalPath: string) => void) {
    this.#source = source;
    this.shard = source.shard;
    this.folder = join(working, `shard-${source.shard}`);
    this.days = {};
    this.#reader = new JournalReader(source.journalPath, source.key);
    this.#spool = new Spool(this.folder);
    this.#history = new ShardHistory(source.shard, ({ id }, table, line) => {
      if (!this.#isRestoring) this.#spool.add(id, table, line);
    });
    this.#head = new JournalHead(0, 0, 0);
    const kept = this.#load();
    if (kept !== null && this.#reader.continues(headOf(kept.checkpoint))) this.#resume(kept.checkpoint, kept.orders);
    else {
      if (kept !== null) onMadeAnew(source.journalPath);
      this.#begin();
    }
    this.#before = this.#head.copy();
  }

  /** The last record whose rows are written, and its time; 0 before the first. */
  get followed(): { readonly sequence: number; readonly timeMs: number } {
    return { sequence: this.#through, timeMs: this.#timeMs };
  }

  /** SHARDWRITER-2. */
  get keptSequence(): number {
    return this.#keptSequence;
  }

  /** True once no row of that day can come any more. */
  isPast(dayMs: number): boolean {
    return this.#dayMs > dayMs;
  }

  /** Follows at most about so many records, up to `last`. @returns how many */
  follow(last: number, limit: number): number {
    const from = this.#head.sequence;
    if (last <= from) return 0;
    this.#before = this.#head.copy();
    this.#reader.readFrom(this.#head, Math.min(limit, last - from), (record) => {
      if (record.sequence <= this.#through) return;
      const timeMs = Math.max(this.#timeMs, record.timeMs);
      if (bucketOf(timeMs, HOUR_MS) > bucketOf(this.#timeMs, HOUR_MS)) this.#turn(timeMs);
      const day = this.days[dayName(this.#dayMs)];
      if (day === undefined) this.days[dayName(this.#dayMs)] = this.#newDay(record.sequence);
      else day.last = record.sequence;
      this.#history.record(timeMs, record);
      this.#through = record.sequence;
      this.#timeMs = timeMs;
    });
    assert(this.#head.sequence > from, 'SHARDWRITER-2: a journal holds every record that its shard has committed');
    return this.#head.sequence - from;
  }

  /** Every record up to now was followed: a day that is over ends, though no record of the next one has come. */
  passed(nowMs: number): void {
    const timeMs = bucketOf(nowMs - LATE_MS, DAY_MS);
    if (timeMs <= this.#dayMs) return;
    this.#before = this.#head.copy();
    this.#turn(timeMs);
    this.#timeMs = Math.max(this.#timeMs, timeMs);
  }

  /** The day was published. */
  forget(day: string): void {
    delete this.days[day];
    rmSync(join(this.folder, day), { recursive: true, force: true });
  }

  /** The folders of markets of a day. */
  marketsOf(day: string): string[] {
    const folder = join(this.folder, day);
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  close(): void {
    this.#reader.close();
  }

  /** A new hour begins: SHARDWRITER-1. */
  #turn(timeMs: number): void {
    const hourMs = bucketOf(timeMs, HOUR_MS);
    const dayMs = bucketOf(timeMs, DAY_MS);
    const isFirst = this.#dayMs === 0;
    this.#history.endMinutes(hourMs);
    const isDue = dayMs > this.#dayMs || this.#through - this.#keptThrough >= CHECKPOINT_RECORDS;
    if (!isDue) return this.#spool.flush();
    let lengths = isFirst ? {} : this.#spool.sync();
    if (dayMs > this.#dayMs) {
      if (!isFirst) this.#isWhole = true;
      this.#dayMs = dayMs;
      lengths = {};
      this.#spool.continueDay(dayMs, lengths);
      this.#history.beginDay(dayMs);
    }
    this.#save(lengths, timeMs);
  }

  #newDay(sequence: number): ShardDay {
    return { first: sequence, last: sequence, isWhole: this.#isWhole };
  }

  #save(lengths: SpoolLengths, timeMs: number): void {
    const { sequence, chainLow, chainHigh } = this.#before;
    const checkpoint: Checkpoint = {
      format: CHECKPOINT_FORMAT,
      head: { sequence, chainLow, chainHigh },
      through: this.#through,
      // The hour that has begun: the first record of it turns no hour again.
      timeMs: Math.max(this.#timeMs, bucketOf(timeMs, HOUR_MS)),
      dayMs: this.#dayMs,
      isWhole: this.#isWhole,
      days: this.days,
      lengths,
      markets: this.#history.markets(),
    };
    const lines = [JSON.stringify(checkpoint)];
    for (const order of this.#history.orders()) lines.push(JSON.stringify(order));
    mkdirSync(this.folder, { recursive: true });
    replaceFile(this.#checkpointPath, `${lines.join('\n')}\n`);
    this.#keptSequence = sequence;
    this.#keptThrough = this.#through;
  }

  get #checkpointPath(): string {
    return join(this.folder, 'checkpoint');
  }

  #load(): { readonly checkpoint: Checkpoint; readonly orders: readonly KeptOrder[] } | null {
    if (!existsSync(this.#checkpointPath)) return null;
    const [first, ...orders] = readFileSync(this.#checkpointPath, 'utf8').trimEnd().split('\n');
    const checkpoint: Checkpoint = JSON.parse(first);
    if (checkpoint.format !== CHECKPOINT_FORMAT) {
      throw new JournalError(`${this.#checkpointPath}: format ${checkpoint.format} is of another version`);
    }
    return { checkpoint, orders: orders.map((line) => JSON.parse(line)) };
  }

  #resume(checkpoint: Checkpoint, orders: readonly KeptOrder[]): void {
    const { head, through, timeMs, dayMs, isWhole, days, lengths, markets } = checkpoint;
    this.#head = headOf({ head });
    this.#through = through;
    this.#timeMs = timeMs;
    this.#dayMs = dayMs;
    this.#isWhole = isWhole;
    Object.assign(this.days, days);
    this.#keptSequence = head.sequence;
    this.#keptThrough = through;
    for (const market of markets) this.#history.keepMarket(market);
    for (const order of orders) this.#history.keepOrder(order);
    this.#history.beginDay(dayMs);
    this.#spool.continueDay(dayMs, lengths);
  }

  /** From the first record, or from the oldest state that a trimmed journal continues. */
  #begin(): void {
    rmSync(this.folder, { recursive: true, force: true });
    const { firstSequence } = this.#reader.facts();
    if (firstSequence === 1) return;
    const replica = oldestState(this.#source, firstSequence);
    if (replica === null) {
      throw new JournalError(`journal ${this.#source.journalPath}: starts at ${firstSequence}, without a snapshot`);
    }
    const { engine, head } = replica;
    this.#isRestoring = true;
    engine.describe(() => {
      this.#history.apply(engine.out.words, 0, engine.out.lengthBytes >>> 2);
      engine.out.clear();
    });
    this.#isRestoring = false;
    this.#head = head.copy();
    this.#through = head.sequence;
    this.#isWhole = false;
  }
}

function headOf({ head }: Pick<Checkpoint, 'head'>): JournalHead {
  return new JournalHead(head.sequence, head.chainLow, head.chainHigh);
}
