/**
 * How a shard comes back: the newest good snapshot and the journal's tail behind it, an older snapshot where a newer
 * one is damaged, the whole journal where there is none. Owner: the shard thread, before it takes commands.
 *
 * Whatever is read is checked: snapshots by checksum and digest, rows by checksum, chain and high-water mark, and every
 * replayed command by the events the journal holds. What does not fit is a refusal to start that names it; nothing is
 * skipped and nothing repaired here.
 */
import type { Engine } from './engine.ts';
import type { Journal } from './journal.ts';
import { JournalError, JournalHead } from './journalRow.ts';
import { listSnapshots, loadSnapshot } from './snapshot.ts';
import { SnapshotError } from './snapshotIo.ts';

export type Recovered = {
  readonly engine: Engine;
  /** Sequence of the snapshot it started from, 0 for the beginning of the journal. */
  readonly fromSequence: number;
  /** Why newer snapshots were passed over. */
  readonly damaged: readonly string[];
};

/** `makeEngine` is called for each attempt: a snapshot that turns out damaged leaves a half-filled engine behind. */
export function recover(journal: Journal, directory: string, shard: number, makeEngine: () => Engine): Recovered {
  const damaged: string[] = [];
  for (const file of listSnapshots(directory, shard)) {
    if (file.sequence > journal.lastSequence) {
      damaged.push(`snapshot ${file.path}: of records the journal does not have`);
      continue;
    }
    try {
      const engine = makeEngine();
      const head = loadSnapshot(file, shard, engine);
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

function replayTail(journal: Journal, after: JournalHead, engine: Engine): void {
  journal.replay(after, (sequence, timeMs, words, commandWord, _commandBytes, eventWord, eventBytes) =>
    engine.replay(sequence, timeMs, words, commandWord, eventWord, eventBytes),
  );
}
