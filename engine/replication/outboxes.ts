/**
 * The outboxes of a process, and the order in which a leader takes rows from them.
 *
 * Invariant:
 *   OUTBOXES-1  A shard's row never precedes a gateway's change on which its commands depend. The gateway puts such a
 *               change in its outbox before it sends the command. So the shards' outboxes are emptied first and the
 *               gateway's after them, and then the gateway's rows are sent first.
 */
import { type NewRow, OutboxConsumer } from '../../shared/wire/replication.ts';
import type { ReplicationOptions } from '../../shared/wire/threads.ts';

export class Outboxes {
  readonly #shards: readonly OutboxConsumer[];
  readonly #gateway: OutboxConsumer;
  #isEnded = false;

  constructor(buffers: ReplicationOptions['outboxes']) {
    const consumers = buffers.map((buffer) => new OutboxConsumer(buffer));
    this.#shards = consumers.slice(0, -1);
    this.#gateway = consumers.at(-1)!;
  }

  /** Calls `onRows` from now on, in turns of the event loop, whenever there may be rows. */
  watch(onRows: () => void): void {
    for (const consumer of [...this.#shards, this.#gateway]) void this.#watch(consumer, onRows);
  }

  /**
   * @param mostBytes limit for the shards' rows, roughly; the gateway's rows are always taken, because shards' rows may
   * depend on them
   */
  take(mostBytes: number): readonly NewRow[] {
    const ofShards: NewRow[] = [];
    let bytes = 0;
    for (const consumer of this.#shards) {
      for (let row = bytes < mostBytes ? consumer.next() : null; row !== null; ) {
        ofShards.push(row);
        bytes += row.bytes.length;
        row = bytes < mostBytes ? consumer.next() : null;
      }
    }
    const rows: NewRow[] = [];
    for (let row = this.#gateway.next(); row !== null; row = this.#gateway.next()) rows.push(row);
    return [...rows, ...ofShards];
  }

  isEmpty(): boolean {
    return this.#gateway.isEmpty() && this.#shards.every((consumer) => consumer.isEmpty());
  }

  end(): void {
    this.#isEnded = true;
    for (const consumer of [...this.#shards, this.#gateway]) consumer.wake();
  }

  async #watch(consumer: OutboxConsumer, onRows: () => void): Promise<void> {
    while (!this.#isEnded) {
      await consumer.waitAsync();
      if (this.#isEnded) return;
      onRows();
      // If rows do not fit, others have to be held first.
      if (!consumer.isEmpty()) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}
