/**
 * What the link to the shards (engineLink.ts) keeps of each shard and of each request in flight.
 * Owner: the gateway thread.
 */
import { KEYED_CANCEL_BYTES } from '../shared/commands.ts';
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

/** Room also for the padding of a wrap. */
export function hasRoomForCancel({ commands }: Lane): boolean {
  return commands.capacity - commands.usedBytes() >= 2 * KEYED_CANCEL_BYTES;
}
