/** Files of the history that must survive a power cut. */
import { execFile } from 'node:child_process';
import { closeSync, fsyncSync, openSync, readdirSync, readSync, renameSync, writeSync } from 'node:fs';
import { release } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';

/** Linux from here on says of a sync of a whole file system whether a write has failed. */
const SAYS_ERRORS: readonly [number, number] = [5, 8];

/** The file has either its old contents or all of the new ones. */
export function replaceFile(path: string, chunks: Iterable<Uint8Array>): void {
  const fd = openSync(`${path}.new`, 'w');
  try {
    for (const chunk of chunks) writeWhole(fd, chunk);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
  syncDirectory(dirname(path));
}

export function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Fills the buffer from there on. @returns whether the file had so many bytes */
export function readWhole(fd: number, into: Uint8Array, offset: number): boolean {
  let at = 0;
  for (let read = 1; read > 0 && at < into.length; at += read) {
    read = readSync(fd, into, at, into.length - at, offset + at);
  }
  return at === into.length;
}

/**
 * Makes all that is in a folder durable. A day has thousands of small files, and a sync of each waits for the disk each
 * time, so on Linux one sync takes the whole file system. Where there is none, each file and folder is synced.
 */
export async function syncFolder(folder: string): Promise<void> {
  const [major, minor] = release().split('.').map(Number);
  const saysErrors = major > SAYS_ERRORS[0] || (major === SAYS_ERRORS[0] && minor >= SAYS_ERRORS[1]);
  if (process.platform === 'linux' && saysErrors) {
    const isDone = await promisify(execFile)('sync', ['-f', folder]).then(
      () => true,
      () => false,
    );
    if (isDone) return;
  }
  syncEach(folder);
}

function syncEach(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) syncEach(path);
    else {
      const fd = openSync(path, 'r+');
      try {
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
    }
  }
  syncDirectory(folder);
}
