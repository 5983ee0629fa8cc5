/**
 * A replay of what a backup has copied of a journal, as `journal verify` does it: the records are read from the parts
 * of the point, and each must produce the events that are stored with it.
 *
 * Invariant:
 *   REPLAYED-1  Every record of a journal is replayed once, in the first point that has it; the replay of a later point
 *               starts from the newest snapshot before its first new record.
 */
import { JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { makeReplica, newestState, oldestState, type Replica } from '../snapshot/replica.ts';
import { eachRecord } from './laterRecords.ts';
import { continues, type Point } from './point.ts';
import { BackupError, type BackupStore } from './store.ts';

type CopiedShard = { readonly directory: string; readonly shard: number; readonly key: ShardKey };
type Points = { readonly point: Point; readonly before: Point | null };

/** @param before the previous point; null if there is none. @returns a line for the operator. */
export function replayed(store: BackupStore, { point, before }: Points, file: CopiedShard): string {
  const { shard, key } = file;
  const { first, last } = point.journals[shard];
  const known = before !== null && continues(before, point) ? before.journals[shard].last : 0;
  if (last === known) return `shard ${shard}: no new records`;
  const { engine, head } = stateBefore(file, first, known);
  const start = head.sequence;
  // The only remaining snapshot may be newer than the previous point.
  if (start >= last) return `shard ${shard}: the records up to ${last} are in a newer snapshot`;
  const journal = { shard, last: start, chainLow: head.chainLow, chainHigh: head.chainHigh };
  try {
    eachRecord(store, { journal, later: point, key }, (record) => {
      engine.replay(record);
      return true;
    });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ReplayError') throw error;
    throw new BackupError(`point ${point.name} is kept, but shard ${shard}: ${error.message}`);
  }
  return `shard ${shard}: records ${start + 1} to ${last} are replayed`;
}

/** Loads a state from which every record after `known` can be replayed. */
function stateBefore(file: CopiedShard, first: number, known: number): Replica {
  const newest = newestState(file, first, known);
  if (newest !== null) return newest;
  if (first <= 1) return { engine: makeReplica(), head: new JournalHead(0, 0, 0) };
  const oldest = oldestState(file, first);
  if (oldest !== null) return oldest;
  throw new BackupError(`shard ${file.shard}: starts at record ${first}, and no snapshot can be used`);
}
