/** Parts that the stream's tickers and candles share. */
import type { MarketReads } from '../markets/reads.ts';

export type SummaryQueries = Pick<MarketReads, 'ofPublic' | 'ofStream'>;
/** By shard: the record that a query must have passed. */
export type Through = (shard: number) => number;
/** A subscription leaves its frames here and reports that it has some. */
export type SummarySink = { readonly push: (frame: Buffer) => void; readonly wake: () => void };
