/** The messages to a front about its shards, which main passes on (wiring/shardFronts.ts). */
import type { LaneRings } from './lane.ts';

export type ShardNews =
  /** The front has its link attach the shard, with these rings and this state. */
  | { readonly attached: number; readonly rings: LaneRings; readonly state: ArrayBuffer[] }
  /** The thread of the shard has ended. */
  | { readonly lost: number };
