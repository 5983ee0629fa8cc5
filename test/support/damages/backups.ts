/**
 * Folders of backups for the battery of damages: one with three points of an exchange, of which the newest has data
 * that the others lack. Beside it, under the names of its files, are the files that replace them when another
 * exchange's or an older file was put there.
 */
import { chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BackedFile, BackedJournal, Point } from '../../../engine/backup/point.ts';
import { BackupStore } from '../../../engine/backup/store.ts';
import { temporaryDirectory } from '../directory.ts';
import { NOBODY } from './nobody.ts';
import { readable } from './readable.ts';
import { type AdminHost, removeCopy } from './seen.ts';
import { copyOf, type World } from './world.ts';

/** The folders that DAMAGES needs. */
export type Backups = {
  readonly whole: string;
  readonly earlier: string;
  readonly other: string;
  readonly framesBefore: number;
  /** By name of the point: the rows of the databases that it restores. */
  readonly rows: ReadonlyMap<string, ReadonlySet<string>>;
};

/** Points by the letter of the tables. */
const LETTERS = ['L', 'M', 'N'];

function pointsOf(folder: string): readonly Point[] {
  return BackupStore.read(folder).points().points;
}

function partIn(point: Point, file: string): string {
  const { parts } = point.files.find(({ name }) => name === file) as BackedFile;
  return objectOf(parts[0]!);
}

function objectOf(part: string): string {
  return join('objects', part.slice(0, 2), part);
}

function lastSegment({ segments }: BackedJournal): string {
  return objectOf(segments.at(-1)!.part);
}

/** The path of a file of the tables, as the point of this letter has it. */
export function pathIn(folder: string, file: string, letter = 'N'): string {
  const point = pointsOf(folder).at(LETTERS.indexOf(letter) - LETTERS.length)!;
  if (file.startsWith('points/')) return join('points', `${point.name}.json`);
  const [, of] = /^objects\/… of `?([^`]+)`?$/.exec(file)!;
  return of === 'journal-0.db' ? lastSegment(point.journals[0]!) : partIn(point, of!);
}

/** Owned by the user of the exchange. */
function emptyFolder(): string {
  const folder = copyOf(temporaryDirectory());
  chownSync(folder, NOBODY, NOBODY);
  return folder;
}

async function backedUp(host: AdminHost, from: readonly string[]): Promise<string> {
  const folder = emptyFolder();
  for (const directory of from) {
    const copy = copyOf(directory);
    const { code, text } = await host.run(copy, 'backup', folder);
    if (code !== 0) throw new Error(text);
    removeCopy(copy);
  }
  return folder;
}

/** A folder with one file for each of the table, which has its name and the bytes of another one. */
function standIns(whole: string, files: readonly string[], bytesFor: (file: string) => string): string {
  const folder = temporaryDirectory();
  for (const file of files) {
    const path = join(folder, pathIn(whole, file, letterOf(file)));
    mkdirSync(dirname(path), { recursive: true });
    copyFileSync(bytesFor(file), path);
  }
  return folder;
}

/** Returns the letter of the newest point for a part. */
export function letterOf(file: string): string {
  return /^points\/([LMN])\.json$/.exec(file)?.[1] ?? 'N';
}

/** Returns the rows in the databases of the directory; null if none was made. */
export async function restoredRows(host: AdminHost, folder: string, ...options: string[]) {
  const into = join(dirname(emptyFolder()), 'restored');
  const seen = await host.run(into, 'restore', folder, '--as-it-was', ...options);
  const rows = seen.code === 0 ? readable(into) : null;
  removeCopy(into);
  return { seen, rows };
}

export async function makeBackups(host: AdminHost, world: World, files: readonly string[]): Promise<Backups> {
  const whole = await backedUp(host, [world.earlier, world.earlier, world.whole]);
  const other = await backedUp(host, [world.other, world.other, world.other]);
  const before = (file: string): string => LETTERS[LETTERS.indexOf(letterOf(file)) - 1]!;
  const rows = new Map<string, ReadonlySet<string>>();
  for (const { name } of pointsOf(whole)) {
    const restored = await restoredRows(host, whole, '--point', name);
    if (restored.rows === null) throw new Error(restored.seen.text);
    rows.set(name, restored.rows);
  }
  return {
    whole,
    earlier: standIns(whole, files, (file) => join(whole, pathIn(whole, file, before(file)))),
    other: standIns(whole, files, (file) => join(other, pathIn(other, file, letterOf(file)))),
    framesBefore: 0,
    rows,
  };
}
