/**
 * The first 18 bytes of an order's hash as the three numbers of a reply. It refuses an order which comes too late, or
 * one of which the shard cannot read whether it has accepted it: the shard has computed the hash, and its sender finds
 * the order in history by them. All three are 0 where a reply names no order.
 */
import { E } from '../base/errors.ts';

export type OrderReply = { readonly code: number; readonly a: number; readonly b: number; readonly c: number };

/** The refusals that may name an order (engine/core/lateOrders.ts); ENGINE_BUSY is that of what cannot be read. */
const NAMING: ReadonlySet<number> = new Set([
  E.ORDER_TOMBSTONED,
  E.DEADLINE_PASSED,
  E.DUPLICATE_CLIENT_ORDER_ID,
  E.MARKET_NOT_ACTIVE,
  E.CANCEL_ONLY_PHASE,
  E.ORDER_EXPIRED,
  E.ENGINE_BUSY,
]);

/** In place of the start of a hash: the signature was looked at, and is wrong. */
export const WRONGLY_SIGNED: readonly [number, number, number] = [0, 0, 1];

const NUMBERS = 3;
const NUMBER_BYTES = 6;

export const HASH_START_BYTES = NUMBERS * NUMBER_BYTES;

export function hashStartIn(bytes: Uint8Array, at: number): [number, number, number] {
  const number = (from: number): number => {
    let value = 0;
    for (let i = 0; i < NUMBER_BYTES; i++) value = value * 256 + bytes[from + i];
    return value;
  };
  return [number(at), number(at + NUMBER_BYTES), number(at + 2 * NUMBER_BYTES)];
}

/** True if the shard has found the signature of the order wrong, whatever it refused the order for. */
export function isWronglySigned({ code, a, b, c }: OrderReply): boolean {
  if (code === E.INVALID_SIGNATURE) return true;
  return a === WRONGLY_SIGNED[0] && b === WRONGLY_SIGNED[1] && c === WRONGLY_SIGNED[2] && NAMING.has(code);
}

/** The start of the hash of an order that may have been accepted and forgotten, or null. */
export function hashStartOf(reply: OrderReply): Uint8Array | null {
  const isNamed = (reply.a !== 0 || reply.b !== 0 || reply.c !== 0) && NAMING.has(reply.code);
  if (!isNamed || isWronglySigned(reply)) return null;
  const bytes = new Uint8Array(HASH_START_BYTES);
  for (const [index, number] of [reply.a, reply.b, reply.c].entries()) {
    let left = number;
    for (let i = NUMBER_BYTES - 1; i >= 0; i--) {
      bytes[index * NUMBER_BYTES + i] = left % 256;
      left = Math.floor(left / 256);
    }
  }
  return bytes;
}
