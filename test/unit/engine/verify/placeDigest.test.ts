/** The digest that a shard checks equals that of the signed order, field by field (RULES.md 5.1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeDigest } from '../../../../engine/verify/placeDigest.ts';
import { OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { toHex, tryParseHex } from '../../../../shared/base/hex.ts';
import { hasherFor, orderDigest } from '../../../../shared/crypto/eip712.ts';
import { COMMAND, packKind } from '../../../../shared/wire/commands.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';

const { PLACE } = COMMAND;
const DOMAIN = { name: 'X', version: '1', chainId: 137, verifyingContract: `0x${'ab'.repeat(20)}` };

test('every field of a placement is hashed in its place', () => {
  const word = 3;
  const words = new Uint32Array(word + PLACE.BYTES / 4);
  const bytes = new Uint8Array(words.buffer);
  const [maker, signer] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`];
  const put = (hex: string, field: number, length: number) => tryParseHex(hex, length, bytes, (word + field) * 4);
  put(maker, PLACE.makerAddress, 20);
  put(signer, PLACE.signerAddress, 20);
  bytes[(word + PLACE.salt) * 4 + 31] = 5;
  bytes[(word + PLACE.tokenId) * 4 + 31] = 6;
  const amounts = { makerAmount: 2 ** 40 + 1, takerAmount: 2 ** 41 + 3, expirationSec: 7, nonce: 8, minTakerNet: 9 };
  for (const [name, value] of Object.entries(amounts)) {
    writeSafe(words, word + PLACE[name as keyof typeof amounts], value);
  }
  words[word + PLACE.feeBps] = 50;
  for (const side of [SIDE.BUY, SIDE.SELL]) {
    words[word + PLACE.kind] = packKind(side, OUTCOME.NO, 0, 0);
    const digest = new Uint8Array(40);
    placeDigest(hasherFor(DOMAIN), words, bytes, word, digest, 8);
    const order = { salt: '5', maker, signer, tokenId: '6', ...amounts, feeRateBps: 50, side };
    assert.equal(toHex(digest, 8, 32), orderDigest(order, DOMAIN));
  }
});
