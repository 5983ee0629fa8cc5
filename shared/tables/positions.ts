/**
 * Positions: the tokens of every account in every outcome, their cost, and what was realized on them (RULES.md 13.9).
 * Accounts that trade on credit in a rehearsal may owe tokens: quantity and cost are negative then.
 *
 * position_hours has the quantity that a position had before its first change in an hour, so the quantity at the start
 * of an hour is that of the first row from then on, or the present one. A position was nothing until it was opened: the
 * hour of that has no row. Most positions are opened once and paid once, so most have one row here or none.
 */
import { BIG_INTEGER, INTEGER, table } from './table.ts';

/**
 * Tokens that were held when the history of read.db began have an unknown cost (RULES.md 10.18). It is 0 here, so that
 * sums over time still close.
 */
export const COST_BASIS = {
  KNOWN: 0,
  /** Such tokens may be among those that are held: neither an average entry nor a gain can be given. */
  UNKNOWN: 1,
  /** They have left since: what is held has a known cost, what was realized includes theirs. */
  RECOVERED: 2,
} as const;

const KEY = { account: INTEGER, market: INTEGER, outcome: INTEGER };

export const POSITIONS = table(
  'positions',
  {
    ...KEY,
    quantity_atomic: BIG_INTEGER,
    /** The weight of the average entry price: tokens before fees, of those that are held, in thousandths. */
    gross_milli: BIG_INTEGER,
    /** The average entry price, in 10^-18 USDC per token. */
    entry_atto: BIG_INTEGER,
    cost_micro: BIG_INTEGER,
    realized_micro: BIG_INTEGER,
    /** 1 once tokens were turned into what they pay, by a claim or by the settlement. */
    is_paid: INTEGER,
    /** 1 once a trade changed it: tokens of a split alone are no trade. */
    has_traded: INTEGER,
    /** COST_BASIS. */
    cost_basis: INTEGER,
    /** Of the record that changed the position first, and last. */
    opened_ms: INTEGER,
    changed_ms: INTEGER,
  },
  { primaryKey: 'account, market, outcome', withoutRowid: true },
);

export const POSITION_HOURS = table(
  'position_hours',
  { ...KEY, hour_ms: INTEGER, quantity_atomic: BIG_INTEGER },
  { primaryKey: 'account, market, outcome, hour_ms', withoutRowid: true },
);
