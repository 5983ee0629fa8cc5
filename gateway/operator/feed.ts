/**
 * The administrator's feed: sends server-sent events to every listener (RULES.md 9.11).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   ADMINFEED-1  At most MAX_QUEUED events are queued for a listener that does not read; then it is disconnected. When
 *                it comes back, a gap in the ids shows that it missed events. Reports are never queued, because the
 *                next one replaces them.
 *   ADMINFEED-2  The exchange never waits for a listener.
 */
import type { ServerResponse } from '../http/call.ts';

/** The part of a response that is used here. */
export type EventSink = Pick<ServerResponse, 'write' | 'end' | 'close' | 'cork' | 'onWritable' | 'onAborted'>;

type Listener = {
  readonly sink: EventSink;
  /** The id of the administrator who listens. */
  readonly operatorId: string;
  /** True if the listener's socket has not accepted everything that was written to it. */
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

  /** Adds a listener whose status and headers have been written. `first` is sent to it before any other event. */
  attach(sink: EventSink, operatorId: string, first: readonly [type: string, data: object]): void {
    const listener: Listener = { sink, operatorId, isBehind: false, queue: [] };
    sink.onAborted(() => this.#listeners.delete(listener));
    sink.onWritable(() => this.#catchUp(listener));
    this.#listeners.add(listener);
    this.#send(listener, frameOf(this.#lastId, ...first));
  }

  /** Sends an event to every listener. */
  publish(type: string, data: object): void {
    this.#lastId++;
    if (this.#listeners.size === 0) return;
    const frame = frameOf(this.#lastId, type, data);
    for (const listener of this.#listeners) {
      if (!listener.isBehind) this.#send(listener, frame);
      else if (listener.queue.length < MAX_QUEUED) listener.queue.push(frame);
      else this.#disconnect(listener);
    }
  }

  /** Sends a report to the listeners that keep up; calls `read` only if there are any. */
  report(type: string, read: () => object): void {
    if (this.#listeners.size === 0) return;
    const frame = frameOf(this.#lastId, type, read());
    for (const listener of this.#listeners) if (!listener.isBehind) this.#send(listener, frame);
  }

  /** The token of an operator was revoked. */
  disconnectAll(operatorId: string): void {
    for (const listener of this.#listeners) if (listener.operatorId === operatorId) this.#disconnect(listener);
  }

  /** Sends the last event to every listener, and ends the connections. */
  close(type: string, data: object): void {
    this.publish(type, data);
    // `end` without closing the connection: otherwise uWebSockets.js would write a header into the body.
    for (const { sink } of this.#listeners) sink.cork(() => sink.end());
    this.#listeners.clear();
  }

  #send(listener: Listener, frame: string): void {
    const { sink } = listener;
    sink.cork(() => {
      listener.isBehind = !sink.write(frame);
    });
  }

  /** @returns true, which means to uWebSockets.js that everything has been written. */
  #catchUp(listener: Listener): boolean {
    listener.isBehind = false;
    while (!listener.isBehind) {
      const frame = listener.queue.shift();
      if (frame === undefined) break;
      this.#send(listener, frame);
    }
    return true;
  }

  #disconnect(listener: Listener): void {
    this.#listeners.delete(listener);
    listener.sink.close();
  }
}

/** JSON has no line breaks of its own, so it is one line of data. */
function frameOf(id: number, type: string, data: object): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
