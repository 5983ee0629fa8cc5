/**
 * Recovery of a shard: uses the newest good snapshot and the tail of the journal after it, an older snapshot if a newer
 * one is damaged, or the whole journal if there is none. Owner: the shard thread, before it runs commands.
 *
 * Everything that is read is checked: snapshots by checksum, digest and seal, rows by checksum, tag, chain and
 * high-water mark, and every replayed command by the events in the journal. At the end every invariant of the state is
 * checked. An error in the journal refuses the start and names the record; nothing is skipped and nothing is repaired
 * here.
 *
 * Invariants:
 *   RECOVERY-1  The recovered engine is at the last record of the journal, whichever snapshot it started from.
 *   RECOVERY-2  It starts only from a snapshot at which the journal continues or ends: other snapshots contain records
 *               that the journal lacks, or belong to another history.
 */
import { assert } from '../../shared/base/assert.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import type { Engine } from '../core/engine.ts';
import { checkInvariants } from '../core/invariants.ts';
import type { Journal } from '../journal/journal.ts';
import { firstSequenceOf, JournalError, JournalHead } from '../journal/row.ts';
import { RowReader } from '../journal/rowReader.ts';
import { HashRuns } from '../snapshot/hashRuns.ts';
import type { RunPlace } from '../snapshot/runPages.ts';
import { listSnapshots, loadSnapshot } from '../snapshot/snapshot.ts';

export type Recovered = {
  readonly engine: Engine;
  /** Sequence of the snapshot it started from, 0 for the start of the journal. */
  readonly fromSequence: number;
  /** Why newer snapshots were not used. */
  readonly damaged: readonly string[];
};

/** `makeEngine` is called for each attempt: a damaged snapshot leaves a half-filled engine. */
export function recover(journal: Journal, directory: string, shard: number, makeEngine: () => Engine): Recovered {
  const damaged: string[] = [];
  for (const file of listSnapshots(directory, shard)) {
    if (file.sequence > journal.lastSequence) {
      damaged.push(`snapshot ${file.path}: of records the journal does not have`);
      continue;
    }
    try {
      const engine = makeEngine();
      const { head, nowMs } = loadSnapshot(file, shard, engine.state, journal.key);
      if (!goesOnAfter(journal, head)) {
        damaged.push(`snapshot ${file.path}: the journal does not go on after it`);
        continue;
      }
      engine.resumeAt(head.sequence, nowMs);
      openRuns(engine, { directory, shard, mac: journal.key.snapshots });
      replayTail(journal, head, engine);
      return { engine, fromSequence: head.sequence, damaged };
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      damaged.push(error.message);
    }
  }
  const engine = makeEngine();
  const start = new JournalHead(0, 0, 0);
  if (journal.firstSequence > 1) {
    throw new JournalError(
      `no snapshot can be used (${damaged.join('; ') || 'there is none'}) ` +
        `and the journal starts at ${journal.firstSequence}`,
    );
  }
  replayTail(journal, start, engine);
  return { engine, fromSequence: 0, damaged };
}

/** A shard that has read a snapshot refuses what its runs have. */
function openRuns({ state: { hashes } }: Engine, place: RunPlace): void {
  const { named } = hashes.spilled;
  if (named.runs.length === 0) return;
  const runs = new HashRuns(place, named);
  runs.load(Number.MAX_SAFE_INTEGER);
  hashes.adopt(runs, false);
}

/** RECOVERY-2. An unreadable row is left to the replay, which names it. */
function goesOnAfter(journal: Journal, head: JournalHead): boolean {
  const first = head.sequence + 1;
  try {
    const next = journal.rowAfter(head.sequence);
    if (next === undefined) return journal.head.equals(head);
    return firstSequenceOf(next) === first && new RowReader('', journal.key).headBefore(next, first).equals(head);
  } catch {
    return true;
  }
}

function replayTail(journal: Journal, after: JournalHead, engine: Engine): void {
  journal.replay(after, (row) => engine.replay(row));
  assert(engine.sequence === journal.lastSequence, 'RECOVERY-1: every record of the journal was replayed');
  checkInvariants(engine.state);
}
