/** Facts of a market that its shard is sent. */
import type { MarketStatus } from '../../shared/base/codes.ts';

export type ListedMarket = {
  readonly index: number;
  readonly shard: number;
  readonly idBytes: Uint8Array;
  readonly ticksPerUnit: number;
  readonly minOrderAtomic: number;
  readonly opening: { readonly startMs: number; readonly endMs: number };
  /** Null or absent for a market without a set. */
  readonly place?: SetPlace | null;
};

/** A place in an event set, whose first market has this index. */
export type SetPlace = { readonly first: number; readonly ordinal: number; readonly members: number };

export type MarketPatch = {
  readonly status?: MarketStatus | undefined;
  readonly feeBps?: number | undefined;
  readonly startMs: number;
  readonly endMs: number;
};
