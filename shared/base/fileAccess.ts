/**
 * The files of a data directory belong to the user that the exchange runs as. If the system refuses access to one, the
 * message names the file, its owner, and the command that fixes it: the contents are not damaged.
 */
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { memberOf } from './memberOf.ts';
import { errorCode } from './thrown.ts';

/** Errors of the system, and of SQLite, that can be about access. */
const ABOUT_ACCESS =
  /^(?:EACCES|EPERM|EROFS|SQLITE_CANTOPEN.*|SQLITE_READONLY.*|SQLITE_IOERR.*|SQLITE_PERM|SQLITE_AUTH)$/;
/** Words of such an error where it has no code: it came from another thread. */
const SAYS_ACCESS = /\b(?:EACCES|EPERM|EROFS)\b|unable to open database file|attempt to write a readonly database/;

/** The reason why a file cannot be used, in words; null if the error is not about access. */
export function accessProblem(path: string, error: unknown): string | null {
  if (!isAboutAccess(error)) return null;
  const around = [dirname(path), path, `${path}-wal`, `${path}-shm`];
  const refused = around.filter((each) => existsSync(each)).map(refusalOf);
  return refused.find((text) => text !== null) ?? null;
}

/** The same for an error that does not say which file of a directory it is about. */
export function accessProblemIn(directory: string, error: unknown): string | null {
  if (!isAboutAccess(error) || !existsSync(directory)) return null;
  const refused = refusalOf(directory);
  if (refused !== null) return refused;
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
  const paths = names.map((name) => join(directory, name)).filter((path) => existsSync(path));
  return paths.map(refusalOf).find((text) => text !== null) ?? null;
}

/**
 * Files of a data directory that an exchange must be able to write. SQLite opens an unwritable file read-only, and only
 * the first order would reveal it. read.db is left out: it has its own thread, without which orders continue.
 */
const WRITTEN =
  /^(?:(?:control|idempotency|settlement|ramp)\.db(?:-wal)?|journal-\d+\.(?:db(?:-wal)?|mark)|audit\.log|held\.mark)$/;

/** Null if every file that an exchange writes is writable. */
export function refusedFile(directory: string): string | null {
  const whole = refusalOf(directory);
  if (whole !== null) return whole;
  const folder = join(directory, 'private');
  const names = readdirSync(directory).filter((name) => WRITTEN.test(name));
  const paths = names.map((name) => join(directory, name));
  if (existsSync(folder)) {
    const refused = refusalOf(folder);
    if (refused !== null) return refused;
    paths.push(...readdirSync(folder).map((name) => join(folder, name)));
  }
  return paths.map(refusalOf).find((text) => text !== null) ?? null;
}

function isAboutAccess(error: unknown): boolean {
  if (!(error instanceof Error)) return ABOUT_ACCESS.test(String(memberOf(error, 'code')));
  const code = errorCode(error);
  if (code !== undefined && ABOUT_ACCESS.test(code)) return true;
  return SAYS_ACCESS.test(error.message) || (error.cause !== undefined && isAboutAccess(error.cause));
}

/** Null for a file that may be read and written. */
function refusalOf(path: string): string | null {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return null;
    if (code === 'EROFS') {
      return `${path} is on a file system that is mounted read-only: mount it for writing, nothing in it is damaged`;
    }
    const { uid, gid, mode } = statSync(path);
    const [user, group] = [process.geteuid?.() ?? uid, process.getegid?.() ?? gid];
    const rights = (mode & 0o777).toString(8).padStart(3, '0');
    const mend = uid === user ? `chmod u+rw ${path}` : `chown ${user}:${group} ${path}`;
    return `${path} belongs to ${nameOf(uid)} with mode ${rights}, and this process is ${nameOf(user)}: ${mend}`;
  }
}

/**
 * A file that another user creates in a data directory locks the exchange out.
 * @returns the command line that runs a program as the owner; null if this process is the owner
 */
export function asOwner(directory: string): string | null {
  const path = [directory, join(directory, 'control.db')].find((each) => existsSync(each) && isOfOther(each));
  if (path === undefined) return null;
  const { uid } = statSync(path);
  const user = process.geteuid?.() ?? uid;
  // In the owner's directory a file of another user is refused where it is opened, with the command that mends it.
  if (user !== 0 && path !== directory) return null;
  const name = nameOf(uid);
  return user === 0 ? `runuser -u ${name} --` : `sudo -u ${name}`;
}

function isOfOther(path: string): boolean {
  const { uid } = statSync(path);
  return (process.geteuid?.() ?? uid) !== uid;
}

/** The name of a user, or the number of one that has none here. */
function nameOf(uid: number): string {
  const users = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8').split('\n') : [];
  return users.map((line) => line.split(':')).find((parts) => parts[2] === String(uid))?.[0] ?? `#${uid}`;
}
