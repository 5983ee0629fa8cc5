/** The refusal of a shard, with the numbers of its reply as the documented message or details. */
import { E, errorRow } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { ShardReply } from './reply.ts';

/** The funds that a request needs. */
type ReservedAsset = 'USDC' | 'TOKEN';

/** The reply's numbers show what would have been accepted (RULES.md 6). */
export function refusalOf(reply: ShardReply, asset: ReservedAsset): Refusal {
  const row = errorRow(reply.code);
  switch (reply.code) {
    case E.FEE_RATE_MISMATCH:
      return { row, message: `${row.message}: expected ${reply.a}`, isOfShard: true };
    case E.NONCE_BELOW_FLOOR:
      return { row, details: { nonce_floor: reply.a }, isOfShard: true };
    case E.INSUFFICIENT_BALANCE: {
      const details = { asset, required: String(reply.a), available: String(reply.b), reserved: String(reply.c) };
      return { row, details, isOfShard: true };
    }
    case E.REMAINING_CHANGED:
      return { row, details: { remaining: String(reply.a) }, isOfShard: true };
    default:
      return { row, isOfShard: true };
  }
}
