/** Damaged files that are made anew stay beside the new ones: there may be something in them that nothing else has. */
import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * The database must not be open anywhere for writing. The next one that opens it finds none.
 * @returns the name that it has now; null where there was none
 */
export function setAside(path: string): string | null {
  if (!existsSync(path)) return null;
  const name = unusedName(`${path}.damaged`);
  renameSync(path, name);
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${name}-wal`);
  rmSync(`${path}-shm`, { force: true });
  return name;
}

export function unusedName(path: string): string {
  let name = path;
  for (let number = 2; existsSync(name); number++) name = `${path}-${number}`;
  return name;
}
