/**
 * What the engine client (engineClient.ts) keeps of each shard and of each request in flight.
 * Owner: the gateway thread.
 */
import type { MarketStatus } from '../shared/codes.ts';
import { COMMAND, COMMAND_BYTES } from '../shared/commands.ts';
import { RingConsumer, RingProducer } from '../shared/ring.ts';

export type EngineReply = {
  /** 0 when done, else a number of the error table. */
  readonly code: number;
  readonly shard: number;
  /** 0 for a refusal. */
  readonly shardSequence: number;
  /** Three numbers of the code's own, see REPLY in shared/events.ts. */
  readonly a: number;
  readonly b: number;
  readonly c: number;
};

/** Made once per route, not per request: what belongs to the request is the context. */
export type ReplyHandler<C> = (reply: EngineReply, context: C) => void;

export type MarketPatch = {
  readonly status?: MarketStatus;
  readonly feeBps?: number;
  readonly startMs: number;
  readonly endMs: number;
};

/** What lies between the gateway and a shard. */
export type ShardLoad = {
  readonly commandBytes: number;
  readonly commandCapacity: number;
  readonly eventBytes: number;
  /** Commands whose reply has not come. */
  readonly unanswered: number;
};

/** The pair of rings to one thread of a shard. */
export class Lane {
  readonly shard: number;
  readonly commands: RingProducer;
  readonly events: RingConsumer;
  readonly onReady: () => void;
  isReady = false;
  isLost = false;
  /** Groups the shard has to be told have tripped elsewhere, and their accounts. */
  readonly owedTrips = new Map<number, number>();

  constructor(shard: number, commandRing: SharedArrayBuffer, eventRing: SharedArrayBuffer, onReady: () => void) {
    this.shard = shard;
    this.commands = new RingProducer(commandRing);
    this.events = new RingConsumer(eventRing);
    this.onReady = onReady;
  }
}

export class Pending {
  shard = 0;
  handler: ReplyHandler<never> | null = null;
  context: unknown = null;
}

/** A command to several shards whose replies are answered as one. */
export type FanOut = {
  waiting: number;
  code: number;
  total: number;
  /** A shard has, or had, the order that is looked for. */
  found: boolean;
  readonly handler: ReplyHandler<never>;
  readonly context: unknown;
};

/** Room also for the padding of a wrap. */
export function hasRoomForCancel({ commands }: Lane): boolean {
  return commands.capacity - commands.usedBytes() >= 2 * COMMAND_BYTES[COMMAND.CANCEL];
}
