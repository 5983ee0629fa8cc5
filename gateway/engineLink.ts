/**
 * The gateway's link to the shards: commands go out, events come in to the views, each reply finds its handler.
 * Which commands there are, engineClient.ts says.
 * Owner: the gateway thread.
 *
 *   begin, send ──► pending slot + command ring ──► shard ──► event ring ──pump──► views, then the reply's handler
 *
 * Invariants:
 *   C1  A command that is in a ring has exactly one pending slot and gets exactly one reply; one that found no room has
 *       neither, and nothing of it was enqueued.
 *   C2  A handler runs after all events of its record were applied and before any later record's.
 *   C3  Reply objects and the views' Outcome belong to the pump: a handler copies what it keeps.
 *   C4  Only a shard that is READY is sent anything. When one is lost, what it had published still counts, and what it
 *       owed beyond that is answered OUTCOME_UNKNOWN.
 *   C5  An order group that trips in one shard is tripped in all others: at once where there is room, else as soon as
 *       there is, and when a shard comes back.
 *   C6  Each thread of a shard has rings of its own: nobody reads on behind what a dead one left half written.
 */
import { assert } from '../shared/assert.ts';
import type { Clock } from '../shared/clock.ts';
import { FEE_ACCOUNT } from '../shared/codes.ts';
import * as cmd from '../shared/commands.ts';
import { E, OK } from '../shared/errors.ts';
import * as ev from '../shared/events.ts';
import { readSafe } from '../shared/record.ts';
import type { RingProducer } from '../shared/ring.ts';
import { type EngineReply, hasRoomForCancel, Lane, Pending, type ReplyHandler } from './engineLane.ts';
import type { FanOut, Gathering } from './fanOut.ts';
import type { Views } from './views/index.ts';

export type EngineLinkOptions = {
  readonly shards: number;
  readonly views: Views;
  readonly clock: Clock;
  /** A handler that throws never stops the pump; whoever gets this owes the context its answer. */
  readonly onHandlerError: (error: unknown, context: unknown) => void;
  /** The views can no longer be trusted: the process has to end and recover. */
  readonly onFatal: (error: unknown) => void;
};

/** What lies between the gateway and a shard. */
export type ShardLoad = {
  readonly commandBytes: number;
  readonly commandCapacity: number;
  readonly eventBytes: number;
  /** Commands whose reply has not come. */
  readonly unanswered: number;
};

/** What `begin` says when nothing can be enqueued. */
export const NO_ROOM = -1;

const NO_REQUEST = 0; // marks a command whose reply nobody waits for

export class EngineLink {
  readonly shards: number;
  readonly #lanes: Lane[] = [];
  /** By shard: shardSequence at its last READY; whatever was acknowledged before is not behind it. */
  readonly #recoveredSequences: Float64Array;
  readonly #views: Views;
  readonly #clock: Clock;
  readonly #onHandlerError: EngineLinkOptions['onHandlerError'];
  readonly #onFatal: EngineLinkOptions['onFatal'];
  /** Request ids are positions here; position 0 is NO_REQUEST. Bounded by what the rings can hold. */
  readonly #pending: Pending[] = [new Pending()];
  readonly #free: number[] = [];
  readonly #reply = { code: OK as number, shard: 0, shardSequence: 0, a: 0, b: 0, c: 0 };
  readonly #onPart: ReplyHandler<FanOut> = (reply, fanOut) => this.#takePart(reply, fanOut);
  #stopped = false;
  #holdsBack = false;

  constructor(options: EngineLinkOptions) {
    this.shards = options.shards;
    this.#recoveredSequences = new Float64Array(options.shards);
    this.#views = options.views;
    this.#clock = options.clock;
    this.#onHandlerError = options.onHandlerError;
    this.#onFatal = options.onFatal;
    for (let shard = 0; shard < options.shards; shard++) this.#views.begin(shard);
  }

  /** Whether the shard takes commands. */
  isReady(shard: number): boolean {
    return this.#lanes[shard]?.isReady === true;
  }

