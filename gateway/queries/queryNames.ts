/** The queries that the pool passes on by their names, by whom they are for. */
import type * as worker from './worker.ts';

/** Queries of public data. */
export type PublicQueries = Pick<
  typeof worker,
  | 'browse'
  | 'candles'
  | 'catalogMetadata'
  | 'lastTicks'
  | 'leaderboardPart'
  | 'listEvents'
  | 'listMarkets'
  | 'marketDay'
  | 'marketDays'
  | 'marketTrades'
  | 'nflPart'
  | 'priceHistory'
  | 'pulse'
  | 'recentFills'
  | 'sportsTaxonomy'
  | 'spotlight'
>;

/** Queries of what an account alone may see; the task names it. */
export type AccountQueries = Pick<
  typeof worker,
  | 'achievementFacts'
  | 'earnings'
  | 'fundMovements'
  | 'hasPosition'
  | 'notification'
  | 'notifications'
  | 'portfolioSlice'
  | 'rebates'
  | 'statementPage'
  | 'statementStart'
  | 'tradeSettlement'
  | 'userPositions'
>;
