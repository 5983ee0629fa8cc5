/** Path parameters of the trading routes; a function that returns null has answered the call. */
import { ERRORS } from '../../shared/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../shared/hex.ts';
import type { Call } from '../call.ts';
import type { Catalog, MarketEntry } from '../control/catalog.ts';
import { fail, type Refusal } from '../respond.ts';
import type { Views } from '../views/index.ts';

export type MarketDeps = { readonly catalog: Pick<Catalog, 'byId'>; readonly views: Views };

/** Whatever is not the id of a market names none: malformed or unknown, the answer is the same. */
export function requireMarketParam(call: Call, deps: MarketDeps, name: string): MarketEntry | null {
  return requireMarket(call, deps, call.params[name]!);
}

/** A market that the catalogue knows and its shard has opened. */
export function requireMarket(call: Call, { catalog, views }: MarketDeps, id: string): MarketEntry | null {
  const market = catalog.byId(id.toLowerCase());
  if (market !== undefined && views.markets.has(market.index)) return market;
  fail(call, ERRORS.MARKET_NOT_FOUND);
  return null;
}

export const INVALID_HASH: Refusal = { row: ERRORS.VALIDATION_ERROR, options: { message: 'invalid order hash' } };

/** The 32 bytes of `:hash` into `out`; false when the call was answered. */
export function requireHashParam(call: Call, out: Uint8Array): boolean {
  const text = call.params['hash']!;
  if (tryParseHex(text, HASH_BYTES, out, 0)) return true;
  const details = { field: 'hash', rule: 'format', value: text.slice(0, 100) };
  fail(call, INVALID_HASH.row, { ...INVALID_HASH.options, details });
  return false;
}
