/**
 * The orders of each hash. An entry is the first 8 bytes of the hash and the 16 bytes of the order's id.
 *
 * Hashes are random, so writing an index entry by entry would change one page per entry. Instead the newest entries
 * wait in order_hash_tail, back to back in one row per batch, until there are many. The index has successive
 * generations: however many orders there are, added entries share the pages of the newest generation. A query searches
 * each generation; a million orders have two.
 */
import { UUID_BYTES } from '../base/hex.ts';
import { ASSIGNED_KEY, BLOB, INTEGER, table } from './table.ts';

export const ORDER_HASHES = table(
  'order_hashes',
  { generation: INTEGER, entry: BLOB },
  { primaryKey: 'generation, entry', withoutRowid: true },
);

export const ORDER_HASH_TAIL = table('order_hash_tail', {
  batch: ASSIGNED_KEY,
  entries: BLOB,
});

/**
 * The number of bytes of a hash in its entry. If several hashes share them, which is rare, the rows of the orders
 * distinguish them.
 */
export const PREFIX_BYTES = 8;
export const ENTRY_BYTES = PREFIX_BYTES + UUID_BYTES;

/** The ids of the orders whose hash may be `hash`, among adjacent entries. */
export function idsIn(entries: Uint8Array, hash: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
    let same = 0;
    while (same < PREFIX_BYTES && entries[at + same] === hash[same]) same++;
    if (same === PREFIX_BYTES) found.push(entries.subarray(at + PREFIX_BYTES, at + ENTRY_BYTES));
  }
  return found;
}
