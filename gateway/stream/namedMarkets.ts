/** The markets that a message names. */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Catalog, MarketEntry } from '../markets/catalog.ts';
import type { Views } from '../shardlink/views.ts';
import type { StreamFeeds } from './feeds.ts';
import { MAX_MARKETS } from './frames.ts';

export type SubscribingOptions = {
  readonly feeds: StreamFeeds;
  readonly views: Pick<Views, 'markets'>;
  readonly catalog: Pick<Catalog, 'byId' | 'eventById'>;
};
/** The things that were named, or the reason for their refusal. */
export type Found<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

export const TOO_MANY_MARKETS: Refusal = {
  row: ERRORS.INVALID_REQUEST,
  message: `too many markets (max ${MAX_MARKETS})`,
};

/** By index; only markets that their shards have opened are known. */
export function marketsNamed(
  { catalog, views }: SubscribingOptions,
  names: readonly string[] = [],
  field: string,
): Found<Map<number, MarketEntry>> {
  const markets = new Map<number, MarketEntry>();
  for (const name of names) {
    const market = catalog.byId(name.toLowerCase());
    if (market === undefined || !views.markets.has(market.index)) {
      const details = { field: `data.${field}`, rule: 'known', value: name };
      return { ok: false, refusal: { row: ERRORS.MARKET_NOT_FOUND, details } };
    }
    markets.set(market.index, market);
  }
  return { ok: true, value: markets };
}

/** Returns the value that a map by market has for this one. */
export function givenFor(values: Readonly<Record<string, number>> | undefined, marketId: string): number | undefined {
  const name = Object.keys(values ?? {}).find((given) => given.toLowerCase() === marketId);
  return name === undefined ? undefined : values![name];
}
