/**
 * Positions: the tokens of every account in every outcome, their cost, and what was realized on them (RULES.md 13.9).
 * Accounts that trade on credit in a rehearsal may owe tokens: quantity and cost are negative then.
 *
 * position_hours and position_days have the quantity that a position had before its first change in an hour or a day,
 * so the quantity at the start of any such bucket is that of the first row from then on, or the present one.
 */
import { BIG_INTEGER, INTEGER, table } from './table.ts';

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
    /** Of the record that changed the position last. */
    changed_ms: INTEGER,
  },
  { primaryKey: 'account, market, outcome', withoutRowid: true },
);

export const POSITION_HOURS = table(
  'position_hours',
  { ...KEY, hour_ms: INTEGER, quantity_atomic: BIG_INTEGER },
  { primaryKey: 'account, market, outcome, hour_ms', withoutRowid: true },
);

export const POSITION_DAYS = table(
  'position_days',
  { ...KEY, day_ms: INTEGER, quantity_atomic: BIG_INTEGER },
  { primaryKey: 'account, market, outcome, day_ms', withoutRowid: true },
);
