import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes the names in a directory durable. Without this, a power cut may undo a rename or bring back a removed file. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
