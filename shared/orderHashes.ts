/**
 * The layout of what finds an order by its hash in read.db (data/schema/read.sql), for the projector that writes it and
 * the queries that read it.
 */
import { UUID_BYTES } from './hex.ts';

/** Of an order's hash; orders that share them are told apart by their rows. */
export const PREFIX_BYTES = 8;
export const ENTRY_BYTES = PREFIX_BYTES + UUID_BYTES;

/** What an entry says of a hash: the ids of the orders behind those of `entries` that begin as it does. */
export function idsIn(entries: Uint8Array, hash: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
    let same = 0;
    while (same < PREFIX_BYTES && entries[at + same] === hash[same]) same++;
    if (same === PREFIX_BYTES) found.push(entries.subarray(at + PREFIX_BYTES, at + ENTRY_BYTES));
  }
  return found;
}
