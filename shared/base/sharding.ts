/** The shard of a market. The gateway, the tests and every journal ever written must agree on it. */

const FNV_OFFSET_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * The shard that owns a market: FNV-1a (32 bits) over the 16 bytes of its UUID, modulo the number of shards. Journals
 * depend on it, so neither the hash nor a data directory's number of shards ever changes.
 */
export function shardOfMarket(idBytes: Uint8Array, shards: number): number {
  let hash = FNV_OFFSET_BASIS;
  for (const byte of idBytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return (hash >>> 0) % shards;
}
