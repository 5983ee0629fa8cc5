/** Data directories that releases left in test/vectors/upgrade (make.ts), and the answers of these releases. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';

const RELEASES = fileURLToPath(new URL('../vectors/upgrade', import.meta.url));
/** Fields that depend on the day of the request. */
const OF_THE_DAY = /^(?:timestamp|server_time|volume_24h\w*|.*_24h\w*|time|now|expires_in\w*)$/;

type Kept = {
  commit: string;
  masterKey: string;
  traders: { userId: string; privateKey: string; keyId: string; secret: string; passphrase: string }[];
  markets: string[];
  answers: { who: number; path: string; body: unknown }[];
};

export const folderOf = (release: string): string => join(RELEASES, release);
export const releases = (): string[] => readdirSync(RELEASES);

/** @param archive the directory itself, the backups of it, or that of a member of a cluster */
export function unpacked(release: string, archive = 'directory'): string {
  const directory = temporaryDirectory();
  execFileSync('tar', ['-xzf', join(RELEASES, release, `${archive}.tar.gz`), '-C', directory]);
  return directory;
}

export const keptOf = (release: string): Kept =>
  JSON.parse(readFileSync(join(RELEASES, release, 'answers.json'), 'utf8'));

/** True if the time is the same in microseconds (RULES.md 13.12). */
function isMoreExact(before: unknown, now: unknown): boolean {
  // Addresses have their check sum since.
  if (typeof before === 'string' && /^0x[0-9a-f]{40}$/.test(before) && String(now).toLowerCase() === before)
    return true;
  return typeof before === 'string' && String(now).replace(/(\.[0-9]{3})[0-9]{3}Z$/, '$1Z') === before;
}

/** Returns every field of `before` that differs in `now`. A newer version may add fields. */
export function changes(before: unknown, now: unknown, path = ''): string[] {
  if (typeof before !== 'object' || before === null) {
    return Object.is(before, now) || isMoreExact(before, now)
      ? []
      : [`${path}: ${JSON.stringify(before)} became ${JSON.stringify(now)}`];
  }
  if (typeof now !== 'object' || now === null) return [`${path} became ${JSON.stringify(now)}`];
  if (Array.isArray(before) && (now as unknown[]).length !== before.length) return [`${path} has another length`];
  return Object.entries(before)
    .filter(([name]) => !OF_THE_DAY.test(name))
    .flatMap(([name, value]) => changes(value, (now as Record<string, unknown>)[name], `${path}.${name}`));
}
