/** Engines that only replay: their balances are their own, they journal nothing and check no signature. */
import { unreachable } from '../../shared/base/assert.ts';
import { OrderHasher } from '../../shared/crypto/eip712.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import { Engine } from '../core/engine.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalError, JournalHead } from '../journal/row.ts';
import type { RowVisitor } from '../journal/rowView.ts';
import { listSnapshots, loadSnapshot, type SnapshotFile } from '../snapshot/snapshot.ts';
import type { ShardFile } from './directory.ts';

/** Rows of one read. Reads are short, because an open read keeps a running shard from copying its whole WAL. */
const BATCH_ROWS = 1000;

type Replica = { readonly engine: Engine; readonly head: JournalHead };

export function makeReplica(): Engine {
  return new Engine({
    balances: new Balances(createBalances()),
    collateralCheck: true,
    hasher: new OrderHasher(),
    verifier: { name: 'noble', verify: () => unreachable('replica: signatures were checked when they came') },
    journal: { append: () => unreachable('replica: a replay journals nothing') },
  });
}

/** The earliest state that can be known: an empty one, or that of the oldest snapshot of a trimmed journal. */
export function earliestState(file: ShardFile, firstSequence: number): Replica {
  if (firstSequence === 1) return { engine: makeReplica(), head: new JournalHead(0, 0, 0) };
  for (const snapshot of listSnapshots(file.directory, file.shard).reverse()) {
    if (snapshot.sequence < firstSequence - 1) continue;
    const engine = makeReplica();
    try {
      return { engine, head: restore(snapshot, file, engine) };
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
    }
  }
  throw new JournalError(`journal ${file.journalPath}: starts at ${firstSequence}, and no snapshot can be used`);
}

/** The state at the end of a whole journal. */
export function currentState(file: ShardFile): Replica {
  const reader = new JournalReader(file.journalPath, file.key);
  try {
    const { firstSequence, lastSequence } = reader.facts();
    const replica = earliestState(file, firstSequence);
    const { engine, head } = replica;
    while (head.sequence < lastSequence) readBatch(reader, head, lastSequence, (row) => engine.replay(row));
    return replica;
  } finally {
    reader.close();
  }
}

/** Fills a replica from a snapshot. @returns the head from which the journal continues. */
export function restore(snapshot: SnapshotFile, { shard, key }: ShardFile, engine: Engine): JournalHead {
  const { head, nowMs } = loadSnapshot(snapshot, shard, engine.state, key);
  engine.resumeAt(head.sequence, nowMs);
  return head;
}

/** Visits the next records, at most up to `last`, and moves `head` after them. */
export function readBatch(reader: JournalReader, head: JournalHead, last: number, visit: RowVisitor): void {
  const found = reader.readFrom(head, Math.min(BATCH_ROWS, last - head.sequence), visit);
  if (found === 0) throw new JournalError(`sequence ${head.sequence + 1}: missing`);
}
