/**
 * Positions: the tokens of every account in every outcome, their cost, and the gain realized on them (RULES.md 13.9).
 * Accounts that trade without collateral may owe tokens: quantity and cost are negative then.
 *
 * position_hours has the quantity of a position before its first change in an hour. So the quantity at the start of an
 * hour is that of the first row from then on, or the present quantity if there is no such row. Before a position was
 * opened its quantity was zero, so the hour of the opening has no row. Most positions are opened once and paid once, so
 * most have one row here or none.
 */
import { BIG_INTEGER, INTEGER, table } from './table.ts';

/**
 * Tokens that were held when the history of read.db began have an unknown cost (RULES.md 10.18). It is 0 here, so that
 * sums over time still close.
 */
export const COST_BASIS = {
  KNOWN: 0,
  /** The held tokens may include such tokens: neither an average entry nor a gain is known. */
  UNKNOWN: 1,
  /** Such tokens have left since: the held tokens have a known cost, but the realized gain includes the others. */
  RECOVERED: 2,
} as const;

const KEY = { account: INTEGER, market: INTEGER, outcome: INTEGER };

export const POSITIONS = table(
  'positions',
  {
    ...KEY,
    quantity_atomic: BIG_INTEGER,
    /** The weight of the average entry price: the held tokens as they were before fees, in thousandths. */
    gross_milli: BIG_INTEGER,
    /** The average entry price, in 10^-18 USDC per token. */
    entry_atto: BIG_INTEGER,
    cost_micro: BIG_INTEGER,
    realized_micro: BIG_INTEGER,
    /** 1 once tokens were paid out by a claim or by the settlement. */
    is_paid: INTEGER,
    /** 1 once a trade changed it; a split alone is not a trade. */
    has_traded: INTEGER,
    /** COST_BASIS. */
    cost_basis: INTEGER,
    /** The times of the records that changed the position first and last. */
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
