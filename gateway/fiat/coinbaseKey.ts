/**
 * The API key of Coinbase's developer platform and the tokens made with it: a JWT for each request, that names its
 * method and path and is good for two minutes. There are two kinds of key: Ed25519, as the base64 of seed and public
 * key, and P-256, as a PEM.
 */
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';

const ISSUER = 'cdp';
const AUDIENCE = ['cdp_service'];
const LIFETIME_SEC = 120;
const ED25519_BYTES = 64;
const SEED_BYTES = 32;
const NONCE_BYTES = 16;

type Algorithm = 'EdDSA' | 'ES256';

export class CoinbaseKey {
  readonly #id: string;
  readonly #key: KeyObject;
  readonly #algorithm: Algorithm;

  private constructor(id: string, key: KeyObject, algorithm: Algorithm) {
    this.#id = id;
    this.#key = key;
    this.#algorithm = algorithm;
  }

  /** Null where the secret is neither form of key. In one line, as environments have it, line breaks are written \n. */
  static tryParse(id: string, secret: string): CoinbaseKey | null {
    try {
      if (!secret.includes('-----BEGIN')) return CoinbaseKey.#ofSeed(id, Buffer.from(secret, 'base64'));
      const key = createPrivateKey(secret.replaceAll('\\n', '\n'));
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? new CoinbaseKey(id, key, 'ES256') : null;
    } catch {
      return null;
    }
  }

  static #ofSeed(id: string, bytes: Buffer): CoinbaseKey | null {
    if (bytes.length !== ED25519_BYTES) return null;
    const x = bytes.subarray(SEED_BYTES).toString('base64url');
    const d = bytes.subarray(0, SEED_BYTES).toString('base64url');
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
    // The key also contains its public half: a mismatch reveals mixed-up bytes.
    const isWhole = createPublicKey(key).export({ format: 'jwk' }).x === x;
    return isWhole ? new CoinbaseKey(id, key, 'EdDSA') : null;
  }

  /** @param url its query is not part of the token's purpose */
  token(method: 'GET' | 'POST', url: URL, nowMs: number): Promise<string> {
    const nowSec = Math.floor(nowMs / 1000);
    return new SignJWT({ uris: [`${method} ${url.host}${url.pathname}`] })
      .setProtectedHeader({
        alg: this.#algorithm,
        kid: this.#id,
        typ: 'JWT',
        nonce: randomBytes(NONCE_BYTES).toString('hex'),
      })
      .setSubject(this.#id)
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setIssuedAt(nowSec)
      .setNotBefore(nowSec)
      .setExpirationTime(nowSec + LIFETIME_SEC)
      .sign(this.#key);
  }
}
