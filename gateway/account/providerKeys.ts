/**
 * The keys of a provider, fetched when a token needs one (RULES.md 15.32).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   PROVIDERKEYS-1  However many tokens name unknown keys, the key set is fetched once in COOLDOWN_MS, and once in
 *                   FAILED_MS while fetching fails: clients cannot make the exchange flood a provider.
 */
import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from 'jose';
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote';
import { errorCode } from '../../shared/base/thrown.ts';
import { type ProviderCalls, ProviderDown } from '../http/providerCalls.ts';

/** A key that the provider withdraws stays valid for at most this long. */
const MAX_AGE_MS = 3_600_000;
/** A key that the provider adds stays unknown for at most this long. */
const COOLDOWN_MS = 60_000;
const FAILED_MS = 5000;
/** Errors that are caused by the token. */
const NO_KEY = new Set(['ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'ERR_JOSE_NOT_SUPPORTED']);

type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/** Finds the key of a token; throws ProviderDown, or `jose`'s error that there is no such key. */
export function providerKeys(url: URL, calls: Pick<ProviderCalls, 'send'>): FindKey {
  let failedMs = Number.NEGATIVE_INFINITY;
  const find = createRemoteJWKSet(url, {
    cacheMaxAge: MAX_AGE_MS,
    cooldownDuration: COOLDOWN_MS,
    [customFetch]: async (target, options) => {
      const sinceMs = Date.now() - failedMs;
      // A clock that was set back must not block fetching.
      if (sinceMs >= 0 && sinceMs < FAILED_MS) throw new ProviderDown('its keys could not be fetched just now');
      // Until the answer has been parsed as keys, it counts as a failure.
      failedMs = Date.now();
      return calls.send(target, options);
    },
  });
  return async (header, token) => {
    try {
      const key = await find(header, token);
      failedMs = Number.NEGATIVE_INFINITY;
      return key;
    } catch (error) {
      if (error instanceof ProviderDown) throw error;
      const code = errorCode(error);
      if (code !== undefined && NO_KEY.has(code)) throw error;
      throw new ProviderDown('its keys cannot be read');
    }
  };
}
