/**
 * The positions up to which a member has applied the log and stored it durably. A standby takes them from its gateway;
 * a leader takes the positions that were held long ago.
 *
 * Invariant:
 *   APPLIED-1  The durable position never covers a row that this machine could lose in a power cut, or whose private
 *              frames are not numbered here: rows up to it may be trimmed from the log.
 */

/** The most bytes of rows that were posted and are not applied. */
const MOST_POSTED_BYTES = 8 << 20;
/** Rows that a leader held so long ago are durable here: a process whose journal cannot be written ends at once. */
const LEADER_DURABLE_MS = 60_000;
const NOTE_MS = 1000;

export class AppliedPositions {
  #applied = 0;
  #durable = 0;
  /** A leader's last row. */
  #held = 0;
  #numbered = 0;
  #bytes = 0;
  /** The messages that are not applied yet: the last position of each, and its bytes. */
  readonly #posted: { readonly position: number; readonly bytes: number }[] = [];
  /** Positions held by a leader, by time: the oldest of them are durable here. */
  readonly #heldAt: { readonly atMs: number; readonly position: number }[] = [];

  /** The last row that this member has, on the disk or on its way there. */
  get reached(): number {
    return Math.max(this.#applied, this.#held);
  }

  /** True while no more rows should be posted. */
  get isFull(): boolean {
    return this.#bytes >= MOST_POSTED_BYTES;
  }

  posted(position: number, bytes: number): void {
    this.#posted.push({ position, bytes });
    this.#bytes += bytes;
  }

  apply(position: number, durable: number): void {
    this.#applied = Math.max(this.#applied, position);
    this.#durable = Math.max(this.#durable, durable);
    while (this.#posted.length > 0 && this.#posted[0].position <= this.#applied) {
      this.#bytes -= this.#posted.shift()!.bytes;
    }
  }

  /** The private frames of the rows up to this position are numbered, durably. */
  numbered(position: number): void {
    this.#numbered = position;
  }

  /** This process leads, and the log holds its rows up to this position. */
  held(position: number, nowMs: number): void {
    this.#held = position;
    if (nowMs - (this.#heldAt.at(-1)?.atMs ?? 0) >= NOTE_MS) this.#heldAt.push({ atMs: nowMs, position });
  }

  /** The position up to which this member has every row durably. */
  durable(nowMs: number): number {
    while (this.#heldAt.length > 0 && this.#heldAt[0].atMs < nowMs - LEADER_DURABLE_MS) {
      this.#durable = Math.max(this.#durable, this.#heldAt.shift()!.position);
    }
    return Math.min(this.#durable, this.#numbered);
  }
}
