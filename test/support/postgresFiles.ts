/**
 * The programs and the files of the PostgreSQL servers that tests start.
 *
 * The files of a cluster and its servers end with the process that made them, whatever ends that process: a shell in a
 * session of its own waits at a pipe for its end, because a killed process cannot clean up.
 *
 * A cluster begins as copies of a template that the machine keeps in its directory for temporary files: making one
 * takes longer than starting three servers.
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The one role of every cluster. */
export const USER = 'exchange';

const DEBIAN = '/usr/lib/postgresql';

/** The folder of `postgres`, which Debian does not put into the path; undefined if there is none. */
export const PROGRAMS = foundPrograms();

/** PostgreSQL does not run as root. */
export const IDENTITY = process.getuid?.() === 0 && PROGRAMS !== undefined ? identityOf('postgres') : {};

/** Segments of the write-ahead log have one megabyte: three servers copy and write less. */
const INIT = ['-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-instructions', '--wal-segsize=1'];

/**
 * Servers are found by their working directory, which is inside the cluster's. A stopped process ends only by SIGKILL.
 */
const WATCHER = `cat > /dev/null
while found=$(find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$1/*" 2> /dev/null); [ -n "$found" ]; do
  for link in $found; do pid=\${link#/proc/}; kill -KILL "\${pid%/cwd}" 2> /dev/null; done
  sleep 0.1
done
rm -rf "$1"`;

export type PostgresFiles = {
  readonly directory: string;
  /** Kills what runs in it, and removes it. The end of this process does the same. */
  end(): void;
};

/** A directory that the servers may write to. */
export function postgresFiles(): PostgresFiles {
  const directory = ownedDirectory(join(tmpdir(), 'exchange-test-'));
  const watcher = spawn('sh', ['-c', WATCHER, 'sh', directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.unref();
  (watcher.stdin as unknown as { unref(): void }).unref();
  return { directory, end: () => watcher.stdin.end() };
}

/** Makes these directories, each with the data of a new server. */
export async function copyTemplate(directories: readonly string[]): Promise<void> {
  const template = templateDirectory();
  await Promise.all(directories.map((directory) => promisify(execFile)('cp', ['-a', template, directory])));
}

/**
 * The template of this machine, this user and this version of PostgreSQL. It is complete as soon as it has its name.
 */
function templateDirectory(): string {
  const version = execFileSync(join(PROGRAMS!, 'postgres'), ['--version'], { encoding: 'utf8' });
  const uid = IDENTITY.uid ?? process.getuid!();
  const path = join(tmpdir(), `exchange-postgres-${uid}-${version.replaceAll(/[^0-9a-z.]+/gi, '-')}`);
  if (!isOf(uid, path)) {
    const fresh = ownedDirectory(`${path}.`);
    execFileSync(join(PROGRAMS!, 'initdb'), ['-D', fresh, ...INIT], { ...IDENTITY, stdio: 'ignore' });
    try {
      renameSync(fresh, path);
    } catch (error) {
      rmSync(fresh, { recursive: true });
      if (!isOf(uid, path)) throw error;
      // Another process was faster.
    }
  }
  return path;
}

/** Others may write into the directory for temporary files, and nothing of theirs is started. */
function isOf(uid: number, path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.uid === uid;
}

function ownedDirectory(prefix: string): string {
  const path = mkdtempSync(prefix);
  if (IDENTITY.uid !== undefined) chownSync(path, IDENTITY.uid, IDENTITY.gid!);
  return path;
}

function foundPrograms(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(DEBIAN, version, 'bin')), ...(process.env.PATH ?? '').split(':')];
  return folders.find((folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'initdb')));
}

function identityOf(user: string): { uid?: number; gid?: number } {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout));
  return { uid, gid };
}
