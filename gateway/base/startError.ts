import { statfsSync } from 'node:fs';

/** Why a start fails, in one line for the operator, who can remove the cause; a stack would not help. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** With less free space, files that a start makes anew may not fit. */
const LITTLE_BYTES = 1 << 20;

/**
 * If the disk is full, that is the likely cause of whatever has failed on it; SQLite says no more than "disk I/O
 * error".
 */
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
