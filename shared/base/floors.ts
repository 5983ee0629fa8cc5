/**
 * Floors of numbers. A directory that was restored to an earlier time lacks numbers that were given out since: those of
 * frames, orders, trades, audit records and more. No number may be given out a second time with another meaning, so all
 * numbering continues above a floor computed from the time of the restore. control.db has the list of floors (table
 * `platform`).
 *
 * Invariants:
 *   FLOORS-1  A floor is above every number that can have been given out before: seconds since 1970, multiplied by more
 *             numbers than an exchange gives out in a second. It is a safe integer until the year 2242.
 *   FLOORS-2  The floors of a directory grow, even if the machine's clock was set back.
 */
import { assert } from './assert.ts';

/** The name of the text. */
export const FLOORS = 'floors';

export type Floor = {
  readonly floor: number;
  /** By shard: the record that raised its numbers. */
  readonly records: readonly number[];
  /** The highest account index at that time: later accounts may reuse an index of a lost one. */
  readonly lastAccount: number;
};

/** Oldest first. */
export type Floors = readonly Floor[];

/**
 * More numbers than are given out in a second, and a multiple of every block and interval by which they are counted.
 */
const PER_SECOND = 2 ** 20;

/** FLOORS-1, FLOORS-2. @param lastMs the last moment that the directory knows of. */
export function floorAt(nowMs: number, lastMs: number, floors: Floors): number {
  const seconds = Math.floor(Math.max(nowMs, lastMs) / 1000) + 1;
  const floor = Math.max(seconds * PER_SECOND, floorOf(floors) + PER_SECOND);
  assert(isFloor(floor), 'FLOORS-1: numbers stay exact');
  return floor;
}

export function isFloor(value: number): boolean {
  return Number.isSafeInteger(value + PER_SECOND) && value > 0 && value % PER_SECOND === 0;
}

export function readFloors(text: string | undefined): Floors {
  return text === undefined ? [] : JSON.parse(text);
}

/** The newest floor; 0 for a directory that was never restored to an earlier time. */
export function floorOf(floors: Floors): number {
  return floors.at(-1)?.floor ?? 0;
}

/** The floor under which a record of a shard was written. */
export function floorOfRecord(floors: Floors, shard: number, record: number): number {
  return floors.findLast(({ records }) => record > records[shard])?.floor ?? 0;
}

/** A floor as a word, and back: in a header that had one to spare. */
export function floorToWord(floor: number): number {
  return floor / PER_SECOND;
}

export function floorOfWord(word: number): number {
  return word * PER_SECOND;
}
