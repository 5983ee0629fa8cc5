/**
 * The requests that a window admits (RULES.md 4.6). Classes are for anonymous traffic, per address and endpoint, and
 * for sessions, per account and endpoint; a key has its tier or its override instead, the same on every endpoint,
 * counted per endpoint. Because placing and cancelling are different endpoints, neither can use up the limit of the
 * other.
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
  /** Probes of a load balancer: a refusal would take a healthy server out of service. */
  unlimited: null,
  unlisted: perMinute(30),
  /** The page and its files, of which a browser without a cache loads some forty at once. */
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
  /** cancel-all and cancel-market. */
  massCancel: perSecond(2),
  heartbeat: perSecond(1),
  deployMarket: perMinute(20),
  createMarket: perMinute(10),
  resolveMarket: perMinute(5),
  createOfframp: perMinute(5),
  createOnramp: perMinute(10),
  completeOnramp: perMinute(20),
  /** Events of all sessions come from the few addresses of a provider, and are signed. */
  providerEvent: perMinute(600),
  railRead: perSecond(20),
  railSend: perSecond(5),
  /** Cancellations of an account, whatever key sends them, and of an address. */
  railCancel: perMinute(10),
  railCancelOfAddress: perMinute(60),
  signIn: perMinute(10),
  refreshSession: perMinute(5),
  /** New accounts, of one address: a person needs one. */
  signUp: { requests: 50, windowSec: 86_400 },
} as const satisfies Record<string, Limit | null>;

export type LimitClass = keyof typeof LIMIT_CLASSES;

/** Routes that reduce risk, such as cancels, and heartbeats: never refused because a shared counter is unavailable. */
const MUST_PASS: ReadonlySet<LimitClass> = new Set(['cancelOrder', 'cancelBatch', 'massCancel', 'heartbeat']);

export function mustPass(limitClass: LimitClass): boolean {
  return MUST_PASS.has(limitClass);
}

/** A heartbeat is allowed once a second for every key; an override that is lower must not disarm the switch. */
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
