/** The queries of read.db about markets and the whole exchange. */
import type { PublicReads } from '../base/reads.ts';
import type { prepareMarketQueries } from './queries.ts';

export type MarketReads = PublicReads<ReturnType<typeof prepareMarketQueries>>;
