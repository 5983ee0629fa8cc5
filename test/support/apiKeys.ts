/** API keys as the store gives them to the gateway. Without other changes all have the same secret and passphrase. */

import { HmacKey } from '../../gateway/base/hmacKey.ts';
import { Passphrase, sealPassphrase } from '../../gateway/base/passphrase.ts';
import type { ApiKey } from '../../gateway/base/principal.ts';
import type { Credentials } from '../../shared/client/credentials.ts';

export const SECRET = Buffer.alloc(32, 7);
export const PASSPHRASE = 'passphrase-of-the-test';

/** A standard key of this account that may do nothing, unless `changes` say more. */
export function apiKey(accountIndex: number, changes: Partial<ApiKey> = {}): ApiKey {
  return {
    kind: 'apiKey',
    keyId: `key-${accountIndex}`,
    accountIndex,
    userId: `user-${accountIndex}`,
    secret: new HmacKey(SECRET),
    passphrase: new Passphrase(sealPassphrase(PASSPHRASE)),
    scopes: 0,
    revoked: false,
    expiresAtMs: null,
    requireSigningVersion: null,
    tier: 'standard',
    rateLimitOverride: null,
    selfTradePrevention: 0,
    allowedNetworks: null,
    ...changes,
  };
}

/** The credentials with which a client uses such a key. */
export function credentialsOf({ keyId }: ApiKey): Credentials {
  return { keyId, secret: SECRET.toString('base64url'), passphrase: PASSPHRASE };
}
