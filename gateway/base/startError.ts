import { statfsSync } from 'node:fs';

/** The reason why a start fails, in one line for the operator, who can remove it; a stack would not help. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** With less free, files that a start makes anew may have found no room. */
const LITTLE_BYTES = 1 << 20;

/** A full disk is the likely cause of whatever has failed on it, and SQLite says no more than "disk I/O error". */
export function fullDiskAt(directory: string | null): string | null {
  if (directory === null) return null;
  try {
    const { bavail, bsize } = statfsSync(directory);
    const bytes = bavail * bsize;
    if (bytes >= LITTLE_BYTES) return null;
    return `the disk of ${directory} is full (${bytes} bytes are free): make room with anything that is not in there`;
  } catch {
    return null;
  }
}
