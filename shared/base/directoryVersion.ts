/**
 * Which versions of the program may open a data directory, by two numbers in the header of its control.db: an older one
 * ends at its start with one line, before it changes anything. `user_version` is that of the tables (controlSchema.ts).
 * `application_id` grows whenever a layout of formats.ts does, whether that layout is of a file or of records: its high
 * half is the sum of the numbers of files, its low half that of records in the log or the journals. It is written once
 * the directory is known to be whole, with the migrations and before anything else of the new version is.
 *
 * A member of a cluster leaves the low half as it is: which records are written is known to the log, which refuses a
 * version that does not read them (FORMATS-2). So its directory goes back to an older version that has the same files,
 * until the cluster is raised.
 *
 * Invariant:
 *   DIRECTORYVERSION-1  No layout has a lower number in a later version, and neither half is ever lowered.
 */
import type { Database } from 'better-sqlite3';
import { CONTROL_VERSION } from './controlSchema.ts';
import { FILE_LAYOUTS, FORMATS } from './formats.ts';
import { SqlitePages } from './sqlitePages.ts';

const HALF = 2 ** 16;
const FILES = Object.values(FILE_LAYOUTS).reduce<number>((sum, number) => sum + number, 0);
const RECORDS = FORMATS.files.newest - FILES;

/** The two numbers in the header of control.db. */
type Numbers = { readonly userVersion: number; readonly applicationId: number };

export function isOfNewerVersion(control: Database): boolean {
  return isNewer({
    userVersion: numberOf(control, 'user_version'),
    applicationId: numberOf(control, 'application_id'),
  });
}

/** Reads the header, with its write-ahead log, without opening the file: nothing about it changes. */
export function isUnopenedNewer(path: string): boolean {
  const pages = new SqlitePages(path);
  try {
    return pages.hasHeader && isNewer(pages);
  } finally {
    pages.close();
  }
}

/** True where the directory says already that this version has opened it. */
export function isOfThisVersion(control: Database): boolean {
  const { files, records } = halvesOf(control);
  return files >= FILES && (records >= RECORDS || isOfMember(control));
}

export function noteVersion(control: Database): void {
  const { files, records } = halvesOf(control);
  const kept = isOfMember(control) ? records : Math.max(records, RECORDS);
  control.pragma(`application_id = ${Math.max(files, FILES) * HALF + kept}`);
}

/** Of a member of a cluster. */
export function isOfMember(control: Database): boolean {
  const tables = control.prepare<[], number>("SELECT count(*) FROM sqlite_master WHERE name = 'record_end'").pluck();
  return tables.get() !== 0;
}

function isNewer({ userVersion, applicationId }: Numbers): boolean {
  const { files, records } = halvesIn(applicationId);
  return userVersion > CONTROL_VERSION || files > FILES || records > RECORDS;
}

function halvesOf(control: Database): { readonly files: number; readonly records: number } {
  return halvesIn(numberOf(control, 'application_id'));
}

function halvesIn(applicationId: number): { readonly files: number; readonly records: number } {
  return { files: Math.floor(applicationId / HALF), records: applicationId % HALF };
}

function numberOf(control: Database, pragma: string): number {
  return Number(control.pragma(pragma, { simple: true }));
}
