/**
 * Keeps damaged files that are rebuilt beside the new ones, because they may contain data that exist nowhere else.
 *
 * Invariants:
 *   SETASIDE-1  A file that was set aside never loses its name to a later one.
 */
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { freeName } from './freeName.ts';
import { syncDirectory } from './syncDirectory.ts';

/**
 * The database must not be open for writing anywhere. The next opening finds no file.
 * @returns the new name; null if there was no file
 */
export function setAside(path: string): string | null {
  const parts = ['', '-wal'].filter((suffix) => existsSync(path + suffix));
  if (parts.length === 0) return null;
  const name = freeName(`${path}.damaged`, '', ['-wal']);
  for (const suffix of parts) renameSync(path + suffix, name + suffix);
  rmSync(`${path}-shm`, { force: true });
  return name;
}

/** For a file that is about to be truncated or overwritten. @returns the name of the copy, which is durable */
export function keepCopy(path: string): string {
  const copy = freeName(`${path}.damaged`);
  copyFileSync(path, copy);
  const fd = openSync(copy, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncDirectory(dirname(copy));
  return copy;
}
