/** What a shard refused, as the documented body. */
import { E, errorRow } from '../shared/errors.ts';
import type { Call } from './call.ts';
import type { EngineReply } from './engineClient.ts';
import { fail, type Refusal } from './respond.ts';

/** What a request would have had to reserve. */
export type ReservedAsset = 'USDC' | 'TOKEN';

/** The numbers that came with the refusal say what would have been right (RULES.md 6). */
export function refusalOf(reply: EngineReply, asset: ReservedAsset): Refusal {
  const row = errorRow(reply.code);
  switch (reply.code) {
    case E.FEE_RATE_MISMATCH:
      return { row, options: { message: `${row.message}: expected ${reply.a}` } };
    case E.INSUFFICIENT_BALANCE: {
      const details = { asset, required: String(reply.a), available: String(reply.b), reserved: String(reply.c) };
      return { row, options: { details } };
    }
    default:
      return { row };
  }
}

export function refuse(call: Call, reply: EngineReply, asset: ReservedAsset): void {
  const { row, options } = refusalOf(reply, asset);
  fail(call, row, options);
}

/** For requests that reserve nothing, and for commands that found no room. */
export function refuseCode(call: Call, code: number): void {
  fail(call, errorRow(code));
}
