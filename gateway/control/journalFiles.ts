/**
 * Whether control.db and the journals beside it belong together. Either would start without the other as if nothing had
 * happened: a shard whose journal is gone knows no deposit and no order, and under a new control.db the money of the
 * old accounts would belong to whoever is made next.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../startError.ts';

export function journalPath(dataDir: string, shard: number): string {
  return join(dataDir, `journal-${shard}.db`);
}

/** For a control.db that has never been used. */
export function refuseJournals(dataDir: string): void {
  const path = journalPath(dataDir, 0);
  if (!existsSync(path)) return;
  throw new StartError(`${path} was written with another control.db: put that one back`);
}

/** For a control.db that all shards have been ready with: a shard makes a journal that it does not find. */
export function requireJournals(dataDir: string, shards: number): void {
  for (let shard = 0; shard < shards; shard++) {
    const path = journalPath(dataDir, shard);
    if (!existsSync(path)) throw new StartError(`${path} is missing: put it back`);
  }
}
