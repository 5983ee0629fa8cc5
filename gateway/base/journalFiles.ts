/**
 * Checks that control.db and the journals beside it belong together. Without these checks, either would start without
 * the other: a shard without its journal has no deposits and no orders, and under a new control.db the money of the old
 * accounts would belong to the next accounts that are created.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from './startError.ts';

export function journalPath(dataDir: string, shard: number): string {
  return join(dataDir, `journal-${shard}.db`);
}

/** For a new control.db: refuses the start if there is any journal. */
export function refuseJournals(dataDir: string): void {
  const path = journalPath(dataDir, 0);
  if (!existsSync(path)) return;
  throw new StartError(
    `${join(dataDir, 'control.db')} is missing or empty, and ${path} was written with another control.db: ` +
      'put that one back, or restore the data directory from a backup',
  );
}

/**
 * After the journals were read: refuses an account or a market that only they have, because the next one that is made
 * would get its number and its money.
 */
export function requireNamed(
  views: { readonly accounts: { readonly count: number }; readonly markets: { readonly count: number } },
  control: {
    readonly accounts: { readonly count: number };
    readonly catalog: { readonly markets: readonly unknown[] };
  },
): void {
  const accounts = views.accounts.count - 1 - control.accounts.count;
  const markets = views.markets.count - control.catalog.markets.length;
  if (accounts <= 0 && markets <= 0) return;
  throw new StartError(
    `control.db is older than the journals, which have ${Math.max(accounts, 0)} accounts and ${Math.max(markets, 0)} ` +
      'markets more: put back the newest one, or restore the data directory from a backup (`npm run admin -- restore`)',
  );
}

/**
 * For a control.db with which all shards were READY before: refuses the start if a journal is missing, because the
 * shard would make a new one.
 */
export function requireJournals(dataDir: string, shards: number): void {
  for (let shard = 0; shard < shards; shard++) {
    const path = journalPath(dataDir, shard);
    if (!existsSync(path)) throw new StartError(`${path} is missing: put it back`);
  }
}
