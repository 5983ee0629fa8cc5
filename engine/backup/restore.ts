/**
 * Writes a point of a backup into a folder, as the data directory that it was. Nothing is trusted before it has been
 * compared with its hash; rows of journals are also checked against each other.
 *
 * Invariants:
 *   RESTORE-1  The journals end at the cut of the point, or at the last record before a given time, and control.db
 *              knows these ends: a start finds the directory as a crash at that moment would have left it.
 *   RESTORE-2  Records after the point's own cut are only trading for which its control.db has everything
 *              (laterRecords.ts).
 *   RESTORE-3  Unless nothing happened after the point, a start with the directory is paused and says what comes back
 *              with it.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { KnownHead } from '../../shared/base/journalKey.ts';
import { PAUSED, RESTORED, type Restored } from '../../shared/base/restored.ts';
import { keepRowSums } from '../../shared/base/rowSums.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { JOURNAL_HEADS, sealHeads } from '../../shared/crypto/journalHeads.ts';
import { readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { Journal } from '../journal/journal.ts';
import { JournalCopy } from '../journal/journalCopy.ts';
import { ShardKey } from '../journal/shardKey.ts';
import type { LaterRecords } from './laterRecords.ts';
import { type BackedJournal, type PartName, type Point, partsOf } from './point.ts';
import { rowsOf } from './segments.ts';
import { BackupError, type BackupStore, DamagedPartError } from './store.ts';

type RestoreOptions = {
  readonly store: BackupStore;
  readonly point: Point;
  /** Must not exist yet. */
  readonly folder: string;
  /** Names of files that are not written. */
  readonly leaveOut: readonly string[];
  readonly print: (line: string) => void;
};

/** The size after which a transaction of rows is committed. */
const COMMIT_BYTES = 8 << 20;

/**
 * Files without which money would not balance, a payment could be made twice, or secrets could not be read. A start can
 * do without each of the other files.
 */
const NEEDED: ReadonlySet<string> = new Set(['control.db', 'journal.key', 'master.key', 'settlement.db', 'held.mark']);

/** Writes the files of a point, except its journals; their key is among the files. */
export function writeFiles({ store, point, folder, leaveOut, print }: RestoreOptions): void {
  for (const name of leaveOut) {
    if (NEEDED.has(name)) throw new BackupError(`--leave-out: an exchange does not go on without ${name}`);
    if (!point.files.some((file) => file.name === name)) throw new BackupError(`--leave-out: no ${name} in the point`);
  }
  mkdirSync(folder, { mode: 0o700 });
  const files = point.files.filter(({ name }) => !leaveOut.includes(name));
  for (const { name, parts } of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, 'wx', 0o600);
    try {
      for (const part of parts) {
        const bytes = store.part(part);
        for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
      }
      fsyncSync(fd);
    } catch (error) {
      if (!(error instanceof DamagedPartError) || NEEDED.has(name)) throw error;
      throw new BackupError(`${error.message}; \`--leave-out ${name}\` restores this one without it`);
    } finally {
      closeSync(fd);
    }
    syncDirectory(dirname(path));
  }
  print(`${files.length} files are written`);
}

/** RESTORE-1. @param later the records after the cut; null if there are none. @returns where the journals end. */
export async function writeJournals(
  options: RestoreOptions,
  masterKey: Uint8Array,
  later: LaterRecords | null,
): Promise<readonly KnownHead[]> {
  const { store, point, folder, print } = options;
  const journalKey = readJournalKey(folder, masterKey);
  const heads: KnownHead[] = [];
  for (const journal of point.journals) {
    const { shard } = journal;
    const key = await ShardKey.create(journalKey, shard);
    const path = join(folder, `journal-${shard}.db`);
    const copy = new JournalCopy({ path, shard, shards: point.shards, key });
    try {
      copyRows(store, journal, copy);
    } finally {
      copy.close();
    }
    const head = endOf(path, { shard, shards: point.shards, key }, (open) => later?.append(journal, open, key));
    print(`shard ${shard}: the journal is written up to record ${head.sequence}`);
    heads.push(head);
  }
  writeText(join(folder, 'control.db'), JOURNAL_HEADS, sealHeads(masterKey, heads));
  syncDirectory(folder);
  return heads;
}

/** Returns the end of the journal after `work`. */
function endOf(
  journalPath: string,
  options: { readonly shard: number; readonly shards: number; readonly key: ShardKey },
  work: (journal: Journal) => void,
): KnownHead {
  const journal = Journal.open({ ...options, journalPath, journalSync: 'normal' });
  try {
    work(journal);
    const { sequence, chainLow, chainHigh } = journal.head;
    return { sequence, chainLow, chainHigh };
  } finally {
    journal.close();
  }
}

function copyRows(store: BackupStore, journal: BackedJournal, copy: JournalCopy): void {
  let bytes = 0;
  for (const { part } of journal.segments) {
    for (const row of rowsOf(store.part(part))) {
      if (row.sequence < journal.first) continue;
      copy.add(row);
      bytes += row.bytes.length;
      if (bytes < COMMIT_BYTES) continue;
      copy.commit();
      bytes = 0;
    }
  }
  copy.commit();
}

/** RESTORE-3 */
export function noteRestored(folder: string, restored: Omit<Restored, 'isChainAhead'>): Restored {
  const note = { ...restored, isChainAhead: existsSync(join(folder, 'settlement.db')) };
  const path = join(folder, 'control.db');
  writeText(path, PAUSED, 'yes');
  writeText(path, RESTORED, JSON.stringify(note));
  return note;
}

/** Writes into the table `platform` of control.db. */
function writeText(path: string, key: string, value: string): void {
  const control = new Database(path, { fileMustExist: true });
  try {
    keepRowSums(control);
    control
      .prepare('INSERT INTO platform (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value')
      .run(key, value);
    control.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    control.close();
  }
}

/** Returns the parts of a point that have changed or are missing. @param sound parts that need no second look. */
export function damagedParts(store: BackupStore, point: Point, sound: Set<PartName>): PartName[] {
  const damaged = new Set<PartName>();
  for (const part of partsOf(point)) {
    if (sound.has(part) || damaged.has(part)) continue;
    if (store.isSound(part)) sound.add(part);
    else damaged.add(part);
  }
  return [...damaged];
}
