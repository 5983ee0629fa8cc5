/**
 * Chooses where `restore` builds a data directory, and moves the result into its place.
 *
 *   does not exist, or is an empty folder    <directory>.restoring beside it, which then gets its name
 *   a mount, or has files to set aside       a folder in it, whose files are then moved up, control.db last
 *
 * A mount, such as the volume of a container, cannot be renamed, and the folder around it may not be writable.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { freeName, freeTime } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { errorCode } from '../../shared/base/thrown.ts';
import { AdminError, RunningError, withDirectoryToRead } from './directory.ts';

const CONTROL = 'control.db';
/** Entries of an ext4 file system and of earlier restores, which are not data. */
const KEPT = /^(?:lost\+found$|left-|restoring(?:-|$))/;
const MOUNTS = '/proc/self/mountinfo';

type RestoredPlace = {
  /** Does not exist yet. */
  readonly folder: string;
  /**
   * Called once the contents of the folder are known to be sound. @throws AdminError if the directory has changed since
   */
  readonly put: () => void;
};

/** @throws AdminError if the directory has files that may not be set aside, or if an exchange runs on it */
export async function placeFor(
  directory: string,
  { setsAside, print }: { readonly setsAside: boolean; readonly print: (line: string) => void },
): Promise<RestoredPlace> {
  const found = dataIn(directory);
  const inside = isMounted(directory);
  if (found.length > 0 && !setsAside) {
    const next = inside ? '--set-aside moves what is there into a folder of it' : 'move it away first, and keep it';
    throw new AdminError(`${directory} is not empty: ${next}`);
  }
  if (setsAside) await requireStopped(directory);
  const isWithin = inside || found.length > 0;
  const stem = isWithin ? join(directory, 'restoring') : `${resolve(directory)}.restoring`;
  const folder = freeName(stem);
  if (folder !== stem) print(`${stem} is of another restore; if that does not run any more, remove it`);
  return {
    folder,
    put: () => (isWithin ? moveUp(folder, directory, { setsAside, print }) : rename(folder, directory)),
  };
}

function dataIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).filter((name) => !KEPT.test(name)) : [];
}

function isMounted(directory: string): boolean {
  if (!existsSync(directory) || !existsSync(MOUNTS)) return false;
  const path = realpathSync(directory).replaceAll(' ', '\\040');
  return readFileSync(MOUNTS, 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[4] === path);
}

/** A damaged directory may be set aside as well. */
async function requireStopped(directory: string): Promise<void> {
  try {
    await withDirectoryToRead(directory, () => {});
  } catch (error) {
    if (error instanceof RunningError) throw error;
  }
}

function moveUp(
  folder: string,
  directory: string,
  { setsAside, print }: { readonly setsAside: boolean; readonly print: (line: string) => void },
): void {
  const before = dataIn(directory);
  if (before.length > 0 && !setsAside) {
    throw notEmptyAnyMore(directory, folder, 'stop that exchange, and restore again with --set-aside');
  }
  if (before.length > 0) {
    const aside = join(directory, `left-${freeTime(directory)}`);
    mkdirSync(aside, { mode: 0o700 });
    for (const name of before) renameSync(join(directory, name), join(aside, name));
    print(`${aside} has what was there before`);
  }
  // control.db comes last, because a directory with control.db is one in which an exchange starts.
  const names = readdirSync(folder).sort((a, b) => Number(a.startsWith(CONTROL)) - Number(b.startsWith(CONTROL)));
  for (const name of names) renameSync(join(folder, name), join(directory, name));
  rmdirSync(folder);
  syncDirectory(directory);
}

/** The directory was empty when the restore began, but an exchange may have been started in it since. */
function rename(folder: string, directory: string): void {
  try {
    // Replaces an empty directory; fails on a directory with files.
    renameSync(folder, directory);
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    throw notEmptyAnyMore(directory, folder, `move ${directory} away, keep it, and give ${folder} its name`);
  }
  syncDirectory(dirname(resolve(directory)));
}

function notEmptyAnyMore(directory: string, folder: string, next: string): AdminError {
  return new AdminError(
    `${directory} is not empty any more: was an exchange started in it meanwhile? It is left as it is. ` +
      `${folder} has the restored files; to use them, ${next}`,
  );
}
