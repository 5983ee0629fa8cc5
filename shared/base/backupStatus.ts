/**
 * The outcomes of the last backup and of the last drill, in a file of the data directory: the administrator's program
 * writes it, and a running exchange shows it in its metrics.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const BACKUP_STATUS_FILE = 'backup.json';

export type BackupStatus = {
  /** The end of the last complete backup; null if there was none. */
  readonly backedUpMs: number | null;
  /** The time of a failure since then. */
  readonly failedMs: number | null;
  /** The end of the last drill in which a backup was restored, replayed and audited. */
  readonly restoredMs: number | null;
  /** The time of a failed drill since then. */
  readonly drillFailedMs: number | null;
  /** For the last complete backup: bytes of the directory, how many of them were new, and its duration. */
  readonly bytes: number;
  readonly newBytes: number;
  readonly tookMs: number;
};

export const NO_BACKUP: BackupStatus = {
  backedUpMs: null,
  failedMs: null,
  restoredMs: null,
  drillFailedMs: null,
  bytes: 0,
  newBytes: 0,
  tookMs: 0,
};

/** A missing or damaged file counts as no backup. */
export function readBackupStatus(directory: string): BackupStatus {
  try {
    return { ...NO_BACKUP, ...JSON.parse(readFileSync(join(directory, BACKUP_STATUS_FILE), 'utf8')) };
  } catch {
    return NO_BACKUP;
  }
}

export function noteBackup(directory: string, change: Partial<BackupStatus>): void {
  const path = join(directory, BACKUP_STATUS_FILE);
  const status = { ...readBackupStatus(directory), ...change };
  writeFileSync(`${path}.new`, `${JSON.stringify(status)}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}
