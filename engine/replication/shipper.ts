/**
 * Ships a leader's rows into the log: waiting rows are combined into one append, and a few appends are in flight at a
 * time, in order. Nothing is lost or added twice if the outcome of an append is unknown.
 *
 * Invariants:
 *   SHIPPER-1  A row keeps the position that it received when it was added: a repeated append adds the same rows at the
 *              same positions, or nothing.
 *   SHIPPER-2  Rows are reported as held in order, once, and only when this or a later commit has waited for the
 *              standbys.
 *   SHIPPER-3  After an append with an unknown outcome, the log is read before the next append.
 *   SHIPPER-4  Once another member leads, or the log contradicts what was held, nothing more is appended or reported.
 */
import { assert } from '../../shared/base/assert.ts';
import { errorOf } from '../../shared/base/thrown.ts';
import type { NewRow } from '../../shared/wire/replication.ts';
import { type ReplicatedLog, type Resolved, TakesNoRowsError } from './log.ts';
import type { Timing } from './timing.ts';

/**
 * While one append commits, a second is sent only if it is so long that its transfer takes time. Otherwise rows wait
 * for the first: an append sent early would still wait for the previous one, and rows that arrive meanwhile would wait
 * for both.
 */
const MOST_UNDERWAY = 2;
const LEAST_SECOND_BYTES = 64 << 10;
/** An append has rows of about this total length, and at most this number of rows. */
const APPEND_BYTES = 1 << 20;
const APPEND_ROWS = 1000;
/** The pause before an unreachable log is tried again. */
const RETRY_MS = 100;

type Waiting = NewRow & { readonly addedMs: number };

type ShipperOptions = {
  readonly log: Pick<ReplicatedLog, 'append' | 'resolve'>;
  readonly timing: Pick<Timing, 'nowMs' | 'sleep'>;
  readonly epoch: number;
  /** The log's last position. */
  readonly end: number;
  readonly onHeld: (rows: readonly NewRow[], position: number) => void;
  readonly onLost: (reason: string) => void;
  /** Null if the log can be written again. */
  readonly onProblem: (problem: string | null) => void;
};

