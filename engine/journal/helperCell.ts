/**
 * The signals between the writer of a journal and a thread that helps it, in shared memory. There are two kinds of
 * helpers, each with a cell of its own: the checkpointer (checkpointer.ts), and the syncer (syncer.ts), which never
 * asks for a restart of the WAL.
 *
 *   IDLE ──writer: there is work──► DUE ──helper──┬──► IDLE          it is done
 *    ▲                                            ├──► RESTART_DUE   copied, the WAL should start anew
 *    └──────────writer: copied the last pages─────┘                  (the writer copies what came since)
 *                                                 └──► FAILED        for good: the writer ends
 *
 *   word 0   state
 *   word 1   bytes of the message that says why it failed; then the message
 *
 * Invariants:
 *   HELPER-1  Only the writer leaves IDLE and RESTART_DUE, and only the helper leaves DUE. FAILED is final until the
 *             end. ENDED is written by the writer alone, over any state, and ends the helper.
 *   HELPER-2  The message is complete before the state is FAILED.
 */
import { assert } from '../../shared/base/assert.ts';

export const HELPER = { IDLE: 0, DUE: 1, RESTART_DUE: 2, FAILED: 3, ENDED: 4 } as const;

const STATE = 0;
const MESSAGE_BYTES = 1;
const HEADER_BYTES = 8;
const MOST_MESSAGE_BYTES = 504;

export class HelperCell {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #message: Uint8Array;
  #onFirstRequest: (() => void) | null;

  /** @param onFirstRequest given by the writer's side: starts the helper. */
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

  /** True while the helper has a request, or has yet to start. */
  get isBusy(): boolean {
    return this.state === HELPER.DUE;
  }

  /** The reason of FAILED. */
  get failure(): string {
    assert(this.state === HELPER.FAILED, 'HELPER-2: a message is read after the failure');
    // TextDecoder refuses shared memory, so it gets a copy.
    return new TextDecoder().decode(this.#message.slice(0, this.#words[MESSAGE_BYTES]));
  }

  /** Writer, in IDLE. @returns false when this has only started the helper, which takes a while. */
  request(): boolean {
    const isRunning = this.#onFirstRequest === null;
    this.#leave(HELPER.IDLE, HELPER.DUE);
    this.#onFirstRequest?.();
    this.#onFirstRequest = null;
    return isRunning;
  }

  /** Writer, in RESTART_DUE, after it has copied the last pages. */
  restarted(): void {
    this.#leave(HELPER.RESTART_DUE, HELPER.IDLE);
  }

  /** Writer: blocks while the helper works on a request, but not longer than `mostMs`. */
  awaitHelper(mostMs: number): void {
    Atomics.wait(this.#words, STATE, HELPER.DUE, mostMs);
  }

  /** Writer. */
  end(): void {
    Atomics.store(this.#words, STATE, HELPER.ENDED);
    Atomics.notify(this.#words, STATE);
  }

  /** Helper: blocks until there is work. @returns false when it should end. */
  waitForWork(): boolean {
    for (;;) {
      const { state } = this;
      if (state === HELPER.DUE) return true;
      if (state === HELPER.FAILED || state === HELPER.ENDED) return false;
      Atomics.wait(this.#words, STATE, state);
    }
  }

  /** Helper: its work is done. */
  finish(isRestartDue: boolean): void {
    this.#leaveDue(isRestartDue ? HELPER.RESTART_DUE : HELPER.IDLE);
  }

  /** Helper: the disk refused, or the thread itself is broken. */
  fail(reason: string): void {
    const { written } = new TextEncoder().encodeInto(reason, this.#message);
    this.#words[MESSAGE_BYTES] = written;
    this.#leaveDue(HELPER.FAILED);
  }

  #leave(from: number, to: number): void {
    const before = Atomics.compareExchange(this.#words, STATE, from, to);
    assert(before === from, 'HELPER-1: only the writer leaves IDLE and RESTART_DUE');
    Atomics.notify(this.#words, STATE);
  }

  /** Leaves ENDED as it is, which the writer may have written meanwhile. */
  #leaveDue(to: number): void {
    const before = Atomics.compareExchange(this.#words, STATE, HELPER.DUE, to);
    assert(before === HELPER.DUE || before === HELPER.ENDED, 'HELPER-1: only the helper leaves DUE');
    Atomics.notify(this.#words, STATE);
  }
}
