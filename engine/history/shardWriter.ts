/**
 * Follows the journal of one shard into its spool, and keeps where it is. Owner: the history thread.
 *
 * Invariants:
 *   SHARDWRITER-1  A checkpoint stands at the first record of an hour, where every piece ends: whatever ends the
 *                  thread, the next one continues there and writes the same bytes.
 *   SHARDWRITER-2  The journal is trimmed only up to what a checkpoint has on the disk.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import { dayName } from '../../shared/base/historyTables.ts';
import { bucketOf, DAY_MS, HOUR_MS } from '../../shared/tables/buckets.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalError, JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { oldestState } from '../snapshot/replica.ts';
import { type Checkpoint, loadCheckpoint, type ShardDay, saveCheckpoint } from './checkpoint.ts';
import { ShardHistory } from './shardHistory.ts';
import { Spool } from './spool.ts';

/** A checkpoint writes all open orders and waits for the disk: few records are not worth one. */
const CHECKPOINT_RECORDS = 10_000;
/** Open orders for each record before it: what checkpoints write for a record is bounded by so many orders. */
const CHECKPOINT_ORDERS = 4;
/** A command of a day comes no later than this after its end, unless the clock of the machine is set back. */
const LATE_MS = 600_000;

type HistorySource = {
  readonly journalPath: string;
  /** Of the snapshots. */
  readonly directory: string;
  readonly shard: number;
  readonly key: ShardKey;
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
    const kept = loadCheckpoint(this.#checkpointPath);
    if (kept !== null && this.#reader.continues(headOf(kept))) this.#resume(kept);
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
    rmSync(join(this.folder, day), { force: true });
  }

  close(): void {
    this.#reader.close();
    this.#spool.close();
  }

  /** A new hour begins: SHARDWRITER-1. */
  #turn(timeMs: number): void {
    const hourMs = bucketOf(timeMs, HOUR_MS);
    const dayMs = bucketOf(timeMs, DAY_MS);
    const isFirst = this.#dayMs === 0;
    this.#history.endMinutes(hourMs);
    const least = Math.max(CHECKPOINT_RECORDS, Math.ceil(this.#history.openOrders / CHECKPOINT_ORDERS));
    if (dayMs === this.#dayMs && this.#through - this.#keptThrough < least) return;
    let length = isFirst ? 0 : this.#spool.sync();
    if (dayMs > this.#dayMs) {
      if (!isFirst) this.#isWhole = true;
      this.#dayMs = dayMs;
      length = 0;
      this.#spool.continueDay(dayMs, length);
      this.#history.beginDay(dayMs);
    }
    this.#save(length, timeMs);
  }

  #newDay(sequence: number): ShardDay {
    return { first: sequence, last: sequence, isWhole: this.#isWhole };
  }

  #save(length: number, timeMs: number): void {
    const { sequence, chainLow, chainHigh } = this.#before;
    mkdirSync(this.folder, { recursive: true });
    saveCheckpoint(this.#checkpointPath, {
      head: { sequence, chainLow, chainHigh },
      through: this.#through,
      // The hour that has begun: the first record of it turns no hour again.
      timeMs: Math.max(this.#timeMs, bucketOf(timeMs, HOUR_MS)),
      dayMs: this.#dayMs,
      isWhole: this.#isWhole,
      days: this.days,
      length,
      markets: this.#history.markets(),
      orders: this.#history.orders(),
    });
    this.#keptSequence = sequence;
    this.#keptThrough = this.#through;
  }

  get #checkpointPath(): string {
    return join(this.folder, 'checkpoint');
  }

  #resume(checkpoint: Checkpoint): void {
    const { through, timeMs, dayMs, isWhole, days, length, markets, orders } = checkpoint;
    this.#head = headOf(checkpoint);
    this.#through = through;
    this.#timeMs = timeMs;
    this.#dayMs = dayMs;
    this.#isWhole = isWhole;
    Object.assign(this.days, days);
    this.#keptSequence = this.#head.sequence;
    this.#keptThrough = through;
    for (const market of markets) this.#history.keepMarket(market);
    for (const order of orders) this.#history.keepOrder(order);
    this.#history.beginDay(dayMs);
    this.#spool.continueDay(dayMs, length);
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
