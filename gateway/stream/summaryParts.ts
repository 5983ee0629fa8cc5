/** Parts that tickers and candles of the stream have in common. */
import type { MarketReads } from '../markets/reads.ts';

export type SummaryQueries = Pick<MarketReads, 'ofPublic' | 'ofStream'>;
/** The records that a query has to be over, by shard. */
export type Through = (shard: number) => number;
/** A subscription leaves its frames there, and says that it has some. */
export type SummarySink = { readonly push: (frame: Buffer) => void; readonly wake: () => void };
