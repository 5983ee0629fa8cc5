/** Facts of a market that its shard is sent. */
import type { MarketStatus } from '../../shared/base/codes.ts';
import type { MarketEntry } from '../store/catalog.ts';

export type MarketTerms = Pick<
  MarketEntry,
  'index' | 'shard' | 'idBytes' | 'ticksPerUnit' | 'minOrderAtomic' | 'opening'
>;

export type MarketPatch = {
  readonly status?: MarketStatus;
  readonly feeBps?: number;
  readonly startMs: number;
  readonly endMs: number;
};
