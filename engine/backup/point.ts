/**
 * A point of a backup: the manifest of a whole data directory as it was at one moment. Everything in it is named
 * by its SHA-256, so two points share what did not change between them.
 *
 * Invariants:
 *   BACKUPPOINT-1  The journals have every record that control.db says was carried out, and no record whose cause
 *                  control.db lacks: both are as they were in one turn of the gateway.
 *   BACKUPPOINT-2  A manifest contains its own hash: a truncated or changed manifest is not used.
 */
import { createHash } from 'node:crypto';

/** The version of manifests and of rows in segments. */
export const POINT_VERSION = 1;

/** The SHA-256 of a part's bytes, in hexadecimal digits. */
export type PartName = string;

export type BackedFile = {
  readonly name: string;
  readonly bytes: number;
  readonly parts: readonly PartName[];
};

/** Some rows of a journal. Records `first` to `last`; `lastMs` is the time of the last one. */
export type Segment = {
  readonly part: PartName;
  readonly first: number;
  readonly last: number;
  readonly lastMs: number;
};

export type BackedJournal = {
  readonly shard: number;
  /** The oldest record of the journal, 1 if nothing was trimmed. If the journal is empty, this and `last` are 0. */
  readonly first: number;
  readonly last: number;
  /** The chain value after the last row, from which the next point continues. */
  readonly chainLow: number;
  readonly chainHigh: number;
  readonly lastMs: number;
  readonly segments: readonly Segment[];
};

export type Point = {
  readonly version: number;
  /** The name of the manifest: the time of the point. */
  readonly name: string;
  readonly takenMs: number;
  /**
   * False if no exchange ran on the directory, so that nothing can have happened between this point and the preceding
   * stop.
   */
  readonly wasRunning: boolean;
  readonly shards: number;
  /** Files that a setting left out. */
  readonly leftOut: readonly string[];
  readonly files: readonly BackedFile[];
  readonly journals: readonly BackedJournal[];
};

/** Names sort in order of time. */
export function pointName(takenMs: number): string {
  return new Date(takenMs)
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.(\d+)Z$/, '.$1Z');
}

export function encodePoint(point: Point): string {
  const content = JSON.stringify(point);
  return `${content}\n${createHash('sha256').update(content).digest('hex')}\n`;
}

/** BACKUPPOINT-2. Returns null unless the text is one complete manifest. */
export function decodePoint(text: string): Point | null {
  const [content = '', hash] = text.split('\n');
  if (createHash('sha256').update(content).digest('hex') !== hash) return null;
  return JSON.parse(content);
}

/** Lists every part of a point. */
export function* partsOf({ files, journals }: Point): Generator<PartName> {
  for (const { parts } of files) yield* parts;
  for (const { segments } of journals) for (const { part } of segments) yield part;
}

/** Returns the latest time that the point contains, of its journals or of its control.db. */
export function lastMsOf({ takenMs, journals }: Point): number {
  return Math.max(takenMs, ...journals.map(({ lastMs }) => lastMs));
}

/** Returns true if the journals of a later point contain everything that the earlier point has. */
export function continues({ journals }: Point, later: Point): boolean {
  return (
    later.journals.length === journals.length &&
    journals.every(({ shard, last }) => {
      const next = later.journals[shard];
      if (last === 0) return next.first <= 1;
      return next.first <= last + 1 && (next.last === last || next.segments.some((segment) => segment.last === last));
    })
  );
}
