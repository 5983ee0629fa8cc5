/** The trading of each category by day, for the category that each market has now. */
import { BIG_INTEGER, column, INTEGER, table } from './table.ts';

export const CATEGORY_DAYS = table(
  'category_days',
  {
    day_ms: INTEGER,
    category: column<string>('TEXT NOT NULL'),
    /** At the taker's prices. */
    volume_micro: BIG_INTEGER,
    /** That traded on this day, and not since: those of a span up to now are the sum of its days. */
    markets: INTEGER,
  },
  { primaryKey: 'day_ms, category', withoutRowid: true },
);
