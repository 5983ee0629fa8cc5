/**
 * The end of each journal as control.db knows it. Checks compare it with the journal; a command that changed a
 * journal's end with the operator's consent writes it anew.
 */
import type Database from 'better-sqlite3';
import type { KnownHead } from '../../shared/base/journalKey.ts';
import { JOURNAL_HEADS, NO_ROWS, openHeads, sealHeads } from '../../shared/crypto/journalHeads.ts';
import { markPath } from '../journal/file.ts';
import { readMark } from '../journal/mark.ts';
import { AdminError, openMasterKey, RunningError, type ShardFile, withDirectoryToRead } from './directory.ts';

/** Returns the journals, each with the head that control.db knows, or without a head while an exchange runs on them. */
export async function withKnownHeads(files: readonly ShardFile[]): Promise<ShardFile[]> {
  const { directory } = files[0];
  const read = (control: Database.Database | null): readonly KnownHead[] =>
    control === null ? [] : readHeads(control, openMasterKey(directory));
  try {
    // The lock is not held during the check that follows: a journal that grows meanwhile still contains the head that
    // was known before.
    const heads = await withDirectoryToRead(directory, read);
    return files.map((file) => ({ ...file, known: heads[file.shard] ?? NO_ROWS }));
  } catch (error) {
    if (error instanceof RunningError) return [...files];
    throw error;
  }
}

/** Call before journals are cut: an interrupted cut must not leave a head in control.db that no journal has. */
export function forgetHeads(control: Database.Database, files: readonly ShardFile[], cut: readonly ShardFile[]): void {
  saveHeads(control, files, cut, () => NO_ROWS);
}

/** @param changed the journals whose ends are taken over as they are; for the others, control.db keeps its heads. */
export function saveHeads(
  control: Database.Database,
  files: readonly ShardFile[],
  changed: readonly ShardFile[],
  headOf = endOf,
): void {
  const { directory } = files[0];
  const masterKey = openMasterKey(directory);
  const known = readHeads(control, masterKey);
  const heads = files.map((file) => (changed.includes(file) ? null : known[file.shard]) ?? headOf(file));
  control
    .prepare('INSERT INTO platform (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value')
    .run(JOURNAL_HEADS, sealHeads(masterKey, heads));
}

/** The ends of the only journals that there are from now on. */
export function replaceHeads(control: Database.Database, directory: string, heads: readonly KnownHead[]): void {
  control
    .prepare('INSERT INTO platform (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value')
    .run(JOURNAL_HEADS, sealHeads(openMasterKey(directory), heads));
}

/** Heads by shard; empty if control.db has none. */
function readHeads(control: Database.Database, masterKey: Uint8Array): readonly KnownHead[] {
  const sealed = control
    .prepare<[string], string>('SELECT value FROM platform WHERE key = ?')
    .pluck()
    .get(JOURNAL_HEADS);
  if (sealed === undefined) return [];
  try {
    return openHeads(masterKey, sealed);
  } catch {
    throw new AdminError(
      'control.db: its notes about the journals were altered, or it is of another exchange: put back the right one',
    );
  }
}

function endOf({ journalPath, shard }: ShardFile): KnownHead {
  const mark = readMark(markPath(journalPath), shard) ?? NO_ROWS;
  return { sequence: mark.sequence, chainLow: mark.chainLow, chainHigh: mark.chainHigh };
}
