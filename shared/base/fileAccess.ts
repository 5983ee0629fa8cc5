/**
 * The files of a data directory belong to the user that the exchange runs as. Where the system refuses one, the message
 * says which file it is, whose, and the command that mends it: nothing in it is damaged.
 */
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Errors of the system, and of SQLite, that can be about access. */
const ABOUT_ACCESS = /^(?:EACCES|EPERM|EROFS|SQLITE_CANTOPEN.*|SQLITE_READONLY.*|SQLITE_PERM|SQLITE_AUTH)$/;

/** Why a file cannot be used, in words; null where the error is about something else. */
export function accessProblem(path: string, error: unknown): string | null {
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (typeof code !== 'string' || !ABOUT_ACCESS.test(code)) return null;
  const around = [dirname(path), path, `${path}-wal`, `${path}-shm`];
  const refused = around.filter((each) => existsSync(each)).map(refusalOf);
  return refused.find((text) => text !== null) ?? null;
}

/** Null for one that may be read and written. */
function refusalOf(path: string): string | null {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'EROFS') {
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
 * A file that another user makes in a data directory locks the exchange out.
 * @returns the command line before a program that makes it the owner's; null: this process is the owner's
 */
export function asOwner(directory: string): string | null {
  const path = [join(directory, 'control.db'), directory].find((each) => existsSync(each));
  if (path === undefined) return null;
  const { uid } = statSync(path);
  const user = process.geteuid?.() ?? uid;
  if (user === uid) return null;
  const name = nameOf(uid);
  return user === 0 ? `runuser -u ${name} --` : `sudo -u ${name}`;
}

/** The name of a user, or the number of one that has none here. */
function nameOf(uid: number): string {
  const users = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8').split('\n') : [];
  return users.map((line) => line.split(':')).find((parts) => parts[2] === String(uid))?.[0] ?? `#${uid}`;
}
