/**
 * The sequence number up to which the log holds each stream, for shards and gateway (shared/wire/replication.ts).
 * Owner: the replication thread.
 *
 * Invariants:
 *   HELDSTREAMS-1  `held` of a stream is set from rows that the log holds, never from rows that were sent.
 *   HELDSTREAMS-2  This member's mark records what is held before anyone learns of it (HELDMARK-1).
 */
import type { Replication } from '../../shared/wire/replication.ts';
import { wakeConsumer } from '../../shared/wire/ring.ts';
import type { LocalEnd, ReplicationOptions } from '../../shared/wire/threads.ts';
import type { HeldMark } from './heldMark.ts';
import type { RowName } from './log.ts';

export class HeldStreams {
  readonly #memory: Pick<Replication, 'held' | 'setHeld'>;
  readonly #commandRings: ReplicationOptions['commandRings'];
  readonly #mark: () => Pick<HeldMark, 'hold'> | null;

  /** @param mark null while this member has none */
  constructor(
    memory: Pick<Replication, 'held' | 'setHeld'>,
    commandRings: ReplicationOptions['commandRings'],
    mark: () => Pick<HeldMark, 'hold'> | null,
  ) {
    this.#memory = memory;
    this.#commandRings = commandRings;
    this.#mark = mark;
  }

  /**
   * Records that the log holds these rows, or ends of streams, and everything before them.
   * @param named those that have a name
   */
  hold(rows: readonly LocalEnd[], named: readonly RowName[] = []): void {
    this.#mark()?.hold(rows, named);
    for (const [stream, sequence] of new Map(rows.map((row) => [row.stream, row.sequence]))) {
      if (sequence <= this.#memory.held(stream)) continue;
      this.#memory.setHeld(stream, sequence);
      const ring = this.#commandRings[stream];
      if (ring !== undefined) wakeConsumer(ring);
    }
  }

  /** Wakes shards so that they read this member's state. */
  wakeShards(): void {
    for (const ring of this.#commandRings) wakeConsumer(ring);
  }
}
