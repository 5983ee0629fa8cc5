/** The token ids of a market's outcomes, computed from the market's id. */
import { assert } from '../../shared/base/assert.ts';
import { UUID_BYTES, uint256ToDecimal, uuidToBytes } from '../../shared/base/hex.ts';
import { type MarketChain, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import { ConfigError } from '../base/config.ts';

export type TokenIds = readonly [yes: string, no: string];

export type TokenSource = {
  /** True if an administrator may give a market other ids than these. */
  readonly takesOthers: boolean;
  idsOf(idBytes: Uint8Array): TokenIds;
};

/** The tokens of a market without given ones, if the exchange is its own ledger. */
export const LEDGER_TOKENS: TokenSource = {
  takesOthers: true,
  idsOf: (idBytes) => [deriveTokenId(idBytes, 0), deriveTokenId(idBytes, 1)],
};

/** On a chain the contract of conditional tokens names them. */
export function chainTokens(chain: MarketChain): TokenSource {
  return { takesOthers: false, idsOf: (idBytes) => outcomeTokenIds(chain, idBytes) };
}

/** Throws ConfigError if the settings give markets other tokens. Checking the first market is enough. */
export function requireTokens({
  markets,
  tokens,
}: {
  readonly markets: readonly Tokens[];
  readonly tokens: TokenSource;
}) {
  if (tokens.takesOthers || markets.length === 0) return;
  const { idBytes, yesTokenId } = markets[0];
  if (tokens.idsOf(idBytes)[0] === yesTokenId) return;
  throw new ConfigError(
    'MARKET_FACTORY_ADDRESS, USDC_ADDRESS: the markets of this data directory belong to other contracts',
  );
}

type Tokens = { readonly idBytes: Uint8Array; readonly yesTokenId: string };

export function toIdBytes(id: string): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  const isUuid = uuidToBytes(id, bytes, 0);
  assert(isUuid, 'catalog: a market id is a UUID');
  return bytes;
}

/**
 * The token id of an outcome: keccak-256 of the market's id and the outcome, as a 256-bit number. Two markets never
 * share one, and anyone can compute it, as on a chain.
 */
function deriveTokenId(idBytes: Uint8Array, outcome: 0 | 1): string {
  const preimage = new Uint8Array(UUID_BYTES + 1);
  preimage.set(idBytes);
  preimage[UUID_BYTES] = outcome;
  return uint256ToDecimal(keccak256(preimage));
}
