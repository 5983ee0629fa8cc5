/**
 * The link of a gateway thread to the shards: it writes commands into their rings, applies their events to the views,
 * and hands each reply to the handler of its command. The commands themselves are in shardlink/client.ts.
 * Owner: the gateway thread whose link it is: main has one, and each front.
 *
 *   claim, publish ──► pending slot + command ring ──► shard ──► event ring ──pump──► views, then the reply's handler
 *
 * Invariants:
 *   LINK-1  A command in a ring has exactly one pending slot and gets exactly one reply. A command that found no room
 *           has neither, and no part of it was enqueued.
 *   LINK-2  A handler runs after all events of its record were applied and before any later record's.
 *   LINK-3  The reply object and its result are reused by the pump: a handler copies what it keeps.
 *   LINK-4  Only a shard that is READY is sent commands. When a shard is lost, the events it had published are still
 *           applied, and every command without a reply is answered OUTCOME_UNKNOWN.
 *   LINK-5  An order group that trips in one shard is tripped in all others, which are owed the trip (LINK-12) from
 *           then on, and from when they come back.
 *   LINK-6  Each thread of a shard has rings of its own: a record that a dead thread left half written is never read.
 *   LINK-7  No account has more placements waiting for a shard than its share (placementShares.ts).
 *   LINK-8  A turn of the pump ends between two records once it has applied MOST_EVENTS_PER_TURN events: a busy shard
 *           does not starve the sockets, and no reader sees part of a record.
 *   LINK-9  On a standby of a cluster no command is written: the shards apply the records of the leader. Nor does a
 *           leader write one while changes of the gateway wait for room in the log: it may depend on them.
 *   LINK-10  A front receives the state of a shard that is already trading: it applies the state, up to READY, before
 *           the events in its ring, and yields between two pieces of the state.
 *   LINK-11  Main alone sends the time and trips groups. A front sends the commands of its clients.
 *   LINK-12  Commands that a shard is owed (owed.ts) precede all commands that are claimed later.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { COMMAND_BYTES, type CommandType, claimCommand, NO_REQUEST } from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { RingProducer } from '../../shared/wire/ring.ts';
import type { FanOut, ReplyMerge } from './fanOut.ts';
import { hasRoomForCancel, Lane, type LaneRings, NO_LOAD, NO_ROOM, type ShardLoad, tripOf } from './lane.ts';
import type { ShardLinkOptions } from './linkOptions.ts';
import { Owed } from './owed.ts';
import { emptyReply, givenUp, PendingReply, type ReplyHandler, type ReusedReply, setReply } from './reply.ts';
import { ReplyTimes } from './replyTimes.ts';
import { sendMissedTrips, tripElsewhere } from './trips.ts';
import type { Views, ViewsFollower } from './views.ts';

/** Applying this many events takes about a millisecond. */
const MOST_EVENTS_PER_TURN = 1024;

export class ShardLink {
  readonly shards: number;
  readonly replyTimes: ReplyTimes;
  readonly owed: readonly Owed[];
  readonly #lanes: Lane[] = [];
  readonly #waitingPlacements: number;
  readonly #views: Views;
  readonly #follower: ViewsFollower | null;
  readonly #clock: Clock;
  readonly #onHandlerError: ShardLinkOptions['onHandlerError'];
  readonly #onFatal: ShardLinkOptions['onFatal'];
  /** Request ids are indices here; index 0 is NO_REQUEST. Bounded by what the rings can hold. */
  readonly #pending: PendingReply[] = [new PendingReply()];
  readonly #free: number[] = [];
  readonly #reply: ReusedReply;
  readonly #onPart: ReplyHandler<FanOut> = (reply, fanOut) => this.#mergePart(reply, fanOut);
  #isStopped = false;
  #isFollowing: boolean;
  /** LINK-9. */
  #isHeldBack: () => boolean = () => this.#isFollowing;
  readonly #isFront: boolean;
  /** Inside `batch`: commands are claimed but published together at its end. */
  #isBatching = false;

