/** The common part of paged queries. */
import { MICROS_PER_MS, MOST_AFTER_MS } from '../../shared/base/fillTimes.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { parseTimeMicros, parseTimeMs } from '../../shared/base/time.ts';

/** A part of a list. */
export type Page<T> = {
  /** The length of the whole list under the same filters, or of its counted part. */
  readonly total: number;
  /** True if counting ended at `total`: the list is at least that long. */
  readonly isFloor: boolean;
  readonly rows: readonly T[];
};

/** A part of an account's past. */
export type HistoryPage<T> = Page<T> & {
  /** Where the next page starts: after its last row, or where reading ended; null if the list ends there. */
  readonly next: Position | null;
  /** The number of rows before the place where reading ended: what a larger offset skips is unknown. Null: none is. */
  readonly mostOffset: number | null;
  /** Rows that are older may be missing, because a file of the archive is; null: none is. */
  readonly archivedBeforeMs: number | null;
};

/** Of a list that has no rows. */
export const EMPTY_HISTORY: HistoryPage<never> = {
  ...{ total: 0, isFloor: false, rows: [] },
  ...{ next: null, mostOffset: null, archivedBeforeMs: null },
};

/** A row's position in the order of its list: newest first, rows of one millisecond by rank, then by id. */
export type Position = Readonly<{
  atMs: number;
  /** Rank of the kind of row, if the list has several kinds; 0 if it has one. */
  rank: number;
  id: Uint8Array;
}>;

/** Counting further than this would take longer than reading the page (RULES.md 14.2). */
export const MAX_COUNTED = 10_000;
/** Rows before an offset are walked over, so further into a list only a cursor leads (RULES.md 14.2). */
export const MAX_OFFSET = MAX_COUNTED;

/** `sinceMs` of a list without a lower bound. */
export const SINCE_EVER = -1;
/** `sinceMicros` of a list of fills without a lower bound. */
export const FILLS_EVER = 0;

/** The position before every row. Times have 48 bits. */
export const START: Position = {
  atMs: 2 ** 48 - 1,
  rank: 0xff,
  id: new Uint8Array(UUID_BYTES).fill(0xff),
};

/** @param counted at most MAX_COUNTED + 1 @param isCut true if counting ended before that, and before the list */
export function pageOf<T>(rows: readonly T[], counted: number, offset: number, isCut = false): Page<T> {
  const isFloor = isCut || counted > MAX_COUNTED;
  // A page beyond the counted part shows rows that exist.
  const least = Math.min(counted, MAX_COUNTED);
  const total = isFloor ? Math.max(least, rows.length === 0 ? 0 : offset + rows.length) : counted;
  return { total, isFloor, rows };
}

/** Where reading ended before the list did, and after how many rows. */
export type ReadEnd = { readonly after: Position; readonly known: number };
type PageBounds = {
  readonly counted: number;
  readonly isCut?: boolean;
  readonly limit: number;
  readonly offset: number;
  /** Null if the list was read to the end of the page. */
  readonly unread?: ReadEnd | null;
};

/** Returns a page of an account's past. @param found one row more than the page shows, if the list has it */
export function historyPage<R, T>(
  found: readonly R[],
  { counted, isCut = false, limit, offset, unread = null }: PageBounds,
  show: (row: R) => T,
  positionOf: (row: R) => Position,
): HistoryPage<T> {
  const shown = found.slice(0, limit);
  const next = found.length > limit ? positionOf(shown.at(-1)!) : (unread?.after ?? null);
  const mostOffset = unread?.known ?? null;
  return { ...pageOf(shown.map(show), counted, offset, isCut), next, mostOffset, archivedBeforeMs: null };
}

/** The position before every row of this millisecond and of earlier ones. */
export function startOfMs(atMs: number): Position {
  return { ...START, atMs };
}

/** The position in a list by creation right before the row with this id. */
export function rightBefore(id: Uint8Array): Position {
  const next = Uint8Array.from(id);
  let at = next.length - 1;
  while (at >= 0 && next[at] === 0xff) next[at--] = 0;
  if (at < 0) return START;
  next[at] += 1;
  return { atMs: timeOfId(next), rank: 0, id: next };
}

/**
 * The lower bound of all ids made after a millisecond. Ids start with their time (shared/base/ids.ts), so the primary
 * key answers "since" and "newest first" without an index on a timestamp.
 */
export function firstIdAfter(sinceMs: number): Uint8Array {
  const id = Buffer.alloc(UUID_BYTES);
  id.writeUIntBE(Math.min(Math.max(sinceMs + 1, 0), START.atMs), 0, 6);
  return id;
}

/**
 * The bound of a list that begins at this time. It includes rows of the same millisecond, because more of these may
 * come after the client has read some (RULES.md 14.1).
 */
export function boundOf(since: string | undefined): number {
  return since === undefined ? SINCE_EVER : parseTimeMs(since) - 1;
}

/** The bound of a list of fills, whose first fill is the one that `since` names (RULES.md 13.12). */
export function microsOf(since: string | undefined): number {
  return since === undefined ? FILLS_EVER : parseTimeMicros(since);
}

/**
 * Two bounds of fill ids for such a list: fills from the first bound on may be in it, fills from the second bound on
 * are in it.
 */
export function fillIdsSince(sinceMicros: number): { readonly firstId: Uint8Array; readonly surelyId: Uint8Array } {
  const sinceMs = Math.floor(sinceMicros / MICROS_PER_MS);
  return { firstId: firstIdAfter(sinceMs - MOST_AFTER_MS - 1), surelyId: firstIdAfter(sinceMs) };
}

/** The millisecond in which an id was made. */
export function timeOfId(id: Uint8Array): number {
  return Buffer.from(id.buffer, id.byteOffset, id.length).readUIntBE(0, 6);
}
