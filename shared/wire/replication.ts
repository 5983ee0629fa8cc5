/**
 * The memory and the records by which a process takes part in a replicated log (engine/replication/README.md).
 *
 * The log holds rows of several streams in one total order. A stream below FIRST_GATEWAY_STREAM is the journal of the
 * shard with that number; the others are the changes of the gateway's own databases. Each stream has its own sequence
 * numbers, without gaps: a journal's row ends with the number of its last record.
 *
 * Owner: the replication thread writes the memory, all other threads read. An outbox has one thread that writes, a
 * shard or the gateway, and the replication thread that reads.
 *
 *   buffer   REPLICATION (RECORDS.md) | epoch, renewed, ahead: cells of 64 bits | formats: one for each layout
 *            | held: one for each stream, shards first
 *
 * Invariants:
 *   REPLICATION-1  `held` of a stream only grows. The rows that it covers are in the log for good: no failover removes
 *                  them.
 *   REPLICATION-2  Cells are stored before the bell is changed and before a shard is woken. A waiter reads the bell
 *                  before the cells, and a shard sets ASLEEP of its command ring before it looks at them once more, so
 *                  no wake-up is lost.
 *   REPLICATION-3  An outbox gives rows in the order in which they were put, each whole or not at all.
 *   REPLICATION-4  The state `lost` is final: this process acknowledges nothing more.
 *   REPLICATION-5  The formats of a lead are stored before its epoch, and stay (FORMATS-1).
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { LAYOUTS, type Layout, type Numbers } from '../base/formats.ts';
import { AgeClock } from './ageClock.ts';
import { line, record, safe, u32 } from './layout.ts';
import { readSafe, writeSafe } from './record.ts';
import { RingConsumer, RingProducer } from './ring.ts';
import { RECORD_ALIGNMENT } from './ringLayout.ts';

/** Streams of the gateway; every stream below the first of them is a shard. */
export const STREAM = { CONTROL: 1000, ANSWERS: 1001, SETTLEMENT: 1002, AUDIT: 1003 } as const;
const FIRST_GATEWAY_STREAM = STREAM.CONTROL;
const GATEWAY_STREAMS = Object.keys(STREAM).length;
/** Epoch, time of the last renewal, cell of the clock and formats of the lead, before those of the streams. */
const RENEWED = 1;
const AHEAD = 2;
const FIRST_FORMAT = 3;
const OWN_CELLS = FIRST_FORMAT + LAYOUTS.length;

/** A lease that is not renewed ends after this time, by the database's clock. */
export const LEASE_MS = 2000;

/**
 * A row that waits to get into the log, and a row of the log: `position` counts the rows of all streams, and `lead` is
 * the random number of the lead in which it was added.
 */
export type NewRow = { readonly stream: number; readonly sequence: number; readonly bytes: Uint8Array };
export type LogRow = NewRow & { readonly position: number; readonly epoch: number; readonly lead: number };

/**
 * `stalled`: this process leads, and the log has accepted nothing for a while although rows wait. It becomes `leader`
 * again when the log accepts them.
 */
const STATES = ['starting', 'standby', 'leader', 'stalled', 'lost'] as const;
export type ReplicationState = (typeof STATES)[number];

export const REPLICATION = record(
  'REPLICATION',
  {
    bell: line('grows with every change of a cell; threads wait on it'),
    state: u32('starting, standby, leader, stalled, lost'),
    unused: u32(),
  },
  'The start of the memory of replication: its cells follow.',
);

export class Replication {
  readonly buffer: SharedArrayBuffer;
  readonly shards: number;
  readonly #words: Int32Array;
  /** Epoch, RENEWED, AHEAD and formats. */
  readonly #own: BigInt64Array;
  readonly #held: BigInt64Array;

