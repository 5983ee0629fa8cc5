/**
 * The form of refresh tokens (RULES.md 15.4), and how a successor is kept for tabs that race. A client sees base64url:
 *
 *   session id (16) | generation (4) | random secret (32) | tag (16)
 *
 * The tag is a MAC under a secret of the exchange. A token with a correct tag was issued by it, so a repeated
 * generation means that two parties have had the token. Without the tag, a forged token could end any session whose id
 * is known. Only the hash of a token is stored, and its successor is sealed under the token itself: the stored data
 * reveals neither.
 */
import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { bytesToUuid, UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { openSecret, sealSecret } from '../../shared/crypto/secretBox.ts';

const GENERATION_BYTES = 4;
const SECRET_BYTES = 32;
const TAG_BYTES = 16;
const SIGNED_BYTES = UUID_BYTES + GENERATION_BYTES + SECRET_BYTES;
const TOKEN_BYTES = SIGNED_BYTES + TAG_BYTES;
const FORM = /^[A-Za-z0-9_-]{91}$/;
const SEAL = 'successor of a refresh token';

type ParsedToken = { readonly sessionId: string; readonly generation: number };

export class RefreshTokens {
  readonly #key: Buffer;

  constructor(secret: Uint8Array) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'refresh tokens', 32));
  }

  make(sessionId: string, generation: number): string {
    const token = Buffer.alloc(TOKEN_BYTES);
    uuidToBytes(sessionId, token, 0);
    token.writeUInt32BE(generation, UUID_BYTES);
    randomBytes(SECRET_BYTES).copy(token, UUID_BYTES + GENERATION_BYTES);
    this.#tagOf(token).copy(token, SIGNED_BYTES);
    return token.toString('base64url');
  }

  /** Null for a text that this exchange never issued. */
  parse(text: string): ParsedToken | null {
    if (!FORM.test(text)) return null;
    const token = Buffer.from(text, 'base64url');
    // The last character has bits that do not count, so a second spelling would decode to the same bytes.
    if (token.toString('base64url') !== text) return null;
    if (!timingSafeEqual(this.#tagOf(token), token.subarray(SIGNED_BYTES))) return null;
    return { sessionId: bytesToUuid(token, 0), generation: token.readUInt32BE(UUID_BYTES) };
  }

  #tagOf(token: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(token.subarray(0, SIGNED_BYTES)).digest().subarray(0, TAG_BYTES);
  }
}

export function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

export function sealSuccessor(token: string, successor: string): Buffer {
  return sealSecret(keyOf(token), SEAL, Buffer.from(successor));
}

export function openSuccessor(token: string, sealed: Uint8Array): string {
  return openSecret(keyOf(token), SEAL, sealed).toString();
}

function keyOf(token: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, '', SEAL, 32));
}