  /** For gauges; walks all requests in flight. */
  load(shard: number): ShardLoad {
    const lane = this.#lanes[shard];
    if (lane === undefined) return { commandBytes: 0, commandCapacity: 0, eventBytes: 0, unanswered: 0 };
    let unanswered = 0;
    for (const pending of this.#pending) if (pending.handler !== null && pending.shard === shard) unanswered++;
    const { commands, events } = lane;
    const commandBytes = commands.usedBytes();
    return { commandBytes, commandCapacity: commands.capacity, eventBytes: events.usedBytes(), unanswered };
  }

  /** Requests without a reply so far. */
  get inFlight(): number {
    return this.#pending.length - 1 - this.#free.length;
  }

  /**
   * A thread of the shard is about to start at the other end of these rings, which nothing has used before.
   * @returns when it has told its state and is READY: never, if it is lost before.
   */
  attach(shard: number, commandRing: SharedArrayBuffer, eventRing: SharedArrayBuffer): Promise<void> {
    assert(this.#lanes[shard] === undefined || this.#lanes[shard].isLost, 'C6: a shard has one thread at a time');
    return new Promise((resolve) => {
      const lane = new Lane(shard, commandRing, eventRing, resolve);
      this.#lanes[shard] = lane;
      void this.#pump(lane);
    });
  }

  /** The pumps end; whatever was in flight stays unanswered. */
  stop(): void {
    this.#stopped = true;
    for (const { events } of this.#lanes) events.wake();
  }

  /** C4. The thread of the shard has ended. @returns whether it had become READY. */
  shardLost(shard: number): boolean {
    const lane = this.#lanes[shard]!;
    this.#drainOrEnd(lane);
    const wasReady = lane.isReady;
    lane.isLost = true;
    lane.isReady = false;
    lane.events.wake();
    this.#views.begin(shard);
    for (let request = 1; request < this.#pending.length; request++) {
      const pending = this.#pending[request]!;
      if (pending.handler === null || pending.shard !== shard) continue;
      this.#setReply(E.OUTCOME_UNKNOWN, shard, 0);
      this.#answer(request);
    }
    return wasReady;
  }

  /**
   * The last record of a shard whose effects this account was told of, or may have been before a restart: a read that
   * has followed the journal up to it shows the account all its acknowledged writes.
   */
  lastAcknowledged(account: number, shard: number): number {
    return Math.max(this.#recoveredSequences[shard]!, this.#views.accounts.lastSequence(account, shard));
  }

  /** The ring that records begun for this shard are in. */
  commands(shard: number): RingProducer {
    return this.#lanes[shard]!.commands;
  }

  /**
   * C1. A record whose header is filled in and whose body is zero: whoever begins one fills it in and sends it, before
   * anything else. @returns its word in the ring, or NO_ROOM.
   */
  begin<C>(
    shard: number,
    type: cmd.CommandType,
    account: number,
    market: number,
    flags: number,
    handler: ReplyHandler<C>,
    context: C,
    lengthBytes = cmd.COMMAND_BYTES[type]!,
  ): number {
    const lane = this.#lanes[shard]!;
    if (!lane.isReady) return NO_ROOM;
    const request = this.#free.pop() ?? this.#pending.push(new Pending()) - 1;
    const nowMs = this.#clock.nowMs();
    const word = cmd.beginCommand(lane.commands, type, request, account, nowMs, market, flags, lengthBytes);
    if (word === NO_ROOM) {
      this.#free.push(request);
      return NO_ROOM;
    }
    const pending = this.#pending[request]!;
    pending.shard = shard;
    // The table holds handlers of many context types; each is only ever called with the context it came with.
    pending.handler = handler as ReplyHandler<never>;
    pending.context = context;
    return word;
  }

  /** The record that was begun last in this shard's ring. */
  send(shard: number): typeof OK {
    if (!this.#holdsBack) this.#lanes[shard]!.commands.publish();
    return OK;
  }

  /** What `enqueue` sends to a shard reaches it in one go, so that it can share one journal transaction. */
  inOneGo(enqueue: () => void): void {
    this.#holdsBack = true;
    try {
      enqueue();
    } finally {
      this.#holdsBack = false;
      for (const { commands, isReady } of this.#lanes) if (isReady) commands.publish();
    }
  }

  /** For the administrator's commands, where a promise and a closure per request do not matter. */
  ask(
    shard: number,
    type: cmd.CommandType,
    account: number,
    market: number,
    flags: number,
    fill: (commands: RingProducer, word: number) => void,
  ): Promise<EngineReply> {
    return new Promise((resolve) => {
      const keep = (reply: EngineReply): void => resolve({ ...reply });
      const word = this.begin(shard, type, account, market, flags, keep, null);
      if (word === NO_ROOM) return resolve({ code: E.ENGINE_BUSY, shard, shardSequence: 0, a: 0, b: 0, c: 0 });
      fill(this.commands(shard), word);
      this.send(shard);
    });
  }

  /** The same to every shard, or to none while one is away or has no room; all have committed when it resolves. */
  async askAll(
    type: cmd.CommandType,
    account: number,
    fill: (words: Uint32Array, word: number) => void,
  ): Promise<number> {
    if (!this.#lanes.every((lane) => lane.isReady && hasRoomForCancel(lane))) return E.ENGINE_BUSY;
    const asked = this.#lanes.map(({ shard }) => {
      return this.ask(shard, type, account, cmd.NO_MARKET, 0, ({ words }, word) => fill(words, word));
    });
    const replies = await Promise.all(asked);
    return replies.find(({ code }) => code !== OK)?.code ?? OK;
  }

  /**
   * One cancel to every shard that is there, or to none; their replies become one.
   * @param send enqueues a shard's part, for the handler and the context that it is given.
   */
  fanOut<C>(
    { all, some, note }: Gathering,
    handler: ReplyHandler<C>,
    context: C,
    send: (shard: number, onPart: ReplyHandler<FanOut>, fanOut: FanOut) => number,
  ): number {
    const lanes = this.#lanes.filter(({ isReady }) => isReady);
    if (lanes.length === 0 || !lanes.every(hasRoomForCancel)) return E.ENGINE_BUSY;
    const code = lanes.length === this.#lanes.length ? all : some;
    const fanOut: FanOut = { waiting: lanes.length, code, total: 0, found: false, note, handler, context };
    for (const { shard } of lanes) {
      assert(send(shard, this.#onPart, fanOut) === OK, 'C1: the room that was looked up is still there');
    }
    return OK;
  }

  /** C5. The group takes orders again: whoever has not heard that it tripped need not. */
  forgetTrips(group: number): void {
    for (const { owedTrips } of this.#lanes) owedTrips.delete(group);
  }

  /** Tells every shard the time, so that what is due expires. A full ring has commands in it that do the same. */
  tick(): void {
    const now = this.#clock.nowMs();
    for (const lane of this.#lanes) {
      if (!lane.events.isEmpty()) lane.events.wake(); // never needed; should that be wrong, the harm ends here
      if (!lane.isReady) continue;
      this.#payTrips(lane);
      const word = cmd.beginCommand(lane.commands, cmd.COMMAND.TICK, NO_REQUEST, FEE_ACCOUNT, now, cmd.NO_MARKET, 0);
      if (word !== NO_ROOM) lane.commands.publish();
    }
  }

  /** C5. */
  #oweTrips(lane: Lane, missed: readonly [group: number, account: number][]): void {
    for (const [group, account] of missed) lane.owedTrips.set(group, account);
    if (lane.isReady) this.#payTrips(lane);
  }

  #payTrips({ commands, owedTrips }: Lane): void {
    const now = this.#clock.nowMs();
    for (const [group, account] of owedTrips) {
      const word = cmd.beginCommand(commands, cmd.COMMAND.GROUP_TRIP, NO_REQUEST, account, now, cmd.NO_MARKET, 0);
      if (word === NO_ROOM) return;
      commands.words[word + cmd.GROUP_INDEX] = group;
      commands.publish();
      owedTrips.delete(group);
    }
  }

  #takePart(reply: EngineReply, fanOut: FanOut): void {
    fanOut.note(reply, fanOut);
    if (--fanOut.waiting > 0) return;
    this.#setReply(fanOut.code, this.#reply.shard, this.#reply.shardSequence);
    this.#reply.a = fanOut.total;
    this.#call(fanOut.handler, fanOut.context);
  }

  /**
   * Only commands from this thread make events, so a pump that always finds more cannot keep sockets waiting for long:
   * without them the ring runs dry.
   */
  async #pump(lane: Lane): Promise<void> {
    while (!this.#stopped && !lane.isLost && this.#drainOrEnd(lane)) await lane.events.waitAsync();
  }

  /** False when the views cannot be trusted any more, which is the end of the process. */
  #drainOrEnd(lane: Lane): boolean {
    try {
      this.#drain(lane);
      return true;
    } catch (error) {
      this.#onFatal(error);
      return false;
    }
  }

  /** Released once: until then the shard has no more room than the ring, which bounds the loop. */
  #drain(lane: Lane): void {
    const { words } = lane.events;
    let word = lane.events.next();
    if (word < 0) return;
    for (; word >= 0; word = lane.events.next()) {
      switch (ev.typeOf(words[word + ev.EV_TYPE]!)) {
        case ev.EVENT.REPLY:
          this.#take(lane, words, word);
          break;
        case ev.EVENT.READY:
          this.#ready(lane, words, word);
          break;
        case ev.EVENT.GROUP:
          this.#views.apply(lane.shard, words, word);
          if (words[word + ev.EV_FLAGS] === 1) this.#tripElsewhere(lane, words, word);
          break;
        default:
          this.#views.apply(lane.shard, words, word);
      }
    }
    lane.events.release();
    this.#views.listener?.flush();
  }

  #tripElsewhere(lane: Lane, words: Uint32Array, word: number): void {
    const trip: [number, number] = [words[word + ev.GROUP_EV_INDEX]!, words[word + ev.EV_ACCOUNT]!];
    for (const other of this.#lanes) if (other !== lane && other.isReady) this.#oweTrips(other, [trip]);
  }

  #take(lane: Lane, words: Uint32Array, word: number): void {
    const request = words[word + ev.REPLY_REQUEST]!;
    if (request !== NO_REQUEST) {
      this.#setReply(words[word + ev.EV_FLAGS]!, lane.shard, readSafe(words, word + ev.REPLY_SEQUENCE));
      this.#reply.a = readSafe(words, word + ev.REPLY_A);
      this.#reply.b = readSafe(words, word + ev.REPLY_B);
      this.#reply.c = readSafe(words, word + ev.REPLY_C);
      this.#answer(request);
    }
    this.#views.outcomes[lane.shard]!.clear();
  }

  #setReply(code: number, shard: number, shardSequence: number): void {
    const reply = this.#reply;
    reply.code = code;
    reply.shard = shard;
    reply.shardSequence = shardSequence;
    reply.a = 0;
    reply.b = 0;
    reply.c = 0;
  }

  /** Frees the slot first: the handler may send the next command. */
  #answer(request: number): void {
    const pending = this.#pending[request];
    assert(pending !== undefined, 'C1: a reply names a request that was sent');
    const { handler, context } = pending;
    assert(handler !== null, 'C1: a request is answered once');
    pending.handler = null;
    pending.context = null;
    this.#free.push(request);
    this.#call(handler, context);
  }

  #call(handler: ReplyHandler<never>, context: unknown): void {
    try {
      handler(this.#reply, context as never);
    } catch (error) {
      this.#onHandlerError(error, context);
    }
  }

  #ready(lane: Lane, words: Uint32Array, word: number): void {
    assert(!lane.isReady, 'engine link: a shard is READY once');
    lane.isReady = true;
    this.#recoveredSequences[lane.shard] = readSafe(words, word + ev.READY_SEQUENCE);
    this.#views.recovered(lane.shard, this.#recoveredSequences[lane.shard]!);
    for (const each of this.#lanes) if (each.isReady) this.#oweTrips(each, this.#views.groups.missedBy(each.shard));
    lane.onReady();
  }
}