  constructor(options: ShardLinkOptions) {
    this.shards = options.shards;
    this.replyTimes = new ReplyTimes(options.shards);
    this.owed = Array.from({ length: options.shards }, () => new Owed());
    this.#waitingPlacements = options.waitingPlacements;
    this.#views = options.views;
    this.#follower = options.follower;
    this.#clock = options.clock;
    this.#onHandlerError = options.onHandlerError;
    this.#onFatal = options.onFatal;
    this.#isFollowing = options.isFollowing ?? false;
    this.#isFront = options.isFront ?? false;
    for (let shard = 0; shard < options.shards; shard++) this.#views.recovering(shard);
    this.#reply = emptyReply(this.#views.resultOf(0));
  }

  /** True while the shard accepts commands. */
  isReady(shard: number): boolean {
    return this.#lanes[shard]?.isReady === true;
  }

  /** For gauges; walks all requests in flight. */
  load(shard: number): ShardLoad {
    const unanswered = this.#pending.filter((pending) => pending.handler !== null && pending.shard === shard);
    return this.#lanes[shard]?.load(unanswered) ?? NO_LOAD;
  }

  /** Commands without a reply. */
  get inFlight(): number {
    return this.#pending.length - 1 - this.#free.length;
  }

  /**
   * Connects a thread of the shard over unused rings: a thread that is about to start or, for a front, one that has
   * sent its state.
   * @returns a promise that resolves when the thread is READY and its state is applied; never, if it is lost before.
   */
  attach(shard: number, rings: LaneRings, state?: readonly ArrayBuffer[]): Promise<void> {
    assert(this.#lanes[shard] === undefined || this.#lanes[shard].isLost, 'LINK-6: a shard has one thread at a time');
    return new Promise((resolve) => {
      const lane = new Lane(shard, rings, this.#waitingPlacements, this.owed[shard], resolve, state);
      this.#lanes[shard] = lane;
      void this.#pump(lane);
    });
  }

  /** Ends the pumps; commands in flight stay unanswered. */
  stop(): void {
    this.#isStopped = true;
    for (const { events } of this.#lanes) events.wake();
  }

  /** LINK-4. The thread of the shard has ended. @returns whether it had become READY. */
  shardLost(shard: number): boolean {
    const lane = this.#lanes[shard];
    // Nothing is kept of a state that was not completely applied.
    if (lane.state.length === 0) while (this.#drainOrEnd(lane) && lane.hasMoreEvents);
    const wasReady = lane.end();
    this.#views.recovering(shard);
    for (let request = 1; request < this.#pending.length; request++) {
      const pending = this.#pending[request];
      if (pending.handler === null || pending.shard !== shard) continue;
      this.#setReply(E.OUTCOME_UNKNOWN, shard, 0);
      this.#answer(request);
    }
    return wasReady;
  }

  /** The ring that holds the records claimed for this shard. */
  commands(shard: number): RingProducer {
    return this.#lanes[shard].commands;
  }

  /**
   * LINK-1. Claims a record whose header is filled in and whose body is zero. The caller fills in the body and
   * publishes it before it does anything else. @returns the record's word in the ring, or NO_ROOM.
   */
  claim<C>(
    shard: number,
    type: CommandType,
    account: number,
    market: number,
    flags: number,
    handler: ReplyHandler<C>,
    context: C,
    lengthBytes = COMMAND_BYTES[type],
  ): number {
    const lane = this.#lanes[shard];
    if (!lane.isReady || this.#isHeldBack() || !lane.admits(type, account)) return NO_ROOM;
    const request = this.#free.pop() ?? this.#pending.push(new PendingReply()) - 1;
    const nowMs = this.#clock.nowMs();
    const word = claimCommand(lane.commands, type, request, account, nowMs, market, flags, lengthBytes);
    if (word === NO_ROOM) {
      this.#free.push(request);
      return NO_ROOM;
    }
    const sharedBy = lane.share(type, account);
    this.#pending[request].sent(shard, type, sharedBy, lane.owed.isSending, handler as ReplyHandler<never>, context);
    return word;
  }

  /** Lets the shard see the record that was claimed last in its ring. */
  publish(shard: number): typeof OK {
    if (!this.#isBatching) this.#lanes[shard].commands.publish();
    return OK;
  }

  /** Publishes everything that `enqueue` claims at once, so that a shard can commit it in one journal transaction. */
  batch(enqueue: () => void): void {
    this.#isBatching = true;
    try {
      enqueue();
    } finally {
      this.#isBatching = false;
      for (const { commands, isReady } of this.#lanes) if (isReady) commands.publish();
    }
  }

  /** True while every shard is READY and has room for one of the short commands. */
  get hasRoomEverywhere(): boolean {
    return !this.#isHeldBack() && this.#lanes.every((lane) => lane.isReady && hasRoomForCancel(lane));
  }

  /**
   * Sends a cancel to every shard that is READY, or to none if one of them has no room; the replies are merged into
   * one.
   * @param enqueue writes the command of one shard, with the given handler and context
   */
  fanOut<C>(
    { codeOfAll, codeOfSome, merge }: ReplyMerge,
    handler: ReplyHandler<C>,
    context: C,
    enqueue: (shard: number, onPart: ReplyHandler<FanOut>, fanOut: FanOut) => number,
  ): number {
    const lanes = this.#isHeldBack() ? [] : this.#lanes.filter(({ isReady }) => isReady);
    if (lanes.length === 0 || !lanes.every(hasRoomForCancel)) return E.ENGINE_BUSY;
    const code = lanes.length === this.#lanes.length ? codeOfAll : codeOfSome;
    const fanOut: FanOut = { waiting: lanes.length, code, total: 0, isFound: false, merge, handler, context };
    for (const { shard } of lanes) {
      assert(enqueue(shard, this.#onPart, fanOut) === OK, 'LINK-1: the room that was found is still there');
    }
    return OK;
  }

  /** LINK-9. The shards take commands from now on. @param isHeldBack true while changes wait for room. */
  lead(isHeldBack: () => boolean): void {
    this.#isFollowing = false;
    this.#isHeldBack = isHeldBack;
    if (this.#tripsGroups) sendMissedTrips(this.#lanes, this.#views.groups, this.#clock);
  }

  /** LINK-5, LINK-11. */
  get #tripsGroups(): boolean {
    return !this.#isFollowing && !this.#isFront;
  }

  /**
   * Applies the shard's published events, unless the views already show this record.
   * @returns true if the views show it, as they do for every record that a gateway thread may have acknowledged
   */
  shows(shard: number, shardSequence: number): boolean {
    const lane = this.#lanes[shard];
    if (lane === undefined || !lane.isReady || lane.state.length > 0) return false;
    if (this.#views.appliedSequence(shard) < shardSequence) this.#drainOrEnd(lane);
    return !lane.hasMoreEvents && this.#views.appliedSequence(shard) >= shardSequence;
  }

  /** Applies the shards' published events, at most as many per shard as in a turn of the pump. */
  catchUp(): void {
    for (const lane of this.#lanes) if (lane.isReady && !lane.events.isEmpty()) this.#drainOrEnd(lane);
  }

  /** Answers commands of this age with OUTCOME_UNKNOWN and drops their replies; owed ones wait on (OUTBOX-2). */
  answerUnknown(olderThanMs: number): void {
    for (const { shard, handler, context } of givenUp(this.#pending, olderThanMs)) {
      this.#setReply(E.OUTCOME_UNKNOWN, shard, 0);
      this.#call(handler, context);
    }
  }

  /** LINK-5. The group accepts orders again: a shard that was not sent the trip need not be. */
  dropPendingTrips(group: number): void {
    for (const owed of this.owed) owed.drop(tripOf(group));
  }

  /** LINK-11. Sends every shard the time, so that due orders expire; commands in a full ring do the same. */
  tick(): void {
    const now = this.#clock.nowMs();
    for (const lane of this.#lanes) {
      if (this.#isFollowing) break;
      // The pump is notified of every event; if a notification were lost, this limits the delay.
      if (!lane.events.isEmpty()) lane.events.wake();
      if (lane.isReady && !this.#isFront) lane.tick(now);
    }
  }

  #mergePart(reply: ReusedReply, fanOut: FanOut): void {
    fanOut.merge(reply, fanOut);
    if (--fanOut.waiting > 0) return;
    this.#setReply(fanOut.code, this.#reply.shard, this.#reply.shardSequence);
    this.#reply.a = fanOut.total;
    this.#call(fanOut.handler, fanOut.context);
  }

  async #pump(lane: Lane): Promise<void> {
    while (!this.#isStopped && !lane.isLost && this.#drainOrEnd(lane)) {
      await (lane.hasMoreEvents ? nextTurn() : lane.events.waitAsync());
    }
  }

  /** @returns false when the views can no longer be trusted, which ends the process. */
  #drainOrEnd(lane: Lane): boolean {
    try {
      this.#drain(lane);
      return true;
    } catch (error) {
      this.#onFatal(error);
      return false;
    }
  }

  /** LINK-8. Space is released once, at the end: until then the shard cannot write more than the ring holds. */
  #drain(lane: Lane): void {
    const piece = lane.state.shift();
    if (piece !== undefined) {
      this.#applyState(lane, piece);
      return;
    }
    const { words } = lane.events;
    lane.hasMoreEvents = false;
    let word = lane.events.next();
    if (word < 0) return;
    let isFull = false;
    for (let count = 1; word >= 0; word = isFull ? -1 : lane.events.next(), count++) {
      const type = this.#take(lane, words, word);
      // The events of a record come between its RECORD and its REPLY, or the next RECORD.
      isFull = count >= MOST_EVENTS_PER_TURN && (type === EVENT.RECORD.TYPE || type === EVENT.REPLY.TYPE);
    }
    lane.hasMoreEvents = isFull;
    lane.events.release();
    this.#follower?.flush();
  }

  /** LINK-10. */
  #applyState(lane: Lane, words: Uint32Array): void {
    for (let word = 0; word < words.length; word += words[word] >>> 2) this.#take(lane, words, word);
    assert(lane.isReady === (lane.state.length === 0), 'LINK-10: the state of a shard ends with READY');
    this.#follower?.flush();
  }

  /** @returns the type of the event. */
  #take(lane: Lane, words: Uint32Array, word: number): number {
    const type = typeOf(words[word + ANY_EVENT.type]);
    switch (type) {
      case EVENT.REPLY.TYPE:
        this.#handleReply(lane, words, word);
        break;
      case EVENT.READY.TYPE:
        this.#ready(lane, words, word);
        break;
      case EVENT.GROUP.TYPE:
        this.#apply(lane, words, word);
        if (this.#tripsGroups) tripElsewhere(this.#lanes, lane, words, word, this.#clock);
        break;
      default:
        this.#apply(lane, words, word);
    }
    return type;
  }

  #apply({ shard }: Lane, words: Uint32Array, word: number): void {
    this.#views.apply(shard, words, word);
    this.#follower?.applied(shard, this.#views.resultOf(shard), words, word);
  }

  #handleReply(lane: Lane, words: Uint32Array, word: number): void {
    const request = words[word + EVENT.REPLY.requestId];
    if (request !== NO_REQUEST) {
      this.#setReply(words[word + EVENT.REPLY.code], lane.shard, readSafe(words, word + EVENT.REPLY.shardSequence));
      this.#reply.a = readSafe(words, word + EVENT.REPLY.a);
      this.#reply.b = readSafe(words, word + EVENT.REPLY.b);
      this.#reply.c = readSafe(words, word + EVENT.REPLY.c);
      this.#answer(request);
    }
    this.#views.replied(lane.shard);
  }

  #setReply(code: number, shard: number, shardSequence: number): void {
    setReply(this.#reply, code, shard, shardSequence, this.#views.resultOf(shard));
  }

  /** Frees the slot before it calls the handler, which may send the next command. */
  #answer(request: number): void {
    const pending = this.#pending[request];
    assert(pending !== undefined, 'LINK-1: a reply names a request that was sent');
    const { handler, context, sharedBy, shard } = pending;
    assert(handler !== null, 'LINK-1: a request is answered once');
    pending.handler = null;
    pending.context = null;
    this.#free.push(request);
    this.replyTimes.replied(shard, pending.type, pending.sentUs);
    if (sharedBy !== 0) this.#lanes[shard].shares.remove(sharedBy, this.#reply);
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
    assert(!lane.isReady, 'LINK-4: a thread becomes READY once');
    lane.isReady = true;
    const shardSequence = readSafe(words, word + EVENT.READY.shardSequence);
    this.#views.recovered(lane.shard, shardSequence);
    this.#follower?.recovered(lane.shard, shardSequence);
    if (this.#tripsGroups) sendMissedTrips(this.#lanes, this.#views.groups, this.#clock);
    lane.owed.pay();
    lane.onReady();
  }
}
