/** The tables of control.db, by version. A released migration is never edited: the next one is added. */
import { readFileSync } from 'node:fs';
import { FORMATS } from './formats.ts';

export const CONTROL_VERSION = FORMATS.control.newest;

/** The statements that bring the file from one version to another; migration n brings it from version n - 1 to n. */
export function controlMigrations(from: number, to: number): string[] {
  return Array.from({ length: Math.max(to - from, 0) }, (_, step) => {
    const name = `control-${String(from + step + 1).padStart(3, '0')}.sql`;
    return readFileSync(new URL(`../../data/schema/${name}`, import.meta.url), 'utf8');
  });
}
