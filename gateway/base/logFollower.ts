/**
 * Distributes the rows of the log on a standby, in the log's order: rows of shards to their threads, rows of the
 * gateway's databases to the stores. It knows how far all of them have applied their rows.
 * Owner: the gateway thread.
 *
 *   replication thread ──rows──► LogFollower ──► shard k: its thread applies them, and then the views show them
 *                                            ├─► stores: applied at once
 *                                            └─► settlement: its thread applies them after the journals
 *
 * Invariants:
 *   LOGFOLLOWER-1  Every row is handed on once and in order, so a shard never gets a row before the change of the
 *                  stores that the row depends on.
 *   LOGFOLLOWER-2  Every row up to `durable` is on the disk of this machine, and a restart finds it: the log may be
 *                  trimmed up to there. Rows of the stores are applied before they are durable.
 */
import { assert } from '../../shared/base/assert.ts';
import { type LogRow, STREAM } from '../../shared/wire/replication.ts';

export type FollowTarget = {
  /** Sends rows to the thread of a shard. */
  postRows(shard: number, rows: readonly LogRow[]): void;
  /** The last sequence number of the shard that the views show: its journal has it durably. */
  shown(shard: number): number;
  /** Applies a row of the gateway's databases. */
  applyRow(row: LogRow): void;
  /** The last sequence number of a gateway stream that is durable and that a restart finds. */
  durable(stream: number): number;
};

type Pending = { readonly position: number; readonly sequence: number };
/** At this time the log held nothing after `end`. */
type Seen = { readonly end: number; readonly asOfMs: number };

export class LogFollower {
  readonly #target: FollowTarget;
  /** By shard: the rows that the views do not show yet, in order. */
  readonly #pending: Pending[][];
  /** By stream of the gateway: the rows that are applied but not durable yet, in order. */
  readonly #undurable = new Map<number, Pending[]>();
  /** Rows of settlement.db that its thread has not applied yet. */
  readonly #settling: Pending[] = [];
  /** The position of the last row that was handed on. */
  #received = 0;
  /** By shard: the sequence number of the last row that was handed on; 0 before the first. */
  readonly #handedOn: number[];
  #seen: Seen[] = [];
  #asOfMs: number | null = null;

  constructor(shards: number, target: FollowTarget) {
    this.#target = target;
    this.#pending = Array.from({ length: shards }, () => []);
    this.#handedOn = Array.from({ length: shards }, () => 0);
  }

  /** ROLE-2. The last time for which every row that the log held then is applied. */
  get asOfMs(): number | null {
    this.#forget();
    return this.#asOfMs;
  }

  /** The last position up to which every row is applied. */
  get applied(): number {
    return this.#forget();
  }

  /** LOGFOLLOWER-2. */
  get durable(): number {
    const applied = this.#forget();
    for (const [stream, rows] of this.#undurable) forgetUpTo(rows, this.#target.durable(stream));
    return leastOf(this.#undurable.values(), applied);
  }

  /** True when every row that was received is applied. */
  get isIdle(): boolean {
    return this.applied === this.#received;
  }

  /** The last record of a shard before which no applied change of the stores comes; 0: wherever the shard is. */
  handedOn(shard: number): number {
    return this.#handedOn[shard];
  }

  /** @param end the last row that was read, of which some are here already; `asOfMs` null: more rows are to be read */
  receive(rows: readonly LogRow[], end: number, asOfMs: number | null): void {
    const ofShards = new Map<number, LogRow[]>();
    for (const row of rows) {
      assert(row.position > this.#received, 'LOGFOLLOWER-1: rows come in order');
      this.#received = row.position;
      if (row.stream < STREAM.CONTROL) {
        const ofShard = ofShards.get(row.stream) ?? [];
        ofShard.push(row);
        ofShards.set(row.stream, ofShard);
        this.#pending[row.stream].push({ position: row.position, sequence: row.sequence });
        this.#handedOn[row.stream] = row.sequence;
      } else {
        this.#target.applyRow(row);
        if (row.stream === STREAM.SETTLEMENT) this.#settling.push({ position: row.position, sequence: row.sequence });
        else this.#note(row);
      }
    }
    for (const [shard, ofShard] of ofShards) this.#target.postRows(shard, ofShard);
    this.#received = Math.max(this.#received, end);
    if (asOfMs !== null) this.#seen.push({ end, asOfMs });
  }

  #note({ stream, position, sequence }: LogRow): void {
    const rows = this.#undurable.get(stream) ?? [];
    this.#undurable.set(stream, rows);
    rows.push({ position, sequence });
  }

  /** Forgets applied rows. @returns the last position up to which every row is applied. */
  #forget(): number {
    for (const [shard, pending] of this.#pending.entries()) forgetUpTo(pending, this.#target.shown(shard));
    forgetUpTo(this.#settling, this.#target.durable(STREAM.SETTLEMENT));
    const applied = leastOf([...this.#pending, this.#settling], this.#received);
    while (this.#seen.length > 0 && this.#seen[0].end <= applied) this.#asOfMs = this.#seen.shift()!.asOfMs;
    return applied;
  }
}

function forgetUpTo(rows: Pending[], last: number): void {
  const first = rows.findIndex(({ sequence }) => sequence > last);
  rows.splice(0, first < 0 ? rows.length : first);
}

/** The position before the first of all these rows, or `end`. */
function leastOf(rows: Iterable<readonly Pending[]>, end: number): number {
  let least = end;
  for (const [first] of rows) if (first !== undefined) least = Math.min(least, first.position - 1);
  return least;
}
