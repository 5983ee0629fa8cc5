/**
 * A trade as one of its parties sees it: the five canonical fields, together or not at all (RULES.md 14.6). They are
 * derived from the row alone. For a row that contradicts itself they are left out: a guess would look like a fact.
 */
import { MATCH_TYPE, SIDE, SIDE_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import { TRADES } from '../../shared/tables/trades.ts';
import type { MARKET } from '../markets/volumeQueries.ts';

export const TRADE = select(
  TRADES,
  'id',
  'market',
  'match_type',
  'yes_ticks',
  'lots',
  'maker_order_id',
  'maker_account',
  'maker_side',
  'maker_outcome',
  'maker_fee',
  'taker_order_id',
  'taker_account',
  'taker_side',
  'taker_outcome',
  'taker_fee',
  'matched_ms',
  'after_us',
);
export type TradeRow = SelectedBy<typeof TRADE> & SelectedBy<typeof MARKET>;

export type Party = Readonly<{
  party_order_id: string;
  party_side: (typeof SIDE_NAMES)[number];
  party_outcome_index: number;
  notional_usdc_micro: string;
  token_quantity_atomic: string;
}>;
export type NoParty = { readonly [Field in keyof Party]: null };

export const NO_PARTY: NoParty = {
  party_order_id: null,
  party_side: null,
  party_outcome_index: null,
  notional_usdc_micro: null,
  token_quantity_atomic: null,
};

export type Role = 'taker' | 'maker';

/** In a trade of an account with itself it is the taker; null for an account that is no party. */
export function roleOf({ taker_account, maker_account }: TradeRow, account: number): Role | null {
  if (taker_account === account) return 'taker';
  return maker_account === account ? 'maker' : null;
}

export function partyOf(row: TradeRow, role: Role | null): Party | NoParty {
  if (role === null || !isConsistent(row)) return NO_PARTY;
  const isTaker = role === 'taker';
  const outcome = isTaker ? row.taker_outcome : row.maker_outcome;
  return {
    party_order_id: bytesToUuid(isTaker ? row.taker_order_id : row.maker_order_id),
    party_side: SIDE_NAMES[isTaker ? row.taker_side : row.maker_side],
    party_outcome_index: outcome,
    notional_usdc_micro: String(mulSafe(row.lots, ownTicks(outcome, row.yes_ticks, row.ticks_per_unit))),
    token_quantity_atomic: tokensOf(row),
  };
}

/** Atomic tokens of each party, before fees. */
export function tokensOf({ lots, ticks_per_unit }: TradeRow): string {
  return String(mulSafe(lots, ticks_per_unit));
}

/** Checks that quantity, price, sides and outcomes agree with the kind of match that the row states. */
function isConsistent(row: TradeRow): boolean {
  if (row.lots <= 0 || row.yes_ticks <= 0 || row.yes_ticks >= row.ticks_per_unit) return false;
  const isSameSide = row.maker_side === row.taker_side;
  const isSameOutcome = row.maker_outcome === row.taker_outcome;
  switch (row.match_type) {
    case MATCH_TYPE.STANDARD:
      return !isSameSide && isSameOutcome;
    case MATCH_TYPE.MINT:
      return isSameSide && !isSameOutcome && row.taker_side === SIDE.BUY;
    case MATCH_TYPE.MERGE:
      return isSameSide && !isSameOutcome && row.taker_side === SIDE.SELL;
    default:
      return false;
  }
}
