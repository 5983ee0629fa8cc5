/**
 * A data directory for the administrator's commands: its journals, and the lock that keeps an exchange from running on
 * them. Nothing here writes.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** A command cannot be carried out. The message is one line for the operator. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

export type ShardFile = {
  readonly shard: number;
  readonly shards: number;
  readonly directory: string;
  readonly journalPath: string;
};

/** The journals of all shards. A missing one is an error: any report without it would be wrong. */
export function listShards(directory: string): ShardFile[] {
  if (!existsSync(directory)) throw new AdminError(`${directory} does not exist`);
  const found = readdirSync(directory).flatMap((name) => {
    const match = /^journal-(0|[1-9][0-9]{0,3})\.db$/.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
  if (found.length === 0) throw new AdminError(`${directory} holds no journals`);
  const shards = Math.max(...found) + 1;
  return Array.from({ length: shards }, (_, shard) => {
    const journalPath = join(directory, `journal-${shard}.db`);
    if (!found.includes(shard)) throw new AdminError(`${journalPath} is missing: put it back`);
    return { shard, shards, directory, journalPath };
  });
}

/** Keeps every server out of the directory while `work` runs, and refuses when one is running. */
export function withExclusiveDirectory<T>(directory: string, work: () => T): T {
  const path = join(directory, 'control.db');
  // A server makes this file before anything else, so without it no server is running.
  if (!existsSync(path)) return work();
  const lock = lockControl(path, directory);
  try {
    return work();
  } finally {
    lock.close();
  }
}

/** The lock that a server holds from its start to its end. Closing the file releases it. */
function lockControl(path: string, directory: string): Database.Database {
  const db = new Database(path, { timeout: 0 });
  try {
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    return db;
  } catch (error) {
    db.close();
    if (!(error instanceof Database.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error;
    throw new AdminError(`the exchange is running on ${directory}: stop it first`);
  }
}
