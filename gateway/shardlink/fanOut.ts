/**
 * A command that is sent to several shards, and how their replies are merged into one. link.ts sends the command and
 * calls `merge` for each reply.
 */
import { E, OK } from '../../shared/base/errors.ts';
import type { ReplyHandler, ShardReply } from './reply.ts';

/** A command in flight to several shards, and the reply that is being put together. */
export type FanOut = {
  /** Shards that have not replied. */
  waiting: number;
  code: number;
  /** Becomes `a` of the reply. */
  total: number;
  /** True if a shard knows the order, open or closed. */
  isFound: boolean;
  readonly merge: ReplyMerge['merge'];
  readonly handler: ReplyHandler<never>;
  readonly context: unknown;
};

export type ReplyMerge = {
  /** The code if every shard is READY and no reply changes it. */
  readonly codeOfAll: number;
  /** The code if a shard is not READY and was left out. */
  readonly codeOfSome: number;
  readonly merge: (reply: ShardReply, fanOut: FanOut) => void;
};

/** For a mass cancel: the sum of what was cancelled, and the code of the first failure if there is one. */
export const COUNT_CANCELLED: ReplyMerge = { codeOfAll: OK, codeOfSome: E.OUTCOME_UNKNOWN, merge: mergeCount };

/** For a cancel that is sent to every shard, because the shard of the order is unknown. */
export const FIND_AND_CANCEL: ReplyMerge = {
  codeOfAll: E.ORDER_NOT_FOUND,
  codeOfSome: E.ENGINE_BUSY,
  merge: mergeFound,
};

/** For a cancel that leaves a tombstone in every shard when none has the order. */
export const CANCEL_OR_TOMBSTONE: ReplyMerge = { codeOfAll: OK, codeOfSome: E.ENGINE_BUSY, merge: mergeTombstones };

function mergeCount(reply: ShardReply, fanOut: FanOut): void {
  if (fanOut.code === OK) fanOut.code = reply.code;
  if (reply.code === OK) fanOut.total += reply.a;
}

function mergeFound(reply: ShardReply, fanOut: FanOut): void {
  if (fanOut.code !== OK && reply.code !== E.ORDER_NOT_FOUND) fanOut.code = reply.code;
}

/**
 * The total is the earliest time at which a tombstone ends; a shard that knows the order, open or closed, decides
 * alone.
 */
function mergeTombstones(reply: ShardReply, fanOut: FanOut): void {
  const hasTombstone = reply.code === OK && reply.a > 0;
  if (reply.code === E.ORDER_NOT_CANCELLABLE || (reply.code === OK && !hasTombstone)) {
    fanOut.isFound = true;
    fanOut.code = reply.code;
    fanOut.total = 0;
  } else if (!fanOut.isFound) {
    if (hasTombstone) fanOut.total = fanOut.total === 0 ? reply.a : Math.min(fanOut.total, reply.a);
    else if (fanOut.code === OK) fanOut.code = reply.code;
  }
}
