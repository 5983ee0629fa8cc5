/** The shard of a market. The gateway, the tests and every journal ever written must agree on it. */

/** The largest number of shards of an exchange. */
export const MAX_SHARDS = 64;

const FNV_OFFSET_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * The shard that owns a market: FNV-1a (32 bits) over the 16 bytes of its UUID, or of its event's if that is a set (one
 * shard has all of its markets), modulo the number of shards. Journals depend on it, so the hash never changes, and the
 * number of shards only where new journals begin (engine/admin/reshard.ts).
 */
export function shardOfMarket(idBytes: Uint8Array, shards: number): number {
  let hash = FNV_OFFSET_BASIS;
  for (const byte of idBytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return (hash >>> 0) % shards;
}
