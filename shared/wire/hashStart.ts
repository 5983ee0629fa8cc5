/**
 * The first 18 bytes of an order's hash as the three numbers of a reply: the shard has computed the hash, and its
 * sender finds the order in history by them. All three are 0 where a reply names no order.
 */
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

/** The bytes again, or null. */
export function hashStartOf(reply: { readonly a: number; readonly b: number; readonly c: number }): Uint8Array | null {
  if (reply.a === 0 && reply.b === 0 && reply.c === 0) return null;
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
