/**
 * Gives the pages that rows have left back to the system, in steps beside trading. Owner: the projector thread.
 *
 * A step moves pages from the end of the file to free places, and shortens it. The next checkpoint after it shortens
 * the file on the disk.
 */
import type Database from 'better-sqlite3';
import { preparedValue } from '../../shared/base/prepared.ts';
import { givesPagesBack } from './readDb.ts';

/** A step writes a megabyte, and as much again where pages refer to those that moved. */
const STEP_PAGES = 256;
/** The next rows fill these pages: the file would grow by them again. */
const KEPT_PAGES = 4096;
/** The same, as a part of the file: what a day brings grows with it. */
const KEPT_PART = 16;

const SQL = {
  free: 'PRAGMA freelist_count',
  all: 'PRAGMA page_count',
  give: `PRAGMA incremental_vacuum(${STEP_PAGES})`,
} as const;

/** @returns false if nothing is to be given back at present */
export function givePagesBack(db: Database.Database): boolean {
  const [free, all] = [SQL.free, SQL.all].map((sql) => preparedValue<[], number>(db, sql).get()!);
  if (free - Math.max(KEPT_PAGES, all / KEPT_PART) < STEP_PAGES || !givesPagesBack(db)) return false;
  db.exec(SQL.give);
  return true;
}
