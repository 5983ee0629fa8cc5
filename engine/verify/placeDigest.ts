/** The EIP-712 digest of a PLACE or REPLACE command, computed directly from its record. */

import type { OrderHasher } from '../../shared/crypto/eip712.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';

const { COMMAND, kindSide } = commands;
const { PLACE } = COMMAND;

/** Writes 32 bytes at `outOffset` of `out`, which may be the command's own hash field. */
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
    at + PLACE.salt * 4,
    at + PLACE.makerAddress * 4,
    at + PLACE.signerAddress * 4,
    at + PLACE.tokenId * 4,
    readSafe(words, word + PLACE.makerAmount),
    readSafe(words, word + PLACE.takerAmount),
    readSafe(words, word + PLACE.expirationSec),
    readSafe(words, word + PLACE.nonce),
    words[word + PLACE.feeBps],
    readSafe(words, word + PLACE.minTakerNet),
    kindSide(words[word + PLACE.kind]),
    out,
    outOffset,
  );
}
