/**
 * The gateway's end of the rings: commands go out, events come in to the views, each reply finds its handler.
 * Owner: the gateway thread.
 *
 *   request ──place──► pending slot + command ring ──► shard ──► event ring ──pump──► views, then the reply's handler
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
import { CLOSE_REASON, FEE_ACCOUNT, type MarketStatus, type MOVEMENT, type Movement } from '../shared/codes.ts';
import * as cmd from '../shared/commands.ts';
import { E, OK } from '../shared/errors.ts';
import * as ev from '../shared/events.ts';
import { ADDRESS_BYTES, HASH_BYTES, UUID_BYTES } from '../shared/hex.ts';
import { readSafe, writeSafe } from '../shared/record.ts';
import {
  type CommandKey,
  countPart,
  type EngineClientOptions,
  type EngineReply,
  type FanOut,
  hasRoomForCancel,
  Lane,
  type MarketPatch,
  type MarketTerms,
  noteBuried,
  noteSearched,
  Pending,
  type ReplyHandler,
  type ShardLoad,
  writeCancel,
} from './engineLane.ts';
import type { Views } from './views/index.ts';

export type { EngineClientOptions, EngineReply, MarketPatch, ReplyHandler, ShardLoad } from './engineLane.ts';

const NO_REQUEST = 0; // marks a command whose reply nobody waits for
const NO_ROOM = -1;

export class EngineClient {
  /** No order is sent to any shard: the contracts they are signed for are changing. */
  holdsPlacements = false;
  readonly #lanes: Lane[] = [];
  /** By shard: shardSequence at its last READY; whatever was acknowledged before is not behind it. */
  readonly #recoveredSequences: Float64Array;
  readonly #views: Views;
  readonly #clock: Clock;
  readonly #onHandlerError: EngineClientOptions['onHandlerError'];
  readonly #onFatal: EngineClientOptions['onFatal'];
  /** Request ids are positions here; position 0 is NO_REQUEST. Bounded by what the rings can hold. */
  readonly #pending: Pending[] = [new Pending()];
  readonly #free: number[] = [];
  readonly #reply = { code: OK as number, shard: 0, shardSequence: 0, a: 0, b: 0, c: 0 };
  readonly #onPart = this.#afterPart(countPart);
  readonly #onSearched = this.#afterPart(noteSearched);
  readonly #onBuried = this.#afterPart(noteBuried);
  #stopped = false;
  #holdsBack = false;

  constructor(options: EngineClientOptions) {
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

  /**
   * `record` is a PLACE command, plain or extended, whose body is filled in (encodeOrder.ts).
   * @returns OK or ENGINE_BUSY, as all below.
   */
  place<C>(
    shard: number,
    account: number,
    market: number,
    record: Uint32Array,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    const word = this.#begin(shard, cmd.COMMAND.PLACE, account, market, 0, handler, context, record.length * 4);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const words = this.#lanes[shard]!.commands.words;
    for (let i = cmd.CMD_BODY; i < record.length; i++) words[word + i] = record[i]!;
    return this.#send(shard);
  }

  /**
   * The order with this hash gives way to the one in `record`, an extended PLACE command. The reply's `a` is 1 when the
   * new one kept its time priority, `b` is 1 when the price has changed.
   * @param flags REPLACE_MODE, and REPLACE_ELSEWHERE when the old order is open in another shard than this one.
   */
  replace<C>(
    shard: number,
    account: number,
    market: number,
    record: Uint32Array,
    hash: Uint32Array,
    flags: number,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    assert(record.length === cmd.REPLACE_HASH, 'engine client: a replacement is an extended placement');
    const word = this.#begin(shard, cmd.COMMAND.REPLACE, account, market, flags, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const words = this.#lanes[shard]!.commands.words;
    for (let i = cmd.CMD_BODY; i < record.length; i++) words[word + i] = record[i]!;
    words.set(hash, word + cmd.REPLACE_HASH);
    return this.#send(shard);
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

  /** `hash` is eight words. @param flags CANCEL_TOMBSTONE or 0. */
  cancel<C>(
    shard: number,
    account: number,
    hash: Uint32Array,
    handler: ReplyHandler<C>,
    context: C,
    flags = 0,
    key?: CommandKey,
  ): number {
    const reason = CLOSE_REASON.USER | flags;
    const bytes = key && cmd.KEYED_CANCEL_BYTES;
    const word = this.#begin(shard, cmd.COMMAND.CANCEL, account, cmd.NO_MARKET, reason, handler, context, bytes);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    writeCancel(this.#lanes[shard]!.commands.words, word, hash, key);
    return this.#send(shard);
  }

  /**
   * For a hash that no open order here has: every shard is asked, and the one that ever saw the order answers. That
   * also cancels an order whose placement is still in a ring, since the cancel comes behind it. While a shard is away
   * nobody can say that there is no such order.
   */
  cancelAnywhere<C>(account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C, key?: CommandKey) {
    const codes = { all: E.ORDER_NOT_FOUND, some: E.ENGINE_BUSY };
    return this.#fanOut(codes, handler, context, (shard, fanOut) => {
      return this.cancel(shard, account, hash, this.#onSearched, fanOut, 0, key);
    });
  }

  /**
   * Cancels an order wherever it is, or, when no shard has ever seen it, has them all refuse it for a while
   * (RULES.md 7.11): then the reply's `a` is until when. Nobody can promise that while a shard is away.
   */
  cancelOrBury<C>(account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C): number {
    return this.#fanOut({ all: OK, some: E.ENGINE_BUSY }, handler, context, (shard, fanOut) => {
      return this.cancel(shard, account, hash, this.#onBuried, fanOut, cmd.CANCEL_TOMBSTONE);
    });
  }

  /** The reply's `a` is how many orders were cancelled. */
  cancelMarket<C>(
    shard: number,
    account: number,
    market: number,
    outcome: number,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    const word = this.#begin(shard, cmd.COMMAND.CANCEL_MANY, account, market, CLOSE_REASON.USER, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    this.#lanes[shard]!.commands.words[word + cmd.CANCEL_MANY_OUTCOME] = outcome;
    return this.#send(shard);
  }

  /**
   * Every shard cancels its part; one reply with the sum in `a`, and the first failure's code if there is one. While a
   * shard is away the others still do theirs, and the answer is to ask again.
   */
  cancelAll<C>(account: number, handler: ReplyHandler<C>, context: C): number {
    return this.#fanOut({ all: OK, some: E.OUTCOME_UNKNOWN }, handler, context, (shard, fanOut) => {
      return this.cancelMarket(shard, account, cmd.NO_MARKET, cmd.BOTH_OUTCOMES, this.#onPart, fanOut);
    });
  }

  /** Everything the account has open on the shard, because its heartbeats have stopped; `a` is how many there were. */
  cancelAfterSilence<C>(shard: number, account: number, handler: ReplyHandler<C>, context: C): number {
    const { HEARTBEAT } = CLOSE_REASON;
    const word = this.#begin(shard, cmd.COMMAND.CANCEL_MANY, account, cmd.NO_MARKET, HEARTBEAT, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    this.#lanes[shard]!.commands.words[word + cmd.CANCEL_MANY_OUTCOME] = cmd.BOTH_OUTCOMES;
    return this.#send(shard);
  }

  /** Split or merge: USDC into full sets of a market's tokens and back. */
  convert<C>(
    shard: number,
    account: number,
    market: number,
    movement: typeof MOVEMENT.SPLIT | typeof MOVEMENT.MERGE,
    amountAtomic: number,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    const word = this.#begin(shard, cmd.COMMAND.CONVERT, account, market, movement, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    writeSafe(this.#lanes[shard]!.commands.words, word + cmd.CONVERT_AMOUNT, amountAtomic);
    return this.#send(shard);
  }

  /** Turns the account's tokens of a decided market into what they pay. */
  claim<C>(shard: number, account: number, market: number, handler: ReplyHandler<C>, context: C): number {
    const word = this.#begin(shard, cmd.COMMAND.CLAIM, account, market, 0, handler, context);
    return word === NO_ROOM ? E.ENGINE_BUSY : this.#send(shard);
  }

  /** Money in or out. An account's movements go to one shard, always the same: that shard knows their references. */
  funds(account: number, movement: Movement, amountMicro: number, reference: Uint8Array): Promise<EngineReply> {
    assert(reference.length === HASH_BYTES, 'engine client: a reference is a hash');
    const shard = account % this.#lanes.length;
    return this.#ask(shard, cmd.COMMAND.FUNDS, account, cmd.NO_MARKET, movement, (lane, word) => {
      writeSafe(lane.commands.words, word + cmd.FUNDS_AMOUNT, amountMicro);
      lane.commands.bytes.set(reference, (word + cmd.FUNDS_REFERENCE) * 4);
    });
  }

  openMarket(market: MarketTerms, status: MarketStatus, feeBps: number): Promise<EngineReply> {
    assert(market.idBytes.length === UUID_BYTES, 'engine client: a market id is a UUID');
    return this.#ask(market.shard, cmd.COMMAND.MARKET_OPEN, FEE_ACCOUNT, market.index, 0, (lane, word) => {
      const words = lane.commands.words;
      lane.commands.bytes.set(market.idBytes, (word + cmd.OPEN_UUID) * 4);
      words[word + cmd.OPEN_TICKS_PER_UNIT] = market.ticksPerUnit;
      words[word + cmd.OPEN_FEE_BPS] = feeBps;
      writeSafe(words, word + cmd.OPEN_MIN_ORDER, market.minOrderAtomic);
      writeSafe(words, word + cmd.OPEN_START_MS, market.opening.startMs);
      writeSafe(words, word + cmd.OPEN_END_MS, market.opening.endMs);
      words[word + cmd.OPEN_STATUS] = status;
    });
  }

  patchMarket(market: number, shard: number, patch: MarketPatch): Promise<EngineReply> {
    return this.#ask(shard, cmd.COMMAND.MARKET_PATCH, FEE_ACCOUNT, market, 0, (lane, word) => {
      const words = lane.commands.words;
      words[word + cmd.PATCH_STATUS] = patch.status ?? cmd.UNCHANGED;
      words[word + cmd.PATCH_FEE_BPS] = patch.feeBps ?? cmd.UNCHANGED;
      writeSafe(words, word + cmd.PATCH_START_MS, patch.startMs);
      writeSafe(words, word + cmd.PATCH_END_MS, patch.endMs);
    });
  }

  /** @param status RESOLVED or CANCELLED. */
  decideMarket(market: number, shard: number, status: MarketStatus, payoutYesPpm: number): Promise<EngineReply> {
    return this.#ask(shard, cmd.COMMAND.RESOLVE, FEE_ACCOUNT, market, 0, (lane, word) => {
      lane.commands.words[word + cmd.RESOLVE_STATUS] = status;
      lane.commands.words[word + cmd.RESOLVE_PAYOUT_YES_PPM] = payoutYesPpm;
    });
  }

  settleMarket(market: number, shard: number): Promise<EngineReply> {
    return this.#ask(shard, cmd.COMMAND.SETTLE, FEE_ACCOUNT, market, 0, () => undefined);
  }

  /** Makes or changes an order group in every shard. @returns OK, or that of the first shard that did not. */
  setGroup(account: number, group: number, windowSec: number, maxAtomic: number): Promise<number> {
    return this.#askAll(cmd.COMMAND.GROUP_SET, account, (words, word) => {
      words[word + cmd.GROUP_INDEX] = group;
      words[word + cmd.GROUP_WINDOW_SEC] = windowSec;
      writeSafe(words, word + cmd.GROUP_MAX_ATOMIC, maxAtomic);
    });
  }

  /** Takes orders of a group again, from nothing filled on. */
  resetGroup(account: number, group: number): Promise<number> {
    for (const { owedTrips } of this.#lanes) owedTrips.delete(group);
    return this.#askAll(cmd.COMMAND.GROUP_RESET, account, (words, word) => {
      words[word + cmd.GROUP_INDEX] = group;
    });
  }

  /**
   * Orders are signed for this contract and chain from here on; open ones are cancelled. May be asked again until it is
   * OK: a shard that is there already does nothing. ENGINE_BUSY: no shard was asked.
   */
  rotateContracts(chainId: number, exchange: Uint8Array): Promise<number> {
    assert(exchange.length === ADDRESS_BYTES, 'engine client: a contract address has 20 bytes');
    return this.#askAll(cmd.COMMAND.CONTRACTS, FEE_ACCOUNT, (words, word) => {
      writeSafe(words, word + cmd.CONTRACTS_CHAIN_ID, chainId);
      for (let i = 0; i < ADDRESS_BYTES; i++) {
        words[word + cmd.CONTRACTS_EXCHANGE + (i >>> 2)]! |= exchange[i]! << (8 * (i & 3));
      }
    });
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

  #begin<C>(
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
    const isHeld = this.holdsPlacements && (type === cmd.COMMAND.PLACE || type === cmd.COMMAND.REPLACE);
    if (isHeld || !lane.isReady) return NO_ROOM;
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

  #send(shard: number): typeof OK {
    if (!this.#holdsBack) this.#lanes[shard]!.commands.publish();
    return OK;
  }

  /** For the administrator's commands, where a promise and a closure per request do not matter. */
  #ask(
    shard: number,
    type: cmd.CommandType,
    account: number,
    market: number,
    flags: number,
    fill: (lane: Lane, word: number) => void,
  ): Promise<EngineReply> {
    return new Promise((resolve) => {
      const keep = (reply: EngineReply): void => resolve({ ...reply });
      const word = this.#begin(shard, type, account, market, flags, keep, null);
      if (word === NO_ROOM) return resolve({ code: E.ENGINE_BUSY, shard, shardSequence: 0, a: 0, b: 0, c: 0 });
      fill(this.#lanes[shard]!, word);
      this.#send(shard);
    });
  }

  /** The same to every shard, or to none while one is away or has no room; all have committed when it resolves. */
  async #askAll(
    type: cmd.CommandType,
    account: number,
    fill: (words: Uint32Array, word: number) => void,
  ): Promise<number> {
    if (!this.#lanes.every((lane) => lane.isReady && hasRoomForCancel(lane))) return E.ENGINE_BUSY;
    const asked = this.#lanes.map(({ shard }) => {
      return this.#ask(shard, type, account, cmd.NO_MARKET, 0, (lane, word) => fill(lane.commands.words, word));
    });
    const replies = await Promise.all(asked);
    return replies.find(({ code }) => code !== OK)?.code ?? OK;
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

  /**
   * One cancel to every shard that is there, or to none.
   * @param codes what the answer is unless a reply says otherwise: with all shards there, and with some of them away.
   */
  #fanOut<C>(
    codes: { readonly all: number; readonly some: number },
    handler: ReplyHandler<C>,
    context: C,
    send: (shard: number, fanOut: FanOut) => number,
  ): number {
    const lanes = this.#lanes.filter(({ isReady }) => isReady);
    if (lanes.length === 0 || !lanes.every(hasRoomForCancel)) return E.ENGINE_BUSY;
    const code = lanes.length === this.#lanes.length ? codes.all : codes.some;
    const fanOut: FanOut = { waiting: lanes.length, code, total: 0, found: false, handler, context };
    for (const { shard } of lanes) {
      assert(send(shard, fanOut) === OK, 'C1: the room that was looked up is still there');
    }
    return OK;
  }

  #afterPart(note: (reply: EngineReply, fanOut: FanOut) => void): ReplyHandler<FanOut> {
    return (reply, fanOut) => {
      note(reply, fanOut);
      this.#finishPart(fanOut);
    };
  }

  #finishPart(fanOut: FanOut): void {
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
    assert(!lane.isReady, 'engine client: a shard is READY once');
    lane.isReady = true;
    this.#recoveredSequences[lane.shard] = readSafe(words, word + ev.READY_SEQUENCE);
    this.#views.recovered(lane.shard, this.#recoveredSequences[lane.shard]!);
    for (const each of this.#lanes) if (each.isReady) this.#oweTrips(each, this.#views.groups.missedBy(each.shard));
    lane.onReady();
  }
}
