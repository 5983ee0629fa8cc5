/** The common part of the paged queries. */
import { UUID_BYTES } from '../../shared/base/hex.ts';

/** A slice of a list, with the length of the whole list under the same filters. */
export type Page<T> = { readonly total: number; readonly rows: readonly T[] };

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
