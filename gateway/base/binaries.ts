/**
 * Checks machine code that comes in packages: before the first binary is loaded, all of them are compared with the
 * SHA-256 that data/binaries.json pins for this platform (RULES.md 10.13). The lock file protects the download; this
 * protects the files on the disk.
 */
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageFile, packageFolders } from '../../shared/base/packages.ts';

/** By platform, the SHA-256 of each file below node_modules. */
export type PinnedBinaries = Readonly<Record<string, Readonly<Record<string, string>>>>;

const PINNED = fileURLToPath(new URL('../../data/binaries.json', import.meta.url));
/**
 * This package prefers a binary that was compiled here to the one in the package; these are the places where such a
 * binary would be.
 */
const COMPILED = ['Release', 'Debug'].map((kind) => `better-sqlite3/build/${kind}`);

/** Returns in one line why this process must not load its binaries; null if all are the pinned ones. */
export function binaryProblem(): string | null {
  const pinned = JSON.parse(readFileSync(PINNED, 'utf8'));
  return binaryProblemIn(packageFolders(), pinned, `${process.platform}-${process.arch}`);
}

/**
 * Ignores missing files: the code they belong to is optional, or reports itself that they are missing.
 * @param folders the folders of packages, the nearest first
 */
export function binaryProblemIn(folders: readonly string[], pinned: PinnedBinaries, platform: string): string | null {
  const expected = pinned[platform];
  if (expected === undefined) return `data/binaries.json pins no binaries for ${platform}`;
  for (const file of [...Object.keys(expected), ...compiledIn(folders)]) {
    const path = packageFile(file, folders);
    if (!existsSync(path)) continue;
    const found = hash('sha256', readFileSync(path), 'hex');
    if (found === expected[file]) continue;
    const wanted = expected[file] === undefined ? 'it is not pinned' : `${expected[file]} is pinned`;
    return `${path} has the SHA-256 ${found}, but ${wanted} in data/binaries.json; run npm ci, or pin it on purpose`;
  }
  return null;
}

function compiledIn(folders: readonly string[]): string[] {
  return COMPILED.filter((place) => existsSync(packageFile(place, folders))).flatMap((place) => {
    return readdirSync(packageFile(place, folders))
      .filter((name) => name.endsWith('.node'))
      .map((name) => `${place}/${name}`);
  });
}
