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
/** The folders in which today's package of uWebSockets.js and the next one (data/docs/runtime.md) have binaries. */
const SOCKETS_TODAY = 'uWebSockets.js/dist/bin';
const SOCKETS_NEXT = 'uWebSockets.js';
/** The oldest C library that the binaries of the next package can use. */
const GLIBC_NEXT = [2, 38];

/** Returns in one line why this process must not load its binaries; null if all are the pinned ones. */
export function binaryProblem(): string | null {
  const pinned = JSON.parse(readFileSync(PINNED, 'utf8'));
  const folders = packageFolders();
  return binaryProblemIn(folders, pinned, `${process.platform}-${process.arch}`) ?? socketsProblem(folders, THIS_NODE);
}

export type NodeBuild = {
  readonly platform: string;
  readonly arch: string;
  /** The version of Node's interface to machine code. */
  readonly modules: string;
  readonly version: string;
  /** Empty where it is another library, or unknown. */
  readonly glibc: () => string;
};

const THIS_NODE: NodeBuild = {
  ...{ platform: process.platform, arch: process.arch, modules: process.versions.modules, version: process.version },
  glibc: () => {
    const report: { header?: { glibcVersionRuntime?: string } } = process.report.getReport();
    return report.header?.glibcVersionRuntime ?? '';
  },
};

/** Returns in one line why uWebSockets.js cannot be loaded by this Node; null if nothing is known to prevent it. */
export function socketsProblem(folders: readonly string[], node: NodeBuild): string | null {
  const name = nameOfSockets(`${node.platform}-${node.arch}`, node.modules);
  if (existsSync(packageFile(`${SOCKETS_TODAY}/${name}`, folders))) return null;
  const see = 'data/docs/runtime.md says which package has one';
  if (!existsSync(packageFile(`${SOCKETS_NEXT}/${name}`, folders)))
    return `uWebSockets.js has no ${name} for Node ${node.version}; ${see}`;
  const glibc = node.glibc();
  if (glibc === '' || !isOlder(glibc.split('.').map(Number), GLIBC_NEXT)) return null;
  return `${name} needs glibc ${GLIBC_NEXT.join('.')}, and this system has ${glibc}; ${see} for it`;
}

function isOlder([major, minor]: readonly number[], [leastMajor, leastMinor]: readonly number[]): boolean {
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

function nameOfSockets(platform: string, modules: string): string {
  return `uws_${platform.replace('-', '_')}_${modules}.node`;
}

/**
 * Ignores missing files: the code they belong to is optional, or reports itself that they are missing.
 * @param folders the folders of packages, the nearest first
 */
export function binaryProblemIn(folders: readonly string[], pinned: PinnedBinaries, platform: string): string | null {
  const expected = pinned[platform];
  if (expected === undefined) return `data/binaries.json pins no binaries for ${platform}`;
  for (const file of new Set([...Object.keys(expected), ...socketsOf(platform), ...compiledIn(folders)])) {
    const path = packageFile(file, folders);
    if (!existsSync(path)) continue;
    const found = hash('sha256', readFileSync(path), 'hex');
    if (found === expected[file]) continue;
    const wanted = expected[file] === undefined ? 'it is not pinned' : `${expected[file]} is pinned`;
    return `${path} has the SHA-256 ${found}, but ${wanted} in data/binaries.json; run npm ci, or pin it on purpose`;
  }
  return null;
}

/** The files that this Node would load there, pinned or not. */
function socketsOf(platform: string): string[] {
  const name = nameOfSockets(platform, THIS_NODE.modules);
  return [SOCKETS_TODAY, SOCKETS_NEXT].map((place) => `${place}/${name}`);
}

function compiledIn(folders: readonly string[]): string[] {
  return COMPILED.filter((place) => existsSync(packageFile(place, folders))).flatMap((place) => {
    return readdirSync(packageFile(place, folders))
      .filter((name) => name.endsWith('.node'))
      .map((name) => `${place}/${name}`);
  });
}
