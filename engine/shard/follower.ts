/**
 * A shard of a standby: it applies the rows of the cluster's log, as the leader journaled them, until the gateway makes
 * it lead. Owner: the shard's thread, between the recovery of its local journal and its own loop.
 *
 *   recovery ──► READY ──► rows … rows ──► `restore` ──► `lead` ──► loop.ts
 *
 * Every row is checked as a journal's own (checksum, tag, chain) and every command is run again: an event that differs
 * from the leader's ends the thread with the number of the record (ENGINE-4).
 *
 * Invariants:
 *   SHARDFOLLOWER-1  A row is applied once, after all before it. Its events are published, and it counts as committed,
 *                    when it is durable in the journal of this machine. The log holds it already, so there is nothing
 *                    else to wait for.
 *   SHARDFOLLOWER-2  The journal receives the row byte for byte: the journals of all members are equal up to each one's
 *                    last row.
 *   SHARDFOLLOWER-3  `restore` comes after the last row, and `lead` once every shard has restored (BALANCES-3).
 */
import { assert } from '../../shared/base/assert.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { RingProducer } from '../../shared/wire/ring.ts';
import type { FollowRequest, FrontRequest } from '../../shared/wire/threads.ts';
import type { Engine } from '../core/engine.ts';
import type { Journal } from '../journal/journal.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';
import type { JournalHead, Row } from '../journal/row.ts';
import { RowReader } from '../journal/rowReader.ts';
import type { Inbox } from './inbox.ts';
import type { Outlet } from './outlet.ts';
import { Trimmer } from './trimmer.ts';

const ROOM_WAIT_MS = 100;
/** Output of one commit: a commit stops growing beyond this, so that readers do not wait for a long stretch of rows. */
const MOST_OUTPUT_BYTES = 1 << 20;
/** Time without rows after which housekeeping is due, and the rows after which it is due without such a time. */
const QUIET_MS = 20;
const ROWS_PER_HOUSEKEEPING = 1000;
const POLL_MS = 250;
/** The same while a front has no room for its events. */
const BEHIND_POLL_MS = 2;

type FollowerParts = {
  readonly shard: number;
  /** Recovered, but not live yet. */
  readonly engine: Engine;
  readonly journal: Journal;
  readonly progress: Progress;
  readonly outlet: Outlet;
  readonly events: Pick<RingProducer, 'waitForRoom'>;
};

export class Follower {
  readonly #parts: FollowerParts;
  readonly #reader: RowReader;
  /** After the last row that was applied. */
  readonly #head: JournalHead;
  readonly #trimmer: Trimmer;
  readonly #visit = (record: JournalRecord): void => this.#parts.engine.follow(record);

  constructor(parts: FollowerParts) {
    const { engine, journal, progress, shard } = parts;
    assert(engine.sequence === journal.lastSequence, 'SHARDFOLLOWER-1: a follower goes on where its journal ends');
    this.#parts = parts;
    this.#reader = new RowReader(`of shard ${shard} in the replicated log`, journal.key);
    this.#head = journal.head;
    this.#trimmer = new Trimmer(journal, progress, shard);
  }

  get sequence(): number {
    return this.#head.sequence;
  }

  /** Applies rows of this shard, in order. Rows that it has applied before are skipped. */
  apply(rows: readonly Row[]): void {
    const { journal, engine } = this.#parts;
    for (const row of rows) {
      if (row.sequence <= this.#head.sequence) continue;
      this.#reader.load(row, this.#head);
      journal.appendCopy(row);
      this.#reader.show(this.#visit);
      if (engine.out.lengthBytes > MOST_OUTPUT_BYTES) this.#commit();
    }
    this.#commit();
  }

  #commit(): void {
    const { shard, engine, journal, progress } = this.#parts;
    if (!journal.isStaged) return;
    assert(journal.lastSequence === engine.sequence, 'SHARDFOLLOWER-1: the journal holds every applied record');
    journal.commit();
    progress.setCommitted(shard, engine.sequence);
    engine.state.emit.published(engine.sequence);
    this.publish();
  }

  /** True if a front had no room for all of its events. */
  get isBehind(): boolean {
    return this.#parts.outlet.isBehind;
  }

  /** Serves a front from now on, or no longer. A standby receives no commands, so none of a front's can be waiting. */
  serve(request: FrontRequest): void {
    const { outlet } = this.#parts;
    if ('attach' in request) {
      outlet.attach(request.attach.front, request.attach.rings);
    } else {
      const gateway = outlet.gateways.leave(request.detach);
      if (gateway?.commands.isEmpty()) outlet.gateways.remove(gateway);
    }
    this.publish();
  }

  /** Sends the gateways what they have room for, and waits for main. */
  publish(): void {
    const { outlet, events } = this.#parts;
    while (!outlet.publish()) events.waitForRoom(ROOM_WAIT_MS);
  }

  /** Idle housekeeping, as of the loop. @returns whether there is more of it to do. */
  idle(): boolean {
    this.#parts.journal.idle();
    return this.#trimmer.trim();
  }
}

type Steps = {
  /** Publishes the shard's part of every balance in shared memory, and reports it. */
  readonly restore: () => void;
  readonly afterHousekeeping: () => void;
};

/** Follows the gateway's messages until the shard has to lead or to end. */
export async function follow(
  follower: Follower,
  inbox: Inbox<FollowRequest>,
  { restore, afterHousekeeping }: Steps,
): Promise<'lead' | 'stop'> {
  let rowsSinceHousekeeping = 0;
  let hasMoreHousekeeping = false;
  let isRestored = false;
  for (;;) {
    const isDue = rowsSinceHousekeeping > 0 || hasMoreHousekeeping;
    const message = await inbox.next(follower.isBehind ? BEHIND_POLL_MS : isDue ? QUIET_MS : POLL_MS);
    if (follower.isBehind) follower.publish();
    if (message === 'stop' || message === 'lead') {
      assert(message === 'stop' || isRestored, 'SHARDFOLLOWER-3: a shard restores before it leads');
      return serveRest(follower, inbox.close()) ? 'stop' : message;
    }
    if (message === 'restore') {
      restore();
      isRestored = true;
    } else if (message !== null && !('rows' in message)) {
      follower.serve(message);
    } else if (message !== null) {
      assert(!isRestored, 'SHARDFOLLOWER-3: no row comes after the restoring');
      follower.apply(message.rows);
      rowsSinceHousekeeping += message.rows.length;
    }
    if (message !== null && rowsSinceHousekeeping < ROWS_PER_HOUSEKEEPING) continue;
    hasMoreHousekeeping = follower.idle();
    afterHousekeeping();
    rowsSinceHousekeeping = 0;
  }
}

/** Processes the messages received when the shard was asked to lead. @returns true if it has to end */
function serveRest(follower: Follower, messages: readonly FollowRequest[]): boolean {
  for (const message of messages) if (typeof message === 'object' && !('rows' in message)) follower.serve(message);
  return messages.includes('stop');
}
