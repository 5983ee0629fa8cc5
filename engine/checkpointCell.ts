/**
 * What the writer of a journal and the thread that checkpoints it tell each other, in shared memory.
 *
 *   IDLE ──writer: enough was written──► DUE ──checkpointer──┬──► IDLE       copied, the WAL is still short
 *    ▲                                                       ├──► REST_DUE   copied, and it is time to begin it anew
 *    └──────────writer: copied the last few pages────────────┘               (then the writer copies what came since)
 *                                                            └──► FAILED     for good: the writer ends over it
 *
 *   word 0   state
 *   word 1   bytes of the message that says why it failed; then the message
 *
 * Invariants:
 *   K1  Only the writer leaves IDLE and REST_DUE, only the checkpointer leaves DUE, nobody leaves FAILED. ENDED is
 *       written by the writer alone, over any state, and ends the checkpointer.
 */

export const CHECKPOINT = { IDLE: 0, DUE: 1, REST_DUE: 2, FAILED: 3, ENDED: 4 } as const;

const STATE = 0;
const MESSAGE_BYTES = 1;
const HEADER_BYTES = 8;
const MOST_MESSAGE_BYTES = 504;

export class CheckpointCell {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #message: Uint8Array;

  constructor(buffer = new SharedArrayBuffer(HEADER_BYTES + MOST_MESSAGE_BYTES)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    this.#message = new Uint8Array(buffer, HEADER_BYTES);
  }

  get state(): number {
    return Atomics.load(this.#words, STATE);
  }

  /** Why it FAILED. */
  get failure(): string {
    // A decoder takes no shared memory.
    return new TextDecoder().decode(this.#message.slice(0, this.#words[MESSAGE_BYTES]));
  }

  /** Writer: in IDLE. */
  request(): void {
    this.#enter(CHECKPOINT.DUE);
  }

  /** Writer: in REST_DUE, after its own part. */
  rested(): void {
    this.#enter(CHECKPOINT.IDLE);
  }

  /** Writer. */
  end(): void {
    this.#enter(CHECKPOINT.ENDED);
  }

  /** Checkpointer: blocks until there is work. @returns false when it is to end. */
  waitForWork(): boolean {
    for (;;) {
      const { state } = this;
      if (state === CHECKPOINT.DUE) return true;
      if (state === CHECKPOINT.FAILED || state === CHECKPOINT.ENDED) return false;
      Atomics.wait(this.#words, STATE, state);
    }
  }

  /** Checkpointer: its part is done. */
  finish(isRestDue: boolean): void {
    this.#leaveDue(isRestDue ? CHECKPOINT.REST_DUE : CHECKPOINT.IDLE);
  }

  /** Checkpointer: the disk said no, or it is broken itself. */
  fail(reason: string): void {
    const { written } = new TextEncoder().encodeInto(reason, this.#message);
    this.#words[MESSAGE_BYTES] = written;
    this.#leaveDue(CHECKPOINT.FAILED);
  }

  #enter(state: number): void {
    Atomics.store(this.#words, STATE, state);
    Atomics.notify(this.#words, STATE);
  }

  /** An end that came meanwhile stays. */
  #leaveDue(state: number): void {
    Atomics.compareExchange(this.#words, STATE, CHECKPOINT.DUE, state);
  }
}
