/** When snapshots of shards are due: for the thread that makes them, and for the gateway, which starts it then. */
import type { Progress } from './progress.ts';

/** At the stop a snapshot of as many rows is worth its time: it saves the next start their replay. */
const WORTH_AT_STOP = 1000;

/** The rows since the last snapshot from which on the next one is made. */
export function rowsDue(everyRecords: number, isStopping: boolean): number {
  return isStopping ? Math.min(WORTH_AT_STOP, everyRecords) : everyRecords;
}

/** False if no shard has as many rows: a snapshot holds at most the rows that there are. */
export function mayBeDue(progress: Progress, everyRecords: number, isStopping: boolean): boolean {
  const due = rowsDue(everyRecords, isStopping);
  for (let shard = 0; shard < progress.shards; shard++) if (progress.committed(shard) >= due) return true;
  return false;
}
