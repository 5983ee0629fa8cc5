/** The trading of each category by day; a market counts for its present category. */
import { BIG_INTEGER, column, INTEGER, table } from './table.ts';

export const CATEGORY_DAYS = table(
  'category_days',
  {
    day_ms: INTEGER,
    category: column<string>('TEXT NOT NULL'),
    /** At the taker's prices. */
    volume_micro: BIG_INTEGER,
    /**
     * The number of markets that traded on this day, and not since: the sum over the days of a span up to now is the
     * number that traded in the span.
     */
    markets: INTEGER,
  },
  { primaryKey: 'day_ms, category', withoutRowid: true },
);
