/**
 * Reads the tail of the log, which this member has not read yet, in order, checks it and posts it. Owner: the
 * replication thread.
 *
 * Invariants:
 *   LOGTAIL-1  A standby posts each row once, in order. It stops at a row that does not continue the last one, and
 *              before the first row of a lead whose formats it does not know.
 *   LOGTAIL-2  A post with `asOfMs` means that everything the log held at that time was posted: the server was
 *              confirmed (CLUSTERLOG-5) and read at that time or later.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { KnownFormats } from '../../shared/base/formats.ts';
import type { LogOrderProducer } from '../../shared/wire/logOrder.ts';
import type { LogRow, NewRow } from '../../shared/wire/replication.ts';
import type { LocalEnd, ReplicationMessage } from '../../shared/wire/threads.ts';
import { AppliedPositions } from './applied.ts';
import { Confirmed } from './confirmed.ts';
import { requireReadable } from './formatsOfMember.ts';
import { requireInOrder } from './gaps.ts';
import { LastRow } from './lastRow.ts';
import { MOST_ROWS_READ, type ReplicatedLog, type RowName } from './log.ts';
import { findStart } from './start.ts';
import type { Timing } from './timing.ts';

const READ_BYTES = 1 << 20;

type Parts = {
  readonly log: ReplicatedLog;
  readonly timing: Pick<Timing, 'nowMs'>;
  readonly ages: Clock;
  readonly formats: KnownFormats;
  readonly order: Pick<LogOrderProducer, 'put'>;
  /** @param named those of the rows that have a name */
  readonly onHeld: (rows: readonly LocalEnd[], named?: readonly RowName[]) => void;
  readonly post: (message: ReplicationMessage) => void;
  /** Once this returns true, nothing more is posted. */
  readonly isEnded: () => boolean;
};

export class Tail {
  /** The last row that was posted or held. */
  position = 0;
  readonly applied = new AppliedPositions();
  readonly confirmed: Confirmed;
  readonly #parts: Parts;
  readonly #last: LastRow;
  /** Rows up to here were applied before this process started: some are read again only for their names. */
  #appliedBefore = 0;
  /** The last sequence number of each stream that this process had before it followed. */
  #local: ReadonlyMap<number, number> = new Map();
  /** The newest `asOfMs` that was posted. */
  #postedMs = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#last = new LastRow(parts.log);
    this.confirmed = new Confirmed(parts.log, parts.ages);
  }

  /** The last rows of all streams, as the log has them. */
  see(ends: readonly RowName[]): void {
    for (const end of ends) this.#last.see(end);
  }

  /** LASTROW-1. */
  requireThere(): Promise<void> {
    return this.#last.requireThere();
  }

  /** False if the database was replaced meanwhile: a database that was set back has less than this member's files. */
  async isThere(): Promise<boolean> {
    const { runs } = this.#parts.log;
    const run = runs.now;
    await this.#last.requireThere();
    return run === runs.now;
  }

  /** Finds the position from which to read. @returns the position up to which this machine has every row */
  async start(ends: readonly LocalEnd[]): Promise<number> {
    const { applied, position, logged } = await findStart(this.#parts.log, ends);
    // Rows may have arrived since this process opened the log. Rows that its files have are not read again.
    this.#parts.onHeld(logged, logged);
    this.see(logged);
    this.#appliedBefore = applied;
    this.position = position;
    await this.#last.requireThere();
    this.applied.apply(applied, applied);
    this.applied.numbered(position);
    this.#local = new Map(ends.map(({ stream, sequence }) => [stream, sequence]));
    return applied;
  }

  /** Posts the next rows, unless the gateway has enough of them. @returns the number of rows */
  async postNext(): Promise<number> {
    const { log, ages, order, formats, onHeld, post, isEnded } = this.#parts;
    if (this.applied.isFull) return 0;
    const askedMs = ages.nowMs();
    const { rows, server } = await log.readAfter(this.position, READ_BYTES);
    // Rows of another lead may come from a log that lost this member's rows and has others in their place.
    if (rows.some((row) => this.#last.isOfAnotherLead(row))) {
      await this.#last.requireThere();
      requireReadable(await log.lease(), formats);
    }
    if (isEnded()) return 0;
    requireInOrder(rows, this.position, this.#appliedBefore);
    const bytes = rows.reduce((sum, row) => sum + row.bytes.length, 0);
    if (rows.length > 0) {
      this.position = rows.at(-1)!.position;
      this.#last.see(rows.at(-1)!);
      this.applied.posted(this.position, bytes);
    }
    order.put(rows);
    const fresh = rows.filter(({ stream, sequence }) => sequence > (this.#local.get(stream) ?? 0));
    onHeld(rows, rows);
    const isEnd = bytes < READ_BYTES && rows.length < MOST_ROWS_READ;
    const asOfMs = isEnd ? this.confirmed.asOfMs(server, askedMs) : null;
    // Without rows the message only shows how recent the standby's state is.
    if (rows.length === 0 && (asOfMs === null || asOfMs <= this.#postedMs)) return 0;
    this.#postedMs = Math.max(this.#postedMs, asOfMs ?? 0);
    post({ rows: fresh satisfies readonly LogRow[], end: this.position, asOfMs });
    return rows.length;
  }

  /** The log has rows of this leader: its own tail ends after them. */
  held(rows: readonly NewRow[], position: number, { epoch, lead }: Pick<RowName, 'epoch' | 'lead'>): void {
    const { timing, order, onHeld } = this.#parts;
    const named = rows.map(({ stream, sequence }, index) => {
      return { stream, sequence, position: position - rows.length + index + 1, epoch, lead };
    });
    // Before `held`: an event that follows from a row comes after its name (LOGORDER-2).
    order.put(named);
    onHeld(named, named);
    this.position = position;
    this.applied.held(position, timing.nowMs());
  }

  /** The position up to which this machine has the log durably. */
  durable(): number {
    return this.applied.durable(this.#parts.timing.nowMs());
  }
}
