/** Damaged files that are made anew stay beside the new ones: there may be something in them that nothing else has. */
import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * The database must not be open anywhere for writing. The next one that opens it finds none.
 * @returns the name that it has now; null where there was none
 */
export function setAside(path: string): string | null {
  const parts = ['', '-wal'].filter((suffix) => existsSync(path + suffix));
  if (parts.length === 0) return null;
  const name = unusedName(`${path}.damaged`);
  for (const suffix of parts) renameSync(path + suffix, name + suffix);
  rmSync(`${path}-shm`, { force: true });
  return name;
}

export function unusedName(path: string): string {
  let name = path;
  for (let number = 2; existsSync(name); number++) name = `${path}-${number}`;
  return name;
}
