/** Path parameters that several routes share; a function that returns null has answered the call. */
import { HASH, UUID } from '../../../shared/api/fields.ts';
import { ERRORS } from '../../../shared/base/errors.ts';
import { HASH_BYTES, tryParseHex } from '../../../shared/base/hex.ts';
import type { Call } from '../../http/call.ts';
import type { Refusal } from '../../http/refusal.ts';
import { refuse } from '../../http/respond.ts';
import type { MarketEntry } from '../../store/catalog.ts';
import type { TradedMarket } from '../../store/catalogEntries.ts';
import type { Views } from '../../views/index.ts';

export type MarketDeps<M extends TradedMarket = MarketEntry> = {
  readonly catalog: { byId(id: string): M | undefined };
  readonly views: Views;
};

/** Path parameters as the document shows them. */
export const ID_PARAM = { id: UUID } as const;
export const MARKET_ID_PARAM = { market_id: UUID } as const;
export const HASH_PARAM = { hash: HASH } as const;

/** A market that is in the catalogue and that its shard has opened. A malformed id is answered as an unknown one. */
export function requireMarket<M extends TradedMarket>(
  call: Call,
  { catalog, views }: MarketDeps<M>,
  id: string,
): M | null {
  // Nearly all ids are in lower case, and the text of a path that is asked for again has its hash already.
  const market = catalog.byId(id) ?? catalog.byId(id.toLowerCase());
  if (market !== undefined && views.markets.has(market.index)) return market;
  refuse(call, { row: ERRORS.MARKET_NOT_FOUND });
  return null;
}

export const INVALID_HASH: Refusal = { row: ERRORS.VALIDATION_ERROR, message: 'invalid order hash' };

type HashCall = Call & { readonly params: { readonly hash: string } };

/** Writes the 32 bytes of `:hash` to `out`; false when the call was refused. */
export function requireHash(call: HashCall, out: Uint8Array): boolean {
  const { hash } = call.params;
  if (tryParseHex(hash, HASH_BYTES, out, 0)) return true;
  const details = { field: 'hash', rule: 'format', value: hash.slice(0, 100) };
  refuse(call, { ...INVALID_HASH, details });
  return false;
}
