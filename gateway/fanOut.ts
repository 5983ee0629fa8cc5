/** How the replies of several shards to one command become one reply. */
import { E, OK } from '../shared/errors.ts';
import type { EngineReply, ReplyHandler } from './engineLane.ts';

/** A command to several shards whose replies are answered as one. */
export type FanOut = {
  waiting: number;
  code: number;
  total: number;
  /** A shard has, or had, the order that is looked for. */
  found: boolean;
  readonly note: Gathering['note'];
  readonly handler: ReplyHandler<never>;
  readonly context: unknown;
};

export type Gathering = {
  /** What the answer is unless a reply says otherwise: with all shards there, and with some of them away. */
  readonly all: number;
  readonly some: number;
  readonly note: (reply: EngineReply, fanOut: FanOut) => void;
};

/** Of a command that counts what it did: the sum, and the first failure's code if there is one. */
export const COUNTED: Gathering = { all: OK, some: E.OUTCOME_UNKNOWN, note: noteCount };

/** Of a cancel that goes wherever the order may be. */
export const SEARCHED: Gathering = { all: E.ORDER_NOT_FOUND, some: E.ENGINE_BUSY, note: noteSearched };

/** Of a cancel that leaves a tombstone where there is no order. */
export const BURIED: Gathering = { all: OK, some: E.ENGINE_BUSY, note: noteBuried };

function noteCount(reply: EngineReply, fanOut: FanOut): void {
  if (fanOut.code === OK) fanOut.code = reply.code;
  if (reply.code === OK) fanOut.total += reply.a;
}

function noteSearched(reply: EngineReply, fanOut: FanOut): void {
  if (fanOut.code !== OK && reply.code !== E.ORDER_NOT_FOUND) fanOut.code = reply.code;
}

function noteBuried(reply: EngineReply, fanOut: FanOut): void {
  const isBuried = reply.code === OK && reply.a > 0;
  if (reply.code === E.ORDER_NOT_CANCELLABLE || (reply.code === OK && !isBuried)) {
    fanOut.found = true;
    fanOut.code = reply.code;
    fanOut.total = 0;
  } else if (!fanOut.found) {
    if (isBuried) fanOut.total = fanOut.total === 0 ? reply.a : Math.min(fanOut.total, reply.a);
    else if (fanOut.code === OK) fanOut.code = reply.code;
  }
}
