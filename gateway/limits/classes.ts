/**
 * How many requests a window admits. Classes are for anonymous and administrator traffic, per address and endpoint;
 * a key has its tier or its override instead, on every endpoint alike, counted per endpoint.
 */

export type Limit = { readonly requests: number; readonly windowSec: number };

export type Tier = 'standard' | 'premium' | 'market_maker';

export const TIER_LIMITS: Readonly<Record<Tier, Limit>> = {
  standard: perSecond(10),
  premium: perSecond(50),
  market_maker: perSecond(100),
};

export const LIMIT_CLASSES = {
  /** Probes of a load balancer: a refusal would take a healthy server out of service. */
  unlimited: null,
  unlisted: perMinute(30),
  marketList: perMinute(100),
  market: perMinute(200),
  placeOrder: perSecond(10),
  orderByHash: perSecond(20),
  massCancel: perSecond(2),
  createMarket: perMinute(10),
  resolveMarket: perMinute(5),
} as const satisfies Record<string, Limit | null>;

export type LimitClass = keyof typeof LIMIT_CLASSES;

function perSecond(requests: number): Limit {
  return { requests, windowSec: 1 };
}

function perMinute(requests: number): Limit {
  return { requests, windowSec: 60 };
}
