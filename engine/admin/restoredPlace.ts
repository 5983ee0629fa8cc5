/**
 * Where `restore` makes a data directory, and how that comes to its place.
 *
 *   not there, or an empty folder     <directory>.restoring beside it, which then gets its name
 *   a mount, or with what to set aside    a folder in it, whose files are then moved up, control.db last
 *
 * A mount, such as the volume of a container, cannot get another name, and what is beside it may not be writable.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { freeName, freeTime } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { errorCode } from '../../shared/base/thrown.ts';
import { AdminError, RunningError, withDirectoryToRead } from './directory.ts';

const CONTROL = 'control.db';
/** Of an ext4, and of earlier restores: these are no data. */
const KEPT = /^(?:lost\+found$|left-|restoring(?:-|$))/;
const MOUNTS = '/proc/self/mountinfo';

type RestoredPlace = {
  /** Not there yet. */
  readonly folder: string;
  /** Called once what is in the folder is sound. @throws AdminError where the directory is no longer as it was */
  readonly put: () => void;
};

/** @throws AdminError for a directory that has files and may not be set aside, or that an exchange runs on */
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

/** A damaged directory is set aside as well. */
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
  // With control.db it is a directory that an exchange starts in.
  const names = readdirSync(folder).sort((a, b) => Number(a.startsWith(CONTROL)) - Number(b.startsWith(CONTROL)));
  for (const name of names) renameSync(join(folder, name), join(directory, name));
  rmdirSync(folder);
  syncDirectory(directory);
}

/** The directory was empty before, which took as long as the restore: an exchange may have been started in it. */
function rename(folder: string, directory: string): void {
  try {
    // An empty directory is replaced; one with files stays as it is.
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
      `${folder} is what was restored; to use it, ${next}`,
  );
}
