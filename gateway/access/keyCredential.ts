/** An API key: it signs each request, body and all, and each request once (RULES.md 4). */
import { ERRORS } from '../../shared/base/errors.ts';
import { clientAddress, peerSubject } from '../base/clientAddress.ts';
import { isWithin } from '../base/networks.ts';
import type { ApiKey } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Unauthenticated } from './authenticator.ts';
import type { Asked, Credential, Early, Gate } from './credential.ts';

export const MAX_CONNECTIONS_PER_KEY = 5;

const BLOCKED: Unauthenticated = { ok: false, row: ERRORS.IP_BLOCKED, details: { step: 'address' } };
const LACKS: Refusal = { row: ERRORS.INSUFFICIENT_SCOPE };

export const KEY_CREDENTIAL: Credential<ApiKey, ApiKey> = {
  ended: { ok: false, row: ERRORS.API_KEY_REVOKED, details: { step: 'api_key' } },
  mostSockets: MAX_CONNECTIONS_PER_KEY,

  admit(gate, offering, nowMs, mayBeEarly) {
    const admitted = gate.authenticator.admit(offering, nowMs, mayBeEarly);
    return admitted.ok ? admitted.key : admitted;
  },

  identify(gate, offered, asked, { route, rights }) {
    const { method, target, bodyBytes, startedMs, headers, ahead } = asked;
    const { authenticator } = gate;
    const by = ahead?.verifiedWith;
    const result = authenticator.verify(offered, headers, method, target, bodyBytes, startedMs, by);
    if (!result.ok) return result;
    const { key } = result;
    const early = route.early === undefined ? null : authenticator.earlyRefusal(key, headers, startedMs);
    if (early !== null && !servesEarly(gate, route.early)) {
      if (route.early === 'noted' && this.lacks(key, rights) === null) gate.onRefusedBeat?.(key.accountIndex);
      return early;
    }
    if (isAllowedFrom(gate, key, asked)) return key;
    this.giveBack(gate, key, asked);
    return BLOCKED;
  },

  isInForce({ authenticator }, key, nowMs) {
    return (key.expiresAtMs === null || key.expiresAtMs > nowMs) && authenticator.isInForce(key);
  },

  /**
   * From now on the address may use the reserved connections. A session does not suffice, because anyone can sign up.
   */
  entered({ connectionLimits }, { keyId, accountIndex }, { startedMs, transport }) {
    const signed = connectionLimits?.signed;
    if (signed?.isDue(keyId, startedMs)) signed.note(accountIndex, peerSubject(transport.peer()));
  },

  lacks: ({ scopes }, { scope }) => ((scopes & scope) === scope ? null : LACKS),

  count: (limiter, key, route, nowMs) => limiter.countKey(key, route, nowMs),

  giveBack: ({ authenticator }, key, { headers }) => authenticator.giveBack(key, headers),

  ownQuota: (key) => key,

  socketOwner: ({ keyId }) => keyId,

  /** It signs every request, so each request is a fresh proof. */
  provedMs: (_key, nowMs) => nowMs,
};

function servesEarly({ isSetBack }: Gate, early: Early | undefined): boolean {
  return early === 'carriedOut' || (early === 'whileSetBack' && isSetBack?.() === true);
}

/** Checked only after the signature, so that a key's list of networks stays unknown to others. */
function isAllowedFrom({ config }: Gate, { allowedNetworks }: ApiKey, { transport }: Asked): boolean {
  if (allowedNetworks === null) return true;
  return isWithin(allowedNetworks, clientAddress(transport.peer(), transport.forwardedFor, config.trustProxy));
}
