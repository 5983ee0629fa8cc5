/** Engines that only replay: their balances are nobody's, they journal nothing and judge no signature. */
import { unreachable } from '../../shared/assert.ts';
import { Balances, createBalances } from '../../shared/balances.ts';
import { OrderHasher } from '../../shared/eip712.ts';
import { Engine } from '../engine.ts';
import type { JournalReader } from '../journalReader.ts';
import { JournalError, JournalHead, type JournalVisitor } from '../journalRow.ts';
import { listSnapshots, loadSnapshot } from '../snapshot.ts';
import { SnapshotError } from '../snapshotIo.ts';
import type { ShardFile } from './directory.ts';

/** Rows read at once: an open read of a running shard keeps its checkpoints from ending, so reads are short. */
const BATCH_ROWS = 1000;

export type Replica = { readonly engine: Engine; readonly head: JournalHead };

export function makeReplica(): Engine {
  return new Engine({
    balances: new Balances(createBalances()),
    collateralCheck: true,
    hasher: new OrderHasher(),
    verifier: { name: 'noble', verify: () => unreachable('replica: signatures were judged when they came') },
    journal: { append: () => unreachable('replica: a replay journals nothing') },
  });
}

/** How things stood as early as can be known: at the beginning, or at the oldest snapshot of a trimmed journal. */
export function earliestState(file: ShardFile, firstSequence: number): Replica {
  if (firstSequence === 1) return { engine: makeReplica(), head: new JournalHead(0, 0, 0) };
  for (const snapshot of listSnapshots(file.directory, file.shard).reverse()) {
    if (snapshot.sequence < firstSequence - 1) continue;
    const engine = makeReplica();
    try {
      return { engine, head: loadSnapshot(snapshot, file.shard, engine) };
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
    }
  }
  throw new JournalError(`journal ${file.journalPath}: starts at ${firstSequence}, and no snapshot can be used`);
}

/** Visits the next records, at most up to `last`, and moves `head` along. */
export function readBatch(reader: JournalReader, head: JournalHead, last: number, visit: JournalVisitor): void {
  const found = reader.readFrom(head, Math.min(BATCH_ROWS, last - head.sequence), visit);
  if (found === 0) throw new JournalError(`sequence ${head.sequence + 1}: missing`);
}
