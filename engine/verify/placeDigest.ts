/** The EIP-712 digest of a PLACE or REPLACE command, straight from its record. */
import * as commands from '../../shared/commands.ts';
import type { OrderHasher } from '../../shared/eip712.ts';
import { readSafe } from '../../shared/record.ts';

// Own constants for speed: see emit.ts.
const cmd = { ...commands };

/** Writes 32 bytes at `outOffset` of `out`, which may be the command's own PLACE_HASH. */
export function placeDigest(
  hasher: OrderHasher,
  words: Uint32Array,
  bytes: Uint8Array,
  word: number,
  out: Uint8Array,
  outOffset: number,
): void {
  const at = word * 4;
  hasher.digest(
    bytes,
    at + cmd.PLACE_SALT * 4,
    at + cmd.PLACE_MAKER * 4,
    at + cmd.PLACE_SIGNER * 4,
    at + cmd.PLACE_TOKEN_ID * 4,
    readSafe(words, word + cmd.PLACE_MAKER_AMOUNT),
    readSafe(words, word + cmd.PLACE_TAKER_AMOUNT),
    readSafe(words, word + cmd.PLACE_EXPIRATION_SEC),
    readSafe(words, word + cmd.PLACE_NONCE),
    words[word + cmd.PLACE_FEE_BPS]!,
    readSafe(words, word + cmd.PLACE_MIN_TAKER_NET),
    cmd.kindSide(words[word + cmd.PLACE_KIND]!),
    out,
    outOffset,
  );
}
