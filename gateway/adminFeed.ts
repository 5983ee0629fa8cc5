/**
 * What administrators see as it happens: server-sent events to everyone who listens (RULES.md 9.11).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   A1  A listener that does not read holds no more than MAX_QUEUED events here, and is then cut off: it reconnects
 *       and has missed something, which a gap in the ids says. A report of counts is never queued; the next one
 *       replaces it.
 *   A2  The exchange never waits for a listener.
 */
import type { HttpResponse } from 'uWebSockets.js';

/** The part of a response used here. */
export type EventSink = Pick<HttpResponse, 'write' | 'end' | 'close' | 'cork' | 'onWritable' | 'onAborted'>;

type Listener = {
  readonly sink: EventSink;
  /** Has not taken what it was sent last. */
  isBehind: boolean;
  readonly queue: string[];
};

export const MAX_LISTENERS = 16;
export const MAX_QUEUED = 256;

export class AdminFeed {
  readonly #listeners = new Set<Listener>();
  #lastId = 0;

  get listeners(): number {
    return this.#listeners.size;
  }

  get isFull(): boolean {
    return this.#listeners.size >= MAX_LISTENERS;
  }

  /** The status and headers have been written. `first` is what the listener is told before anything else. */
  attach(sink: EventSink, first: readonly [type: string, data: object]): void {
    const listener: Listener = { sink, isBehind: false, queue: [] };
    sink.onAborted(() => this.#listeners.delete(listener));
    sink.onWritable(() => this.#catchUp(listener));
    this.#listeners.add(listener);
    this.#send(listener, frameOf(this.#lastId, ...first));
  }

  /** Something has changed. */
  publish(type: string, data: object): void {
    this.#lastId++;
    if (this.#listeners.size === 0) return;
    const frame = frameOf(this.#lastId, type, data);
    for (const listener of this.#listeners) {
      if (!listener.isBehind) this.#send(listener, frame);
      else if (listener.queue.length < MAX_QUEUED) listener.queue.push(frame);
      else this.#cutOff(listener);
    }
  }

  /** How things stand right now, asked for only when somebody listens. */
  report(type: string, read: () => object): void {
    if (this.#listeners.size === 0) return;
    const frame = frameOf(this.#lastId, type, read());
    for (const listener of this.#listeners) if (!listener.isBehind) this.#send(listener, frame);
  }

  /** The last event for everyone. */
  close(type: string, data: object): void {
    this.publish(type, data);
    // Asked to close the connection now, uWebSockets.js would write a header into the body.
    for (const { sink } of this.#listeners) sink.cork(() => sink.end());
    this.#listeners.clear();
  }

  #send(listener: Listener, frame: string): void {
    const { sink } = listener;
    sink.cork(() => {
      listener.isBehind = !sink.write(frame);
    });
  }

  /** @returns true: nothing is left that uWebSockets.js should call again for. */
  #catchUp(listener: Listener): boolean {
    listener.isBehind = false;
    while (!listener.isBehind) {
      const frame = listener.queue.shift();
      if (frame === undefined) break;
      this.#send(listener, frame);
    }
    return true;
  }

  #cutOff(listener: Listener): void {
    this.#listeners.delete(listener);
    listener.sink.close();
  }
}

/** JSON has no line breaks of its own, so it is one line of data. */
function frameOf(id: number, type: string, data: object): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
