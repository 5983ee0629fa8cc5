/**
 * The sequence up to which the log has each stream, for shards and gateway (shared/wire/replication.ts).
 * Owner: the replication thread.
 *
 * Invariant:
 *   HELDSTREAMS-1  `held` of a stream is set from rows that the log holds, never from rows that were sent.
 */
import type { Replication } from '../../shared/wire/replication.ts';
import { wakeConsumer } from '../../shared/wire/ring.ts';
import type { LocalEnd, ReplicationOptions } from '../../shared/wire/threads.ts';

export class HeldStreams {
  readonly #memory: Pick<Replication, 'held' | 'setHeld'>;
  readonly #commandRings: ReplicationOptions['commandRings'];

  constructor(memory: Pick<Replication, 'held' | 'setHeld'>, commandRings: ReplicationOptions['commandRings']) {
    this.#memory = memory;
    this.#commandRings = commandRings;
  }

  /** The log has these rows, or ends of streams, and all before them. */
  hold(rows: readonly LocalEnd[]): void {
    for (const [stream, sequence] of new Map(rows.map((row) => [row.stream, row.sequence]))) {
      if (sequence <= this.#memory.held(stream)) continue;
      this.#memory.setHeld(stream, sequence);
      const ring = this.#commandRings[stream];
      if (ring !== undefined) wakeConsumer(ring);
    }
  }

  /** Shards look at the state of this member. */
  wakeShards(): void {
    for (const ring of this.#commandRings) wakeConsumer(ring);
  }
}