export class Shipper {
  waitingBytes = 0;
  /** Duration of the last append. */
  appendMs = 0;
  /** True if the last append, or read of the log, was refused: its database accepts no rows at present. */
  isRefused = false;
  readonly #options: ShipperOptions;
  /** Rows that are not held, the first at `#heldEnd + 1`. */
  readonly #waiting: Waiting[] = [];
  #heldEnd: number;
  #sentEnd: number;
  #underway = 0;
  #isInDoubt = false;
  #isResolving = false;
  #isEnded = false;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#heldEnd = options.end;
    this.#sentEnd = options.end;
  }

  get heldEnd(): number {
    return this.#heldEnd;
  }

  get waitingRows(): number {
    return this.#waiting.length;
  }

  /** The age of the oldest row that is not held, 0 if there is none. */
  get oldestMs(): number {
    const first = this.#waiting[0];
    return first === undefined ? 0 : this.#options.timing.nowMs() - first.addedMs;
  }

  /** Rows that are added together share an append. */
  add(rows: readonly NewRow[]): void {
    const addedMs = this.#options.timing.nowMs();
    for (const row of rows) {
      this.#waiting.push({ ...row, addedMs });
      this.waitingBytes += row.bytes.length;
    }
    this.#send();
  }

  /** Another statement than an append has failed: the outcome of pending appends may be unknown too. */
  doubt(): void {
    this.#isInDoubt = true;
    if (this.#underway === 0) void this.#resolve();
  }

  end(): void {
    this.#isEnded = true;
  }

  #send(): void {
    while (!this.#isEnded && !this.#isInDoubt && this.#underway < MOST_UNDERWAY) {
      const rows = this.#nextRows();
      if (rows.length === 0 || (this.#underway > 0 && lengthOf(rows) < LEAST_SECOND_BYTES)) return;
      const after = this.#sentEnd;
      this.#sentEnd += rows.length;
      this.#underway++;
      void this.#append(after, rows);
    }
  }

  #nextRows(): readonly NewRow[] {
    const start = this.#sentEnd - this.#heldEnd;
    let end = start;
    for (let bytes = 0; end < this.#waiting.length && end - start < APPEND_ROWS; end++) {
      bytes += this.#waiting[end].bytes.length;
      if (bytes > APPEND_BYTES && end > start) break;
    }
    return this.#waiting.slice(start, end);
  }

  async #append(after: number, rows: readonly NewRow[]): Promise<void> {
    const { log, epoch, timing } = this.#options;
    const startMs = this.#options.timing.nowMs();
    try {
      const isAdded = await log.append(epoch, after, rows);
      // A commit later than a doubtful one covers that one as well (SHIPPER-2).
      if (isAdded) this.#held(after + rows.length);
      else this.#isInDoubt = true;
      this.appendMs = this.#options.timing.nowMs() - startMs;
    } catch (error) {
      this.#isInDoubt = true;
      this.#noteFailure(errorOf(error));
      if (this.isRefused) await timing.sleep(RETRY_MS);
    }
    this.#underway--;
    if (!this.#isInDoubt) this.#send();
    else if (this.#underway === 0) void this.#resolve();
  }

  #held(position: number): void {
    if (this.#isEnded || position <= this.#heldEnd) return;
    const rows = this.#waiting.splice(0, position - this.#heldEnd);
    for (const { bytes } of rows) this.waitingBytes -= bytes.length;
    this.#heldEnd = position;
    assert(this.#heldEnd <= this.#sentEnd, 'SHIPPER-2: only what was sent is held');
    this.#options.onHeld(rows, position);
    if (this.isRefused) this.#noteAnswer();
  }

  #noteFailure(error: Error): void {
    this.isRefused = error instanceof TakesNoRowsError;
    this.#options.onProblem(error.message);
  }

  #noteAnswer(): void {
    this.isRefused = false;
    this.#options.onProblem(null);
  }

  /** SHIPPER-3. Reads the log, repeating until it answers. */
  async #resolve(): Promise<void> {
    if (this.#isResolving) return;
    this.#isResolving = true;
    const { log, epoch, timing } = this.#options;
    while (!this.#isEnded) {
      try {
        this.#settle(await log.resolve(epoch, this.#heldEnd));
        break;
      } catch (error) {
        this.#noteFailure(errorOf(error));
        await timing.sleep(RETRY_MS);
      }
    }
    // On a full disk the log may still be read and a lease renewed, but rows are refused: only a held row ends that
    // state.
    if (!this.isRefused || this.#waiting.length === 0) this.#noteAnswer();
    this.#isResolving = false;
    if (this.#isEnded) return;
    this.#isInDoubt = false;
    this.#send();
  }

  #settle(resolved: Resolved): void {
    if (this.#isEnded) return;
    const contradiction = this.#contradiction(resolved);
    if (contradiction !== null) {
      this.#isEnded = true;
      this.#options.onLost(contradiction);
      return;
    }
    const end = this.#heldEnd + resolved.rows.length;
    this.#sentEnd = Math.max(this.#sentEnd, end);
    this.#held(end);
    this.#sentEnd = end;
  }

  /** SHIPPER-4. */
  #contradiction({ isLeader, hasLastHeld, rows }: Resolved): string | null {
    if (!hasLastHeld) return `the log has lost the row at position ${this.#heldEnd}, which it held`;
    if (!isLeader) return leadEnded(this.#options.epoch);
    for (const [index, { position, epoch, stream, sequence }] of rows.entries()) {
      const sent = this.#waiting[index];
      const isOurs = epoch === this.#options.epoch && sent?.stream === stream && sent.sequence === sequence;
      if (isOurs && position === this.#heldEnd + index + 1) continue;
      return `the log has another row at position ${position} than this process has sent`;
    }
    return null;
  }
}

/** The lease is gone, or nothing shows that the present database has everything (MAYTAKE-2). */
export function leadEnded(epoch: number): string {
  return `another process leads since epoch ${epoch}, or the database may have been set back`;
}

function lengthOf(rows: readonly NewRow[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
