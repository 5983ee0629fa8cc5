/**
 * What the engine client (engineClient.ts) keeps of each shard and of each request in flight.
 * Owner: the gateway thread.
 */
import type { Clock } from '../shared/clock.ts';
import type { MarketStatus } from '../shared/codes.ts';
import { CANCEL_FINGERPRINT, CANCEL_HASH, CANCEL_KEY, KEYED_CANCEL_BYTES } from '../shared/commands.ts';
import { E, OK } from '../shared/errors.ts';
import { RingConsumer, RingProducer } from '../shared/ring.ts';
import type { MarketEntry } from './control/catalog.ts';
import type { Views } from './views/index.ts';

export type EngineClientOptions = {
  readonly shards: number;
  readonly views: Views;
  readonly clock: Clock;
  /** A handler that throws never stops the pump; whoever gets this owes the context its answer. */
  readonly onHandlerError: (error: unknown, context: unknown) => void;
  /** The views can no longer be trusted: the process has to end and recover. */
  readonly onFatal: (error: unknown) => void;
};

export type MarketTerms = Pick<
  MarketEntry,
  'index' | 'shard' | 'idBytes' | 'ticksPerUnit' | 'minOrderAtomic' | 'opening'
>;

/** An idempotency key and the fingerprint of its payload, four words each. */
export type CommandKey = { readonly words: Uint32Array; readonly fingerprint: Uint32Array };

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

/** Of a command that counts what it did. */
export function countPart(reply: EngineReply, fanOut: FanOut): void {
  if (fanOut.code === OK) fanOut.code = reply.code;
  if (reply.code === OK) fanOut.total += reply.a;
}

/** Of a cancel that goes wherever the order may be. */
export function noteSearched(reply: EngineReply, fanOut: FanOut): void {
  if (fanOut.code !== OK && reply.code !== E.ORDER_NOT_FOUND) fanOut.code = reply.code;
}

/** Of a cancel that leaves a tombstone where there is no order. */
export function noteBuried(reply: EngineReply, fanOut: FanOut): void {
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

/** Room also for the padding of a wrap. */
export function hasRoomForCancel({ commands }: Lane): boolean {
  return commands.capacity - commands.usedBytes() >= 2 * KEYED_CANCEL_BYTES;
}

export function writeCancel(words: Uint32Array, word: number, hash: Uint32Array, key?: CommandKey): void {
  words.set(hash, word + CANCEL_HASH);
  if (key === undefined) return;
  words.set(key.words, word + CANCEL_KEY);
  words.set(key.fingerprint, word + CANCEL_FINGERPRINT);
}
