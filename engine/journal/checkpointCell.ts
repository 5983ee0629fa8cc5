/**
 * The signals between the writer of a journal and the thread that checkpoints it, in shared memory.
 *
 *   IDLE ──writer: enough was written──► DUE ──checkpointer──┬──► IDLE          copied, the WAL is still short
 *    ▲                                                       ├──► RESTART_DUE   copied, the WAL should start anew
 *    └──────────writer: copied the last few pages────────────┘                  (the writer copies what came since)
 *                                                            └──► FAILED        for good: the writer ends
 *
 *   word 0   state
 *   word 1   bytes of the message that says why it failed; then the message
 *
 * Invariants:
 *   CHECKPOINT-1  Only the writer leaves IDLE and RESTART_DUE, and only the checkpointer leaves DUE. FAILED is final
 *                 until the end. ENDED is written by the writer alone, over any state, and ends the checkpointer.
 *   CHECKPOINT-2  The message is complete before the state is FAILED.
 */
import { assert } from '../../shared/base/assert.ts';

export const CHECKPOINT = { IDLE: 0, DUE: 1, RESTART_DUE: 2, FAILED: 3, ENDED: 4 } as const;

const STATE = 0;
const MESSAGE_BYTES = 1;
const HEADER_BYTES = 8;
const MOST_MESSAGE_BYTES = 504;

export class CheckpointCell {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #message: Uint8Array;
  #onFirstRequest: (() => void) | null;

  /** @param onFirstRequest given by the writer's side: starts the checkpointer. */
  constructor(
    buffer = new SharedArrayBuffer(HEADER_BYTES + MOST_MESSAGE_BYTES),
    onFirstRequest: (() => void) | null = null,
  ) {
    this.buffer = buffer;
    this.#onFirstRequest = onFirstRequest;
    this.#words = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    this.#message = new Uint8Array(buffer, HEADER_BYTES);
  }

  get state(): number {
    return Atomics.load(this.#words, STATE);
  }

  /** The reason of FAILED. */
  get failure(): string {
    assert(this.state === CHECKPOINT.FAILED, 'CHECKPOINT-2: a message is read after the failure');
    // TextDecoder refuses shared memory, so it gets a copy.
    return new TextDecoder().decode(this.#message.slice(0, this.#words[MESSAGE_BYTES]));
  }

  /** Writer, in IDLE. */
  request(): void {
    this.#leave(CHECKPOINT.IDLE, CHECKPOINT.DUE);
    this.#onFirstRequest?.();
    this.#onFirstRequest = null;
  }

  /** Writer, in RESTART_DUE, after it has copied the last pages. */
  restarted(): void {
    this.#leave(CHECKPOINT.RESTART_DUE, CHECKPOINT.IDLE);
  }

  /** Writer: blocks while the checkpointer works on a request, but not longer than `mostMs`. */
  awaitCheckpointer(mostMs: number): void {
    Atomics.wait(this.#words, STATE, CHECKPOINT.DUE, mostMs);
  }

  /** Writer. */
  end(): void {
    Atomics.store(this.#words, STATE, CHECKPOINT.ENDED);
    Atomics.notify(this.#words, STATE);
  }

  /** Checkpointer: blocks until there is work. @returns false when it should end. */
  waitForWork(): boolean {
    for (;;) {
      const { state } = this;
      if (state === CHECKPOINT.DUE) return true;
      if (state === CHECKPOINT.FAILED || state === CHECKPOINT.ENDED) return false;
      Atomics.wait(this.#words, STATE, state);
    }
  }

  /** Checkpointer: its part of the copying is done. */
  finish(isRestartDue: boolean): void {
    this.#leaveDue(isRestartDue ? CHECKPOINT.RESTART_DUE : CHECKPOINT.IDLE);
  }

  /** Checkpointer: the disk refused, or the thread itself is broken. */
  fail(reason: string): void {
    const { written } = new TextEncoder().encodeInto(reason, this.#message);
    this.#words[MESSAGE_BYTES] = written;
    this.#leaveDue(CHECKPOINT.FAILED);
  }

  #leave(from: number, to: number): void {
    const before = Atomics.compareExchange(this.#words, STATE, from, to);
    assert(before === from, 'CHECKPOINT-1: only the writer leaves IDLE and RESTART_DUE');
    Atomics.notify(this.#words, STATE);
  }

  /** Leaves ENDED as it is, which the writer may have written meanwhile. */
  #leaveDue(to: number): void {
    const before = Atomics.compareExchange(this.#words, STATE, CHECKPOINT.DUE, to);
    assert(before === CHECKPOINT.DUE || before === CHECKPOINT.ENDED, 'CHECKPOINT-1: only the checkpointer leaves DUE');
    Atomics.notify(this.#words, STATE);
  }
}
