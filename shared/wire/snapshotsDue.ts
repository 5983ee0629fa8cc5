/** Says when snapshots of shards are due: for the thread that makes them, and for the gateway, which then starts it. */
import type { Progress } from './progress.ts';

/** At a stop, a snapshot of at least this many rows is worth its time, because the next start need not replay them. */
const WORTH_AT_STOP = 1000;

/** Bytes of a snapshot for SNAPSHOT_EVERY records. By default that is 20 for each: an order has about two. */
const BYTES_EVERY = 2_000_000;
/** Larger ones make up for no more records than this multiple, because a start after a crash replays them. */
const MOST_TIMES = 25;

/**
 * The number of rows since the last snapshot at which the next one is made. Every snapshot has the whole state, so the
 * larger it is, the more records share its cost.
 * @param lastBytes of the last snapshot; 0 if there is none
 */
export function rowsDue(everyRecords: number, lastBytes: number, isStopping: boolean): number {
  if (isStopping) return Math.min(WORTH_AT_STOP, everyRecords);
  return Math.ceil(everyRecords * Math.min(Math.max(1, lastBytes / BYTES_EVERY), MOST_TIMES));
}

/** False if no shard has so many rows, because a snapshot covers at most the existing rows. */
export function mayBeDue(progress: Progress, everyRecords: number, isStopping: boolean): boolean {
  const due = rowsDue(everyRecords, 0, isStopping);
  for (let shard = 0; shard < progress.shards; shard++) if (progress.committed(shard) >= due) return true;
  return false;
}

/** The snapshot thread sends these about runs of hashes (engine/snapshot/mending.ts): one is damaged, or was mended. */
export type MakerNews = { readonly damagedRun: string } | { readonly news: string };
