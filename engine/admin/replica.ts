/** The states that a journal and its snapshots lead to, for the operator's tools. */
import { JournalReader } from '../journal/reader.ts';
import { JournalError, JournalHead } from '../journal/row.ts';
import type { RowVisitor } from '../journal/rowView.ts';
import { makeReplica, oldestState, type Replica, newestState as stateOfNewestSnapshot } from '../snapshot/replica.ts';
import type { ShardFile } from './directory.ts';

/** Rows of one read. Reads are short, because an open read keeps a running shard from copying its whole WAL. */
const BATCH_ROWS = 1000;

/** The earliest state that can be known: an empty one, or that of the oldest snapshot of a trimmed journal. */
export function earliestState(file: ShardFile, firstSequence: number): Replica {
  if (firstSequence === 1) return { engine: makeReplica(), head: new JournalHead(0, 0, 0) };
  const state = oldestState(file, firstSequence);
  if (state !== null) return state;
  throw new JournalError(`journal ${file.journalPath}: starts at ${firstSequence}, and no snapshot can be used`);
}

/** The state at the end of a whole journal, after a replay of all that it has. */
export function currentState(file: ShardFile): Replica {
  return replayed(file, (firstSequence) => earliestState(file, firstSequence));
}

/** The same, after a replay of what follows the newest snapshot only. */
export function newestState(file: ShardFile): Replica {
  return replayed(
    file,
    (firstSequence) => stateOfNewestSnapshot(file, firstSequence) ?? earliestState(file, firstSequence),
  );
}

function replayed(file: ShardFile, start: (firstSequence: number) => Replica): Replica {
  const reader = new JournalReader(file.journalPath, file.key);
  try {
    const { firstSequence, lastSequence } = reader.facts();
    const replica = start(firstSequence);
    const { engine, head } = replica;
    while (head.sequence < lastSequence) readBatch(reader, head, lastSequence, (row) => engine.replay(row));
    return replica;
  } finally {
    reader.close();
  }
}

/** Visits the next records, at most up to `last`, and moves `head` after them. */
export function readBatch(reader: JournalReader, head: JournalHead, last: number, visit: RowVisitor): void {
  const found = reader.readFrom(head, Math.min(BATCH_ROWS, last - head.sequence), visit);
  if (found === 0) throw new JournalError(`sequence ${head.sequence + 1}: missing`);
}
