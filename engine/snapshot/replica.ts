/** Engines that only replay: each has balances of its own, journals nothing and checks no signatures. */
import { unreachable } from '../../shared/base/assert.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import { Engine } from '../core/engine.ts';
import type { JournalStore } from '../journal/journalStore.ts';
import type { JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import type { OrderChecks } from '../verify/orderChecks.ts';
import { listSnapshots, loadSnapshot, type SnapshotFile } from './snapshot.ts';

export type Replica = { readonly engine: Engine; readonly head: JournalHead };

/** The directory of a shard's snapshots, and the key that sealed them. */
type SnapshotsOfShard = { readonly directory: string; readonly shard: number; readonly key: ShardKey };

const checkedBefore = () => unreachable('replica: signatures were checked when they came');
const NO_CHECKS: OrderChecks = {
  writeHash: checkedBefore,
  isSigned: checkedBefore,
  isFor: checkedBefore,
  setDomain: () => undefined,
};

const NO_JOURNAL: Pick<JournalStore, 'append'> = { append: () => unreachable('replica: a replay journals nothing') };

/** @param journal takes records that are written after a replay; the replay itself journals nothing. */
export function makeReplica(journal: Pick<JournalStore, 'append'> = NO_JOURNAL): Engine {
  return new Engine({ balances: new Balances(createBalances()), collateralCheck: true, checks: NO_CHECKS, journal });
}

/** Fills a replica from a snapshot. @returns the head from which the journal continues. */
export function restore(snapshot: SnapshotFile, { shard, key }: SnapshotsOfShard, engine: Engine): JournalHead {
  const { head, nowMs } = loadSnapshot(snapshot, shard, engine.state, key);
  engine.resumeAt(head.sequence, nowMs);
  return head;
}

/** The state of the oldest snapshot that a trimmed journal continues; null if no snapshot is usable. */
export function oldestState(shard: SnapshotsOfShard, firstSequence: number, journal = NO_JOURNAL): Replica | null {
  return firstUsable(shard, listSnapshots(shard.directory, shard.shard).reverse(), firstSequence, journal);
}

/** Like `oldestState`, but of the newest snapshot that is not newer than the given record. */
export function newestState(
  shard: SnapshotsOfShard,
  firstSequence: number,
  record: number,
  journal = NO_JOURNAL,
): Replica | null {
  const files = listSnapshots(shard.directory, shard.shard).filter(({ sequence }) => sequence <= record);
  return firstUsable(shard, files, firstSequence, journal);
}

function firstUsable(
  shard: SnapshotsOfShard,
  files: readonly SnapshotFile[],
  firstSequence: number,
  journal = NO_JOURNAL,
): Replica | null {
  for (const snapshot of files) {
    if (snapshot.sequence < firstSequence - 1) continue;
    const engine = makeReplica(journal);
    try {
      return { engine, head: restore(snapshot, shard, engine) };
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
    }
  }
  return null;
}