  static create(shards: number): SharedArrayBuffer {
    return new SharedArrayBuffer(REPLICATION.BYTES + 8 * (OWN_CELLS + shards + GATEWAY_STREAMS));
  }

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.shards = (buffer.byteLength - REPLICATION.BYTES) / 8 - OWN_CELLS - GATEWAY_STREAMS;
    assert(Number.isInteger(this.shards) && this.shards >= 1, 'replication: the buffer has a cell for each stream');
    this.#words = new Int32Array(buffer, 0, REPLICATION.WORDS);
    this.#own = new BigInt64Array(buffer, REPLICATION.BYTES, OWN_CELLS);
    this.#held = new BigInt64Array(buffer, REPLICATION.BYTES + 8 * OWN_CELLS);
  }

  /** The last sequence number of the stream that the log holds; 0 if it holds none. */
  held(stream: number): number {
    return Number(Atomics.load(this.#held, this.#cellOf(stream)));
  }

  setHeld(stream: number, sequence: number): void {
    const before = Atomics.exchange(this.#held, this.#cellOf(stream), BigInt(sequence));
    assert(before <= sequence, 'REPLICATION-1: a log loses nothing');
    this.#ring();
  }

  /** The epoch in which this process leads, or that of the leader it follows; 0 before it knows one. */
  epoch(): number {
    return Number(Atomics.load(this.#own, 0));
  }

  setEpoch(epoch: number): void {
    Atomics.store(this.#own, 0, BigInt(epoch));
    this.#ring();
  }

  /** The clock of all ages in this process, which are compared between its threads. */
  ages(times?: ConstructorParameters<typeof AgeClock>[1]): Clock {
    return new AgeClock(this.#own.subarray(AHEAD, AHEAD + 1), times);
  }

  /** The time, by `ages`, at which this process sent its last successful renewal of the lease. */
  renewedMs(): number {
    return Number(Atomics.load(this.#own, RENEWED));
  }

  /** No thread waits for this cell. */
  setRenewed(sentMs: number): void {
    Atomics.store(this.#own, RENEWED, BigInt(Math.floor(sentMs)));
  }

  /** The number of a layout that this process writes as the leader. */
  format(layout: Layout): number {
    const number = Number(Atomics.load(this.#own, FIRST_FORMAT + LAYOUTS.indexOf(layout)));
    assert(number > 0, 'REPLICATION-5: a leader knows the formats of its lead');
    return number;
  }

  /** REPLICATION-5 */
  setFormats(numbers: Numbers): void {
    for (const [index, layout] of LAYOUTS.entries()) {
      Atomics.store(this.#own, FIRST_FORMAT + index, BigInt(numbers[layout] ?? 0));
    }
  }

  state(): ReplicationState {
    return STATES[Atomics.load(this.#words, REPLICATION.state)];
  }

  setState(state: ReplicationState): void {
    const before = Atomics.exchange(this.#words, REPLICATION.state, STATES.indexOf(state));
    assert(before !== STATES.indexOf('lost') || state === 'lost', 'REPLICATION-4: a lost process stays lost');
    this.#ring();
  }

  /** Resolves to true once the log holds the stream up to `sequence`, or to false after `timeoutMs`, or when lost. */
  async awaitHeld(stream: number, sequence: number, timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const seenBell = Atomics.load(this.#words, REPLICATION.bell);
      if (this.held(stream) >= sequence) return true;
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0 || this.state() === 'lost') return false;
      const waiting = Atomics.waitAsync(this.#words, REPLICATION.bell, seenBell, leftMs);
      if (waiting.async) await waiting.value;
    }
  }

  /** The current bell: read it, then the cells, and only then wait for it to change. */
  bell(): number {
    return Atomics.load(this.#words, REPLICATION.bell);
  }

  /** Blocks until the bell is no longer `seenBell`, at most `timeoutMs`. Worker threads only. */
  waitForBell(seenBell: number, timeoutMs: number): void {
    Atomics.wait(this.#words, REPLICATION.bell, seenBell, timeoutMs);
  }

  #ring(): void {
    Atomics.add(this.#words, REPLICATION.bell, 1);
    Atomics.notify(this.#words, REPLICATION.bell);
  }

  #cellOf(stream: number): number {
    const cell = stream < FIRST_GATEWAY_STREAM ? stream : this.shards + stream - FIRST_GATEWAY_STREAM;
    assert(cell >= 0 && cell < this.#held.length, 'replication: the stream has a cell');
    assert(stream >= FIRST_GATEWAY_STREAM || stream < this.shards, 'replication: a shard has a stream');
    return cell;
  }
}

export const OUTBOX_PART = record(
  'OUTBOX_PART',
  {
    length: u32(),
    type: u32('1'),
    stream: u32(),
    rowBytes: u32('of the whole row'),
    sequence: safe('of the row'),
    offset: u32('of these bytes in the row'),
    partBytes: u32('of these bytes, which follow'),
  },
  'A row on its way to the replicated log, or a part of one that is long.',
);
const PART_TYPE = 1;

/** The side of an outbox that puts rows into it. Rows that find no room wait here, in order. */
export class OutboxProducer {
  readonly #ring: RingProducer;
  readonly #mostPartBytes: number;
  /** Rows that are not in the ring yet, the first from `offset` on. */
  readonly #waiting: NewRow[] = [];
  #offset = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#ring = new RingProducer(buffer);
    this.#mostPartBytes = this.#ring.capacity / 4 - OUTBOX_PART.BYTES;
  }

  /** True while rows wait for room: `flush` has to be called again. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Puts a row in, or behind the rows that wait for room. Its bytes may be reused at once. */
  put(row: NewRow): void {
    if (!this.isWaiting && this.#write(row)) {
      this.#ring.publish();
      return;
    }
    this.#waiting.push({ ...row, bytes: row.bytes.slice() });
    this.flush();
  }

  /** Puts in waiting rows, as far as there is room. @returns true if nothing waits any more. */
  flush(): boolean {
    // An empty publish would wake the replication thread once for every held batch.
    if (!this.isWaiting) return true;
    while (this.isWaiting && this.#write(this.#waiting[0])) this.#waiting.shift();
    this.#ring.publish();
    return !this.isWaiting;
  }

  /** Writes the row from the current offset on. @returns true if that was all of it. */
  #write({ stream, sequence, bytes }: NewRow): boolean {
    const ring = this.#ring;
    do {
      const partBytes = Math.min(bytes.length - this.#offset, this.#mostPartBytes);
      const padded = Math.ceil(partBytes / RECORD_ALIGNMENT) * RECORD_ALIGNMENT;
      const word = ring.tryClaim(OUTBOX_PART.BYTES + padded, 0);
      if (word < 0) return false;
      const { words } = ring;
      words[word + OUTBOX_PART.type] = PART_TYPE;
      words[word + OUTBOX_PART.stream] = stream;
      words[word + OUTBOX_PART.rowBytes] = bytes.length;
      writeSafe(words, word + OUTBOX_PART.sequence, sequence);
      words[word + OUTBOX_PART.offset] = this.#offset;
      words[word + OUTBOX_PART.partBytes] = partBytes;
      ring.bytes.set(bytes.subarray(this.#offset, this.#offset + partBytes), word * 4 + OUTBOX_PART.BYTES);
      this.#offset += partBytes;
    } while (this.#offset < bytes.length);
    this.#offset = 0;
    return true;
  }
}

/** The side of an outbox that takes rows out of it. */
export class OutboxConsumer {
  readonly #ring: RingConsumer;
  /** A row of which only a first part was read. */
  #partial: NewRow | null = null;

  constructor(buffer: SharedArrayBuffer) {
    this.#ring = new RingConsumer(buffer);
  }

  /** The next row, in its own memory, or null if there is none. */
  next(): NewRow | null {
    const { words, bytes } = this.#ring;
    for (let word = this.#ring.next(); word >= 0; word = this.#ring.next()) {
      assert(words[word + OUTBOX_PART.type] === PART_TYPE, 'outbox: it contains parts of rows only');
      const offset = words[word + OUTBOX_PART.offset];
      const partBytes = words[word + OUTBOX_PART.partBytes];
      const row: NewRow = this.#partial ?? {
        stream: words[word + OUTBOX_PART.stream],
        sequence: readSafe(words, word + OUTBOX_PART.sequence),
        bytes: new Uint8Array(words[word + OUTBOX_PART.rowBytes]),
      };
      assert(offset === 0 || this.#partial !== null, 'REPLICATION-3: a row starts with its first part');
      const start = word * 4 + OUTBOX_PART.BYTES;
      row.bytes.set(bytes.subarray(start, start + partBytes), offset);
      const isWhole = offset + partBytes === row.bytes.length;
      this.#partial = isWhole ? null : row;
      this.#ring.release();
      if (isWhole) return row;
    }
    return null;
  }

  isEmpty(): boolean {
    return this.#ring.isEmpty();
  }

  /** Resolves when something was put in, or at `wake`. */
  waitAsync(): Promise<void> {
    return this.#ring.waitAsync();
  }

  wake(): void {
    this.#ring.wake();
  }
}
