/** Computes states from a journal and its snapshots, for the operator's tools. */

import type { RecordVisitor } from '../journal/journalRecord.ts';
import type { JournalStore } from '../journal/journalStore.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalError, JournalHead } from '../journal/row.ts';
import { makeReplica, newestState, oldestState, type Replica } from '../snapshot/replica.ts';
import type { ShardFile } from './directory.ts';

type RecordSink = Pick<JournalStore, 'append'>;

/** Records per read. Reads are short, because an open read keeps a running shard from copying its whole WAL. */
const BATCH_RECORDS = 1000;

/** Returns the earliest known state: an empty state, or the state of the oldest snapshot of a trimmed journal. */
export function earliestState(file: ShardFile, firstSequence: number, journal?: RecordSink): Replica {
  if (firstSequence === 1) return { engine: makeReplica(journal), head: new JournalHead(0, 0, 0) };
  const state = oldestState(file, firstSequence, journal);
  if (state !== null) return state;
  throw new JournalError(`journal ${file.journalPath}: starts at ${firstSequence}, and no snapshot can be used`);
}

/** Returns the state at the end of an intact journal, after a replay of all its records, each of which is visited. */
export function currentState(file: ShardFile, visit: RecordVisitor = () => undefined): Replica {
  return replayed(file, null, (firstSequence) => earliestState(file, firstSequence), visit);
}

/**
 * Returns the state after a record; replays only the records after the newest snapshot before it.
 * @param journal receives whatever the engine records from then on.
 */
export function stateAfter(file: ShardFile, record: number, journal?: RecordSink): Replica {
  return replayed(
    file,
    record,
    (firstSequence) => newestState(file, firstSequence, record, journal) ?? earliestState(file, firstSequence, journal),
  );
}

/** @param record null: the last record. */
function replayed(
  file: ShardFile,
  record: number | null,
  start: (firstSequence: number) => Replica,
  visit: RecordVisitor = () => undefined,
): Replica {
  const reader = new JournalReader(file.journalPath, file.key);
  try {
    const { firstSequence, lastSequence } = reader.facts();
    const replica = start(firstSequence);
    const { engine, head } = replica;
    const last = record ?? lastSequence;
    while (head.sequence < last) {
      readBatch(reader, head, last, (row) => {
        engine.replay(row);
        visit(row);
      });
    }
    if (head.sequence > last) {
      throw new JournalError(`journal ${file.journalPath}: no snapshot up to record ${last} can be used`);
    }
    return replica;
  } finally {
    reader.close();
  }
}

/** Visits some of the next records, at most up to the end of the row with `last`, and moves `head` past them. */
export function readBatch(reader: JournalReader, head: JournalHead, last: number, visit: RecordVisitor): void {
  const found = reader.readFrom(head, Math.min(BATCH_RECORDS, last - head.sequence), visit);
  if (found === 0) throw new JournalError(`sequence ${head.sequence + 1}: missing`);
}
