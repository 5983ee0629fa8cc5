/** Facts about markets and events that the gateway, the engine's starters and the tools must agree on. */

/** Kinds of market a provider may name; one that names none counts as `other`. */
export const MARKET_TYPES = ['player_prop', 'moneyline', 'spread', 'total', 'other'] as const;
export type MarketType = (typeof MARKET_TYPES)[number];

export const EVENT_STATUSES = ['upcoming', 'live', 'ended', 'cancelled'] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

const FNV_OFFSET_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * The shard that owns a market: FNV-1a (32 bits) over the 16 bytes of its UUID, modulo the number of shards. Journals
 * rest on it, so neither the hash nor a data directory's number of shards ever changes.
 */
export function shardOfMarket(idBytes: Uint8Array, shards: number): number {
  let hash = FNV_OFFSET_BASIS;
  for (const byte of idBytes) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return (hash >>> 0) % shards;
}
