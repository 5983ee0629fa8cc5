/** The common part of the paged queries. */
import { UUID_BYTES } from '../../shared/base/hex.ts';

/** A slice of a list. */
export type Page<T> = {
  /** The length of the whole list under the same filters, or of as much of it as was counted. */
  readonly total: number;
  /** The list is at least as long as `total`, which is where counting ended. */
  readonly isFloor: boolean;
  readonly rows: readonly T[];
};

/** Counting further than this would take longer than reading the page (RULES.md 7.1). */
export const MAX_COUNTED = 10_000;

/** @param counted at most MAX_COUNTED + 1 */
export function pageOf<T>(rows: readonly T[], counted: number, offset: number): Page<T> {
  const isFloor = counted > MAX_COUNTED;
  // A page beyond the counted part shows rows that are there.
  const total = isFloor ? Math.max(MAX_COUNTED, rows.length === 0 ? 0 : offset + rows.length) : counted;
  return { total, isFloor, rows };
}

/** `sinceMs` of a list without a lower bound. */
export const SINCE_EVER = -1;

/**
 * The lower bound of all ids made after a millisecond. Ids start with their time (shared/base/ids.ts), so the primary
 * key answers "since" and "newest first" without an index on a timestamp.
 */
export function firstIdAfter(sinceMs: number): Uint8Array {
  const id = Buffer.alloc(UUID_BYTES);
  id.writeUIntBE(Math.max(sinceMs + 1, 0), 0, 6);
  return id;
}
