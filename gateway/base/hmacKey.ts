/**
 * HMAC-SHA256 for a key that checks many short texts (RFC 2104): the two blocks derived from the key are computed once,
 * and a check is two one-shot hashes over a module-wide buffer. A Hmac object of node:crypto for each request would
 * cost two to four times as much. Owner: the thread that checks; the buffers are shared by all keys, so no function
 * here may be asynchronous.
 *
 * Invariant:
 *   HMACKEY-1  Each key made from a secret has a number of its own in this process. Its copies, with which front
 *              threads check, have the same number, so the number names the secret of a check.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';

export const HMAC_BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** 32 bytes in base64, with and without its padding. */
const SIGNATURE_LENGTHS = [43, 44];
const MAX_BYTES_PER_CHARACTER = 3;
/** A number that no key has. */
export const NO_SECRET = 0;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

const outer = Buffer.alloc(HMAC_BLOCK_BYTES + DIGEST_BYTES);
const expected = Buffer.alloc(DIGEST_BYTES);
/** One byte more than a digest: a text that decodes to more bytes must not look like a digest. */
const given = Buffer.alloc(DIGEST_BYTES + 1);
const givenDigest = given.subarray(0, DIGEST_BYTES);
/** Key block and message; it grows to the longest message so far. */
let inner = Buffer.alloc(1024);

let lastNumber = NO_SECRET;

/** A key for another thread. */
type HmacKeyCopy = {
  readonly number: number;
  readonly innerBlock: Uint8Array;
  readonly outerBlock: Uint8Array;
};

export class HmacKey {
  readonly #number: number;
  readonly #innerBlock: Uint8Array;
  readonly #outerBlock: Uint8Array;

  constructor(secret: Uint8Array | HmacKeyCopy) {
    if ('number' in secret) {
      this.#number = secret.number;
      this.#innerBlock = secret.innerBlock;
      this.#outerBlock = secret.outerBlock;
      return;
    }
    const key = secret.length > HMAC_BLOCK_BYTES ? hash('sha256', secret, 'buffer') : secret;
    this.#number = ++lastNumber;
    this.#innerBlock = padded(key, INNER_PAD);
    this.#outerBlock = padded(key, OUTER_PAD);
  }

  /** HMACKEY-1. */
  get number(): number {
    return this.#number;
  }

  get copy(): HmacKeyCopy {
    return { number: this.#number, innerBlock: this.#innerBlock, outerBlock: this.#outerBlock };
  }

  /**
   * True if `signature` (base64 in either alphabet, padded or not) is the HMAC of the text, as UTF-8, followed by the
   * bytes. Digests are compared in constant time.
   */
  accepts(signature: string, text: string, body: Uint8Array): boolean {
    if (!SIGNATURE_LENGTHS.includes(signature.length)) return false;
    if (given.write(signature, 'base64') !== DIGEST_BYTES) return false;
    reserve(HMAC_BLOCK_BYTES + text.length * MAX_BYTES_PER_CHARACTER + body.length);
    inner.set(this.#innerBlock);
    let end = HMAC_BLOCK_BYTES + inner.write(text, HMAC_BLOCK_BYTES);
    if (body.length > 0) inner.set(body, end);
    end += body.length;
    outer.set(this.#outerBlock);
    // Digests are texts with one byte per character: allocating Buffers would cost more than hashing.
    outer.write(hash('sha256', inner.subarray(0, end), 'binary'), HMAC_BLOCK_BYTES, 'binary');
    expected.write(hash('sha256', outer, 'binary'), 'binary');
    return timingSafeEqual(givenDigest, expected);
  }
}

function padded(key: Uint8Array, pad: number): Uint8Array {
  assert(key.length <= HMAC_BLOCK_BYTES, 'hmac: a longer key is hashed first');
  const block = new Uint8Array(HMAC_BLOCK_BYTES).fill(pad);
  for (let index = 0; index < key.length; index++) block[index] ^= key[index];
  return block;
}

function reserve(bytes: number): void {
  if (inner.length < bytes) inner = Buffer.alloc(2 * bytes);
}
