/** What a shard refused, as the documented body. */
import { E, errorRow } from '../shared/errors.ts';
import type { Call } from './call.ts';
import type { EngineReply } from './engineClient.ts';
import { fail } from './respond.ts';

/** What a request would have had to reserve. */
export type ReservedAsset = 'USDC' | 'TOKEN';

/** The numbers that came with the refusal say what would have been right (RULES.md 6). */
export function refuse(call: Call, reply: EngineReply, asset: ReservedAsset): void {
  const row = errorRow(reply.code);
  switch (reply.code) {
    case E.FEE_RATE_MISMATCH:
      fail(call, row, { message: `${row.message}: expected ${reply.a}` });
      break;
    case E.INSUFFICIENT_BALANCE:
      fail(call, row, {
        details: { asset, required: String(reply.a), available: String(reply.b), reserved: String(reply.c) },
      });
      break;
    default:
      fail(call, row);
  }
}

/** For requests that reserve nothing, and for commands that found no room. */
export function refuseCode(call: Call, code: number): void {
  fail(call, errorRow(code));
}
