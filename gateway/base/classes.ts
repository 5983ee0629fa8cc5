/**
 * The number of requests that each window admits (RULES.md 4.6). Classes limit anonymous traffic by address and
 * endpoint, and sessions by account and endpoint. A key has its tier or its override instead: the same limit on every
 * endpoint, counted per endpoint. Placing and cancelling are different endpoints, so neither can use up the limit of
 * the other.
 */
import { TIER_REQUESTS_PER_SECOND, type TierName } from '../../shared/api/accounts.ts';

export type Limit = { readonly requests: number; readonly windowSec: number };

export type Tier = TierName;

/** The parts of a key that decide its limit. */
export type KeyQuota = { readonly keyId: string; readonly tier: Tier; readonly rateLimitOverride: Limit | null };

export const TIER_LIMITS: Readonly<Record<Tier, Limit>> = {
  standard: perSecond(TIER_REQUESTS_PER_SECOND.standard),
  premium: perSecond(TIER_REQUESTS_PER_SECOND.premium),
  market_maker: perSecond(TIER_REQUESTS_PER_SECOND.market_maker),
};

export const LIMIT_CLASSES = {
  /** Probes of a load balancer are never limited: a refusal would take a healthy server out of service. */
  unlimited: null,
  unlisted: perMinute(30),
  /** The page and its files; a browser without a cache loads about forty at once. */
  page: perMinute(600),
  marketList: perMinute(100),
  market: perMinute(200),
  bestPrices: perMinute(100),
  /** POST /v1/orders, cancel-replace and amend. */
  placeOrder: perSecond(10),
  placeBatch: perSecond(5),
  orderByHash: perSecond(20),
  cancelOrder: perSecond(20),
  cancelBatch: perSecond(5),
  /** Routes cancel-all and cancel-market. */
  massCancel: perSecond(2),
  heartbeat: perSecond(1),
  deployMarket: perMinute(20),
  createMarket: perMinute(10),
  resolveMarket: perMinute(5),
  createOfframp: perMinute(5),
  createOnramp: perMinute(10),
  completeOnramp: perMinute(20),
  /** Events of all sessions come from a provider's few addresses, and are signed. */
  providerEvent: perMinute(600),
  railRead: perSecond(20),
  railSend: perSecond(5),
  /** Cancellations, counted by account for all of its keys, and by address. */
  railCancel: perMinute(10),
  railCancelOfAddress: perMinute(60),
  signIn: perMinute(10),
  refreshSession: perMinute(5),
  /** New accounts per address: a person needs one. */
  signUp: { requests: 50, windowSec: 86_400 },
} as const satisfies Record<string, Limit | null>;

export type LimitClass = keyof typeof LIMIT_CLASSES;

/**
 * Routes that reduce risk, such as cancels, and heartbeats: a request is not refused because a shared counter is
 * unavailable.
 */
const MUST_PASS: ReadonlySet<LimitClass> = new Set(['cancelOrder', 'cancelBatch', 'massCancel', 'heartbeat']);

export function mustPass(limitClass: LimitClass): boolean {
  return MUST_PASS.has(limitClass);
}

/** Every key may send a heartbeat a second; a lower override must not disarm the switch. */
export function limitOfKey(key: Pick<KeyQuota, 'tier' | 'rateLimitOverride'>, limitClass: LimitClass): Limit | null {
  if (LIMIT_CLASSES[limitClass] === null) return null;
  if (limitClass === 'heartbeat') return LIMIT_CLASSES.heartbeat;
  return key.rateLimitOverride ?? TIER_LIMITS[key.tier];
}

function perSecond(requests: number): Limit {
  return { requests, windowSec: 1 };
}

function perMinute(requests: number): Limit {
  return { requests, windowSec: 60 };
}
