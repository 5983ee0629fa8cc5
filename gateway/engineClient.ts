/**
 * The gateway's end of the rings: commands go out, events come in, are applied to the views, and each reply finds the
 * handler that waits for it.
 * Owner: the gateway thread.
 *
 *   request ──place──► pending slot + command ring ──► shard ──► event ring ──pump──► views, then handler(reply, context)
 *
 * Invariants:
 *   C1  A command that is in a ring has exactly one pending slot and gets exactly one reply; one that found no room has
 *       neither, and nothing of it was enqueued.
 *   C2  A handler runs after all events of its record were applied and before any later record's.
 *   C3  Reply objects and the views' Outcome belong to the pump: a handler copies what it keeps.
 *   C4  After a shard is lost nothing more is sent to it, and everything it still owed is answered OUTCOME_UNKNOWN.
 */
import { assert } from '../shared/assert.ts';
import type { Clock } from '../shared/clock.ts';
import { CLOSE_REASON, FEE_ACCOUNT, type MarketStatus, type MOVEMENT, type Movement } from '../shared/codes.ts';
import * as cmd from '../shared/commands.ts';
import { E, OK } from '../shared/errors.ts';
import * as ev from '../shared/events.ts';
import { HASH_BYTES, UUID_BYTES } from '../shared/hex.ts';
import { readSafe, writeSafe } from '../shared/record.ts';
import { RingConsumer, RingProducer } from '../shared/ring.ts';
import type { MarketEntry } from './control/catalog.ts';
import type { Views } from './views/index.ts';

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

export type EngineClientOptions = {
  /** By shard. */
  readonly commandRings: readonly SharedArrayBuffer[];
  readonly eventRings: readonly SharedArrayBuffer[];
  readonly views: Views;
  readonly clock: Clock;
  /** A handler that throws costs its own request an answer, never the pump. */
  readonly onHandlerError: (error: unknown, context: unknown) => void;
  /** The views can no longer be trusted: the process has to end and recover. */
  readonly onFatal: (error: unknown) => void;
};

export type MarketPatch = {
  readonly status?: MarketStatus;
  readonly feeBps?: number;
  readonly startMs: number;
  readonly endMs: number;
};

type MarketTerms = Pick<MarketEntry, 'index' | 'shard' | 'idBytes' | 'ticksPerUnit' | 'minOrderAtomic' | 'opening'>;

/** Marks a command whose reply nobody waits for. */
const NO_REQUEST = 0;
const NO_ROOM = -1;
/** How long a pump sleeps at most; it only bounds how late it notices `stop`. */
const PUMP_WAIT_MS = 1000;

/** One shard's pair of rings. */
class Lane {
  readonly shard: number;
  readonly commands: RingProducer;
  readonly events: RingConsumer;
  isReady = false;
  isLost = false;
  /** shardSequence at READY: whatever was acknowledged before this process began. */
  recoveredSequence = 0;

  constructor(shard: number, commandRing: SharedArrayBuffer, eventRing: SharedArrayBuffer) {
    this.shard = shard;
    this.commands = new RingProducer(commandRing);
    this.events = new RingConsumer(eventRing);
  }
}

class Pending {
  shard = 0;
  handler: ReplyHandler<never> | null = null;
  context: unknown = null;
}

/** A command to several shards whose replies are answered as one. */
type FanOut = {
  waiting: number;
  code: number;
  total: number;
  readonly handler: ReplyHandler<never>;
  readonly context: unknown;
};

