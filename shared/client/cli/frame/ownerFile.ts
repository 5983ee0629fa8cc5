/** Writes a file that only its owner may read, completely or not at all. */
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;

export function makeOwnerFolder(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: OWNER_ONLY_FOLDER });
}

export function writeOwnerOnly(path: string, text: string): void {
  const next = `${path}.${process.pid}`;
  makeOwnerFolder(path);
  rmSync(next, { force: true });
  writeFileSync(next, text, { mode: OWNER_ONLY, flag: 'wx' });
  chmodSync(next, OWNER_ONLY);
  renameSync(next, path);
}
