/**
 * Floors of numbers. A directory that was restored to an earlier time lacks numbers that were given out since: those of
 * frames, orders, trades, audit records and more. None may mean something else a second time, so all of them go on
 * above a floor that is made from the time of the restore. control.db has the list of floors (table `platform`).
 *
 * Invariants:
 *   FLOORS-1  A floor is above every number that can have been given out before: of seconds since 1970, times more than
 *             an exchange gives out in a second. It is a safe integer until the year 2242.
 *   FLOORS-2  Floors of a directory grow, also where the clock of the machine was set back.
 */
import { assert } from './assert.ts';

/** The name of the text. */
export const FLOORS = 'floors';

export type Floor = {
  readonly floor: number;
  /** By shard: the record that has raised its numbers. */
  readonly records: readonly number[];
  /** The highest index of an account at that time: later accounts may have that of another one. */
  readonly lastAccount: number;
};

/** Oldest first. */
export type Floors = readonly Floor[];

/** More numbers than are given out in a second, and a multiple of every block and interval that is counted by them. */
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

/** The newest one; 0 for a directory that was never restored to an earlier time. */
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
