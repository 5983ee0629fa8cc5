/**
 * Says for `journal verify` which databases belong to the history of the journals beside them. A database of another
 * exchange or history is intact by itself, but a start refuses it or makes it anew.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { SETTLEMENT_REMEDY } from '../../shared/base/settlementRemedy.ts';
import { READ_DB_VERSION } from '../../shared/tables/readDb.ts';
import { JournalReader } from '../journal/reader.ts';
import type { JournalHead } from '../journal/row.ts';
import { Cursors } from '../projector/readDb.ts';
import { followedHead, readSettlementDb } from '../settlement/settlementDb.ts';
import type { DatabaseFinding } from './databases.ts';
import type { ShardFile } from './directory.ts';

type Follower = {
  readonly name: string;
  /** Null if the file has another layout; then the file's next start knows more about it. */
  readonly open: (path: string) => Database.Database | null;
  readonly headOf: (db: Database.Database, shard: number) => JournalHead;
  readonly next: string;
};

const FOLLOWERS: readonly Follower[] = [
  { name: 'settlement.db', open: readSettlementDb, headOf: followedHead, next: SETTLEMENT_REMEDY },
  {
    name: 'read.db',
    open: openReadDb,
    headOf: (db, shard) => new Cursors(db).load(shard),
    next: 'the next start makes it anew',
  },
];

function openReadDb(path: string): Database.Database | null {
  const db = openDatabase(path, { readonly: true, fileMustExist: true });
  if (db.pragma('user_version', { simple: true }) === READ_DB_VERSION) return db;
  db.close();
  return null;
}

/** @param files intact journals. @param found the findings about the databases; only sound databases are examined */
export function withHistories(
  directory: string,
  files: readonly ShardFile[],
  found: readonly DatabaseFinding[],
): DatabaseFinding[] {
  return found.map((finding) => {
    const follower = FOLLOWERS.find(({ name }) => name === finding.name);
    const path = join(directory, finding.name);
    if (follower === undefined || finding.state !== 'ok' || !existsSync(path)) return finding;
    const problem = otherHistory(path, files, follower);
    return problem === null ? finding : { name: finding.name, state: 'of another history', problem };
  });
}

function otherHistory(path: string, files: readonly ShardFile[], { open, headOf, next }: Follower): string | null {
  const db = open(path);
  if (db === null) return null;
  try {
    for (const file of files) {
      const head = headOf(db, file.shard);
      if (continues(file, head)) continue;
      const where = `does not go on after record ${head.sequence} of ${file.journalPath}`;
      return `${path} ${where}: it is of another exchange, or of before a repair: ${next}`;
    }
    return null;
  } finally {
    db.close();
  }
}

function continues({ journalPath, key }: ShardFile, head: JournalHead): boolean {
  const reader = new JournalReader(journalPath, key);
  try {
    return reader.continues(head);
  } finally {
    reader.close();
  }
}
