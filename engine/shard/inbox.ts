/**
 * The messages of a thread that waits for them in its event loop, one after the other. A thread that blocks in
 * Atomics.wait reads its port by `receiveMessageOnPort` instead; a thread that changes to that method closes its inbox
 * first.
 */
import type { MessagePort } from 'node:worker_threads';

export class Inbox<M> {
  readonly #port: MessagePort;
  readonly #waiting: M[] = [];
  #wake: (() => void) | null = null;
  readonly #receive = (message: M): void => {
    this.#waiting.push(message);
    this.#wake?.();
  };

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', this.#receive);
  }

  /** Resolves with the next message, or with null if none has come within this time. */
  async next(timeoutMs: number): Promise<M | null> {
    if (this.#waiting.length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
    return this.#waiting.shift() ?? null;
  }

  /** @returns the messages that were received and not read */
  close(): M[] {
    this.#port.off('message', this.#receive);
    return this.#waiting.splice(0);
  }
}
