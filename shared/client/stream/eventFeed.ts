/**
 * Delivers events to one reader: to a callback, as they arrive, or to an async iterator, through a bounded queue. If
 * the queue is full, `onFull` decides how the reader learns about it; no event is dropped without notice.
 */

/** Events arrived faster than they were read. */
export class SlowReaderError extends Error {
  override readonly name = 'SlowReaderError';
}

type FeedOptions<E> = {
  readonly limit: number;
  readonly onEvent: ((event: E) => void) | undefined;
  /** True: events wait for a reader from the start. False: only while an iterator exists. */
  readonly keepsUnread: boolean;
  /** Called when the queue is full. The result replaces all waiting events; null means that `fail` was called. */
  readonly onFull: () => E | null;
};

const COMPACT_AT = 1024;

export class EventFeed<E> implements AsyncIterable<E> {
  readonly #options: FeedOptions<E>;
  #queue: E[] = [];
  #head = 0;
  #isQueueing: boolean;
  #isOver = false;
  #error: Error | null = null;
  #waiting: { resolve: (result: IteratorResult<E>) => void; reject: (error: Error) => void } | null = null;

  constructor(options: FeedOptions<E>) {
    this.#options = options;
    this.#isQueueing = options.keepsUnread && options.onEvent === undefined;
  }

  push(event: E): void {
    if (this.#isOver) return;
    const { onEvent, limit, onFull } = this.#options;
    if (onEvent !== undefined) call(onEvent, event);
    if (!this.#isQueueing) return;
    if (this.#waiting !== null) {
      this.#waiting.resolve({ done: false, value: event });
      this.#waiting = null;
      return;
    }
    if (this.#queue.length - this.#head >= limit) {
      const instead = onFull();
      if (instead === null) return;
      this.#queue = [instead];
      this.#head = 0;
      return;
    }
    this.#queue.push(event);
  }

  /** No event follows; waiting events can still be read. */
  end(): void {
    this.#finish(null);
  }

  /** Like `end`, but after the waiting events the reader gets the error. */
  fail(error: Error): void {
    this.#finish(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<E> {
    if (!this.#isOver) this.#isQueueing = true;
    return {
      next: () => this.#next(),
      return: async () => {
        if (!this.#options.keepsUnread) {
          this.#isQueueing = false;
          this.#queue = [];
          this.#head = 0;
        }
        return { done: true, value: undefined };
      },
    };
  }

  #next(): Promise<IteratorResult<E>> {
    if (this.#head < this.#queue.length) {
      const value = this.#queue[this.#head++];
      if (this.#head >= COMPACT_AT) {
        this.#queue = this.#queue.slice(this.#head);
        this.#head = 0;
      }
      return Promise.resolve({ done: false, value });
    }
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    if (this.#waiting !== null) return Promise.reject(new Error('a stream has one reader'));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #finish(error: Error | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    if (this.#waiting === null) return;
    if (error === null) this.#waiting.resolve({ done: true, value: undefined });
    else this.#waiting.reject(error);
    this.#waiting = null;
  }
}

/** An error thrown by a callback is a bug of the caller: it surfaces as uncaught, and the stream continues. */
function call<E>(onEvent: (event: E) => void, event: E): void {
  try {
    onEvent(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
