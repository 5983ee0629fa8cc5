/**
 * The bytes that wait for all clients of the stream together. Each connection has its own bound (connection.ts), but
 * thousands of connections together need another: beyond a total, the connections with the most waiting bytes are cut.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   SENDBUFFER-1  `total` is the sum of the waiting bytes last seen for each connection.
 */
type Buffered = {
  /** Cuts the connection and frees what waits for it. */
  cut(): void;
};

const MAX_TOTAL_BUFFERED_BYTES = 256 * 1024 * 1024;

export class SendBuffers {
  total = 0;
  /** Connections cut since the start. */
  cut = 0;
  readonly #mostBytes: number;
  readonly #waiting = new Map<Buffered, number>();

  constructor(mostBytes = MAX_TOTAL_BUFFERED_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** SENDBUFFER-1. */
  note(connection: Buffered, bytes: number): void {
    const before = this.#waiting.get(connection) ?? 0;
    if (bytes === before) return;
    this.total += bytes - before;
    if (bytes === 0) this.#waiting.delete(connection);
    else this.#waiting.set(connection, bytes);
  }

  /** Cuts connections until the rest fits. */
  enforce(): void {
    while (this.total > this.#mostBytes) {
      let most: Buffered | undefined;
      for (const [connection, bytes] of this.#waiting) {
        if (most === undefined || bytes > this.#waiting.get(most)!) most = connection;
      }
      this.note(most!, 0);
      this.cut++;
      most!.cut();
    }
  }
}
