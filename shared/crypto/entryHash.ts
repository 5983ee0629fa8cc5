import { toHex } from '../base/hex.ts';
import { keccak256 } from './keccak.ts';

/**
 * Identifies an entry of the ledger by its journal record: the market determines the shard, and a shard uses a sequence
 * number once. It is the `tx_hash` of a claim (RULES.md 3.4).
 */
export function entryHash(marketId: string, shardSequence: number): string {
  return toHex(keccak256(new TextEncoder().encode(`${marketId}/${shardSequence}`)));
}
