/** Finds the market that a path names; null means that the request has been answered. */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call } from '../http/call.ts';
import { refuse } from '../http/respond.ts';
import type { Views } from '../shardlink/views.ts';
import type { MarketEntry } from './catalog.ts';
import type { TradedMarket } from './catalogEntries.ts';

export type MarketDeps<M extends TradedMarket = MarketEntry> = {
  readonly catalog: { byId(id: string): M | undefined };
  readonly views: Views;
};

/** A market that is in the catalogue and that its shard has opened. A malformed id is answered like an unknown one. */
export function requireMarket<M extends TradedMarket>(
  call: Call,
  { catalog, views }: MarketDeps<M>,
  id: string,
): M | null {
  // Nearly all ids are in lower case, and V8 has the hash of a repeated path's text already.
  const market = catalog.byId(id) ?? catalog.byId(id.toLowerCase());
  if (market !== undefined && views.markets.has(market.index)) return market;
  refuse(call, { row: ERRORS.MARKET_NOT_FOUND });
  return null;
}
