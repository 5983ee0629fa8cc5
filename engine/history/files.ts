/** Files of the history that must survive a power cut. */
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';

export function syncFile(path: string): void {
  const fd = openSync(path, 'r+');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The file has either its old contents or all of the new ones. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  syncFile(`${path}.new`);
  renameSync(`${path}.new`, path);
  syncDirectory(dirname(path));
}