export class EngineClient {
  readonly #lanes: readonly Lane[];
  readonly #views: Views;
  readonly #clock: Clock;
  readonly #onHandlerError: EngineClientOptions['onHandlerError'];
  readonly #onFatal: EngineClientOptions['onFatal'];
  /** Request ids are positions here; position 0 is NO_REQUEST. Bounded by what the rings can hold. */
  readonly #pending: Pending[] = [new Pending()];
  readonly #free: number[] = [];
  readonly #reply = { code: OK as number, shard: 0, shardSequence: 0, a: 0, b: 0, c: 0 };
  readonly #onPart: ReplyHandler<FanOut> = (reply, fanOut) => {
    if (fanOut.code === OK) fanOut.code = reply.code;
    if (reply.code === OK) fanOut.total += reply.a;
    this.#finishPart(fanOut);
  };
  readonly #onSearched: ReplyHandler<FanOut> = (reply, fanOut) => {
    if (fanOut.code !== OK && reply.code !== E.ORDER_NOT_FOUND) fanOut.code = reply.code;
    this.#finishPart(fanOut);
  };
  #whenReady: (() => void) | null = null;
  #stopped = false;

  constructor(options: EngineClientOptions) {
    assert(options.commandRings.length === options.eventRings.length, 'engine client: rings come in pairs');
    this.#lanes = options.commandRings.map((ring, shard) => new Lane(shard, ring, options.eventRings[shard]!));
    this.#views = options.views;
    this.#clock = options.clock;
    this.#onHandlerError = options.onHandlerError;
    this.#onFatal = options.onFatal;
  }

  /** Requests without a reply so far. */
  get inFlight(): number {
    return this.#pending.length - 1 - this.#free.length;
  }

  /** Resolves when every shard has told its state and is READY. */
  start(): Promise<void> {
    const ready = new Promise<void>((resolve) => {
      this.#whenReady = resolve;
    });
    for (const lane of this.#lanes) void this.#pump(lane);
    return ready;
  }

  /** The pumps end; whatever was in flight stays unanswered. */
  stop(): void {
    this.#stopped = true;
  }

  /** C4. The thread of the shard has ended. */
  shardLost(shard: number): void {
    const lane = this.#lanes[shard]!;
    lane.isLost = true;
    for (let request = 1; request < this.#pending.length; request++) {
      const pending = this.#pending[request]!;
      if (pending.handler === null || pending.shard !== shard) continue;
      this.#setReply(E.OUTCOME_UNKNOWN, shard, 0);
      this.#answer(request);
    }
  }

  /**
   * The last record of a shard whose effects this account was told of, or may have been before a restart: a read that
   * has followed the journal up to it shows the account all its acknowledged writes.
   */
  lastAcknowledged(account: number, shard: number): number {
    return Math.max(this.#lanes[shard]!.recoveredSequence, this.#views.accounts.lastSequence(account, shard));
  }

  /** `record` is a PLACE command whose body is filled in (encodeOrder.ts). @returns OK or ENGINE_BUSY, like all below. */
  place<C>(
    shard: number,
    account: number,
    market: number,
    record: Uint32Array,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    const word = this.#begin(shard, cmd.COMMAND.PLACE, account, market, 0, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const words = this.#lanes[shard]!.commands.words;
    for (let i = cmd.CMD_BODY; i < record.length; i++) words[word + i] = record[i]!;
    return this.#send(shard);
  }

  /** `hash` is eight words. */
  cancel<C>(shard: number, account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C): number {
    const word = this.#begin(shard, cmd.COMMAND.CANCEL, account, cmd.NO_MARKET, CLOSE_REASON.USER, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    this.#lanes[shard]!.commands.words.set(hash, word + cmd.CANCEL_HASH);
    return this.#send(shard);
  }

  /**
   * For a hash that no open order here has: every shard is asked, and the one that ever saw the order answers. That
   * also cancels an order whose placement is still in a ring, since the cancel comes behind it.
   */
  cancelAnywhere<C>(account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C): number {
    if (!this.#lanes.every(hasRoomForCancel)) return E.ENGINE_BUSY;
    const fanOut: FanOut = { waiting: this.#lanes.length, code: E.ORDER_NOT_FOUND, total: 0, handler, context };
    for (const { shard } of this.#lanes) {
      const code = this.cancel(shard, account, hash, this.#onSearched, fanOut);
      assert(code === OK, 'C1: the room that was looked up is still there');
    }
    return OK;
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

  /** Every shard cancels its part; one reply with the sum in `a`, and the first failure's code if there is one. */
  cancelAll<C>(account: number, handler: ReplyHandler<C>, context: C): number {
    if (!this.#lanes.every(hasRoomForCancel)) return E.ENGINE_BUSY;
    const fanOut: FanOut = { waiting: this.#lanes.length, code: OK, total: 0, handler, context };
    for (const { shard } of this.#lanes) {
      const code = this.cancelMarket(shard, account, cmd.NO_MARKET, cmd.BOTH_OUTCOMES, this.#onPart, fanOut);
      assert(code === OK, 'C1: the room that was looked up is still there');
    }
    return OK;
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

  /** Tells every shard the time, so that what is due expires. A full ring has commands in it that do the same. */
  tick(): void {
    const now = this.#clock.nowMs();
    for (const { isLost, commands } of this.#lanes) {
      if (isLost) continue;
      const word = cmd.beginCommand(commands, cmd.COMMAND.TICK, NO_REQUEST, FEE_ACCOUNT, now, cmd.NO_MARKET, 0);
      if (word !== NO_ROOM) commands.publish();
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
  ): number {
    const lane = this.#lanes[shard]!;
    if (lane.isLost) return NO_ROOM;
    const request = this.#free.pop() ?? this.#pending.push(new Pending()) - 1;
    const word = cmd.beginCommand(lane.commands, type, request, account, this.#clock.nowMs(), market, flags);
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
    this.#lanes[shard]!.commands.publish();
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

  #finishPart(fanOut: FanOut): void {
    fanOut.waiting--;
    if (fanOut.waiting > 0) return;
    this.#setReply(fanOut.code, this.#reply.shard, this.#reply.shardSequence);
    this.#reply.a = fanOut.total;
    this.#call(fanOut.handler, fanOut.context);
  }

  /**
   * Only commands from this thread make events, so a pump that always finds more cannot keep sockets waiting for long:
   * without them the ring runs dry.
   */
  async #pump(lane: Lane): Promise<void> {
    try {
      while (!this.#stopped) {
        this.#drain(lane);
        await lane.events.waitAsync(PUMP_WAIT_MS);
      }
    } catch (error) {
      this.#onFatal(error);
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
        default:
          this.#views.apply(lane.shard, words, word);
      }
    }
    lane.events.release();
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
    lane.recoveredSequence = readSafe(words, word + ev.READY_SEQUENCE);
    this.#views.recovered(lane.shard);
    if (this.#lanes.every(({ isReady }) => isReady)) this.#whenReady?.();
  }
}

/** Room also for the padding of a wrap. */
function hasRoomForCancel({ isLost, commands }: Lane): boolean {
  return !isLost && commands.capacity - commands.usedBytes() >= 2 * cmd.COMMAND_BYTES[cmd.COMMAND.CANCEL];
}
