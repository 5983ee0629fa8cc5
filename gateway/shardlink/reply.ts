/** The reply of a shard to a command, and the handler that the sender of the command gave for it. */
import { OK } from '../../shared/base/errors.ts';
import { nowUs, secondsBetween } from '../../shared/base/stopwatch.ts';
import { COMMAND, type CommandType } from '../../shared/wire/commands.ts';
import type { RecordResult } from './recordResult.ts';

/** Valid only while its handler runs: one object serves every reply, and the handler copies what it keeps. */
export type ShardReply = CommandResult & {
  /** The effects of the command on the order that it placed; empty for all other commands. */
  readonly result: RecordResult;
};

export type ReusedReply = { -readonly [field in keyof ShardReply]: ShardReply[field] };

export function emptyReply(result: RecordResult): ReusedReply {
  return { code: OK, shard: 0, shardSequence: 0, a: 0, b: 0, c: 0, result };
}

/** The reply without numbers of its own. @param result of the shard */
export function setReply(
  reply: ReusedReply,
  code: number,
  shard: number,
  shardSequence: number,
  result: RecordResult,
): void {
  reply.code = code;
  reply.shard = shard;
  reply.shardSequence = shardSequence;
  reply.result = result;
  reply.a = 0;
  reply.b = 0;
  reply.c = 0;
}

export type CommandResult = {
  /** 0 if done, otherwise a number of the error table. */
  readonly code: number;
  readonly shard: number;
  /** 0 for a refusal. */
  readonly shardSequence: number;
  /** Three numbers whose meaning depends on the command: see REPLY in shared/wire/events.ts. */
  readonly a: number;
  readonly b: number;
  readonly c: number;
};

/** Made once per route, not per request: the context holds the request's own data. */
export type ReplyHandler<C> = (reply: ShardReply, context: C) => void;

/** The handler of a command that was answered before its reply came. */
const DROPPED: ReplyHandler<never> = () => {};

/** A command in flight, from the moment it is in the ring until its reply. */
export class PendingReply {
  shard = 0;
  /** The account in whose share of the shard the command counts; 0 for commands other than placements. */
  sharedBy = 0;
  /** Null while this slot is free. */
  handler: ReplyHandler<never> | null = null;
  context: unknown = null;
  type: CommandType = COMMAND.TICK.TYPE;
  /** No sender waits for its reply, and a second one must not follow while the first may be carried out (OUTBOX-2). */
  isOwed = false;
  sentUs = 0;

  /** The sender was already answered, but the command may still be carried out. */
  get isGivenUp(): boolean {
    return this.handler === DROPPED;
  }

  /** The command was written. The table holds handlers of many context types, each called only with its own. */
  sent(
    shard: number,
    type: CommandType,
    sharedBy: number,
    isOwed: boolean,
    handler: ReplyHandler<never>,
    context: unknown,
  ): void {
    this.isOwed = isOwed;
    this.shard = shard;
    this.type = type;
    this.sharedBy = sharedBy;
    this.handler = handler;
    this.context = context;
    this.sentUs = nowUs();
  }
}

type GivenUp = { readonly shard: number; readonly handler: ReplyHandler<never>; readonly context: unknown };

/**
 * Takes the handlers from commands that were sent this long ago: their replies no longer have a handler. Owed commands
 * keep theirs.
 */
export function givenUp(commands: readonly PendingReply[], olderThanMs: number): GivenUp[] {
  const now = nowUs();
  const found: GivenUp[] = [];
  for (const command of commands) {
    const { shard, handler, context, sentUs, isOwed } = command;
    if (handler === null || command.isGivenUp || isOwed) continue;
    if (secondsBetween(sentUs, now) * 1000 < olderThanMs) continue;
    found.push({ shard, handler, context });
    command.handler = DROPPED;
    command.context = null;
  }
  return found;
}
