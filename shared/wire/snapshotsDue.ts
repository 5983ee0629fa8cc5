/** Says when snapshots of shards are due: for the thread that makes them, and for the gateway, which then starts it. */
import type { Progress } from './progress.ts';

/** At a stop, a snapshot of at least this many rows is worth its time, because the next start need not replay them. */
const WORTH_AT_STOP = 1000;

/** The number of rows since the last snapshot at which the next one is made. */
export function rowsDue(everyRecords: number, isStopping: boolean): number {
  return isStopping ? Math.min(WORTH_AT_STOP, everyRecords) : everyRecords;
}

/** False if no shard has so many rows, because a snapshot covers at most the existing rows. */
export function mayBeDue(progress: Progress, everyRecords: number, isStopping: boolean): boolean {
  const due = rowsDue(everyRecords, isStopping);
  for (let shard = 0; shard < progress.shards; shard++) if (progress.committed(shard) >= due) return true;
  return false;
}

/** The snapshot thread sends these about runs of hashes (engine/snapshot/mending.ts): one is damaged, or was mended. */
export type MakerNews = { readonly damagedRun: string } | { readonly news: string };
