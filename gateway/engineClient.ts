/**
 * The commands that the gateway has for the shards, as records in the rings of the link (engineLink.ts). One that finds
 * no room, or its shard away, was not enqueued, and whoever gave it is told ENGINE_BUSY at once.
 * Owner: the gateway thread.
 */
import { assert } from '../shared/assert.ts';
import { CLOSE_REASON, FEE_ACCOUNT, type MarketStatus, type MOVEMENT, type Movement } from '../shared/codes.ts';
import * as cmd from '../shared/commands.ts';
import { E } from '../shared/errors.ts';
import { ADDRESS_BYTES, HASH_BYTES, UUID_BYTES } from '../shared/hex.ts';
import { writeSafe } from '../shared/record.ts';
import type { MarketEntry } from './control/catalog.ts';
import type { EngineReply, ReplyHandler } from './engineLane.ts';
import { type EngineLink, NO_ROOM } from './engineLink.ts';
import { BURIED, COUNTED, SEARCHED } from './fanOut.ts';

export type { EngineReply, ReplyHandler } from './engineLane.ts';

export type MarketTerms = Pick<
  MarketEntry,
  'index' | 'shard' | 'idBytes' | 'ticksPerUnit' | 'minOrderAtomic' | 'opening'
>;

export type MarketPatch = {
  readonly status?: MarketStatus;
  readonly feeBps?: number;
  readonly startMs: number;
  readonly endMs: number;
};

/** An idempotency key and the fingerprint of its payload, four words each. */
export type CommandKey = { readonly words: Uint32Array; readonly fingerprint: Uint32Array };

export class EngineClient {
  /** No order is sent to any shard: the contracts they are signed for are changing. */
  holdsPlacements = false;
  readonly #link: EngineLink;

  constructor(link: EngineLink) {
    this.#link = link;
  }

  /** Whether the shard takes commands. */
  isReady(shard: number): boolean {
    return this.#link.isReady(shard);
  }

  /** What `enqueue` sends to a shard reaches it in one go, so that it can share one journal transaction. */
  inOneGo(enqueue: () => void): void {
    this.#link.inOneGo(enqueue);
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
    if (this.holdsPlacements) return E.ENGINE_BUSY;
    const word = this.#link.begin(shard, cmd.COMMAND.PLACE, account, market, 0, handler, context, record.length * 4);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const words = this.#link.commands(shard).words;
    for (let i = cmd.CMD_BODY; i < record.length; i++) words[word + i] = record[i]!;
    return this.#link.send(shard);
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
    if (this.holdsPlacements) return E.ENGINE_BUSY;
    const word = this.#link.begin(shard, cmd.COMMAND.REPLACE, account, market, flags, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const words = this.#link.commands(shard).words;
    for (let i = cmd.CMD_BODY; i < record.length; i++) words[word + i] = record[i]!;
    words.set(hash, word + cmd.REPLACE_HASH);
    return this.#link.send(shard);
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
    const word = this.#link.begin(shard, cmd.COMMAND.CANCEL, account, cmd.NO_MARKET, reason, handler, context, bytes);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    writeCancel(this.#link.commands(shard).words, word, hash, key);
    return this.#link.send(shard);
  }

  /**
   * For a hash that no open order here has: every shard is asked, and the one that ever saw the order answers. That
   * also cancels an order whose placement is still in a ring, since the cancel comes behind it. While a shard is away
   * nobody can say that there is no such order.
   */
  cancelAnywhere<C>(account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C, key?: CommandKey) {
    return this.#link.fanOut(SEARCHED, handler, context, (shard, onPart, fanOut) => {
      return this.cancel(shard, account, hash, onPart, fanOut, 0, key);
    });
  }

  /**
   * Cancels an order wherever it is, or, when no shard has ever seen it, has them all refuse it for a while
   * (RULES.md 7.11): then the reply's `a` is until when. Nobody can promise that while a shard is away.
   */
  cancelOrBury<C>(account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C): number {
    return this.#link.fanOut(BURIED, handler, context, (shard, onPart, fanOut) => {
      return this.cancel(shard, account, hash, onPart, fanOut, cmd.CANCEL_TOMBSTONE);
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
    const word = this.#link.begin(shard, cmd.COMMAND.CANCEL_MANY, account, market, CLOSE_REASON.USER, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    this.#link.commands(shard).words[word + cmd.CANCEL_MANY_OUTCOME] = outcome;
    return this.#link.send(shard);
  }

  /**
   * Every shard cancels its part; one reply with the sum in `a`, and the first failure's code if there is one. While a
   * shard is away the others still do theirs, and the answer is to ask again.
   */
  cancelAll<C>(account: number, handler: ReplyHandler<C>, context: C): number {
    return this.#link.fanOut(COUNTED, handler, context, (shard, onPart, fanOut) => {
      return this.cancelMarket(shard, account, cmd.NO_MARKET, cmd.BOTH_OUTCOMES, onPart, fanOut);
    });
  }

  /** Everything the account has open on the shard, because its heartbeats have stopped; `a` is how many there were. */
  cancelAfterSilence<C>(shard: number, account: number, handler: ReplyHandler<C>, context: C): number {
    const { HEARTBEAT } = CLOSE_REASON;
    const word = this.#link.begin(shard, cmd.COMMAND.CANCEL_MANY, account, cmd.NO_MARKET, HEARTBEAT, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    this.#link.commands(shard).words[word + cmd.CANCEL_MANY_OUTCOME] = cmd.BOTH_OUTCOMES;
    return this.#link.send(shard);
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
    const word = this.#link.begin(shard, cmd.COMMAND.CONVERT, account, market, movement, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    writeSafe(this.#link.commands(shard).words, word + cmd.CONVERT_AMOUNT, amountAtomic);
    return this.#link.send(shard);
  }

  /** Turns the account's tokens of a decided market into what they pay. */
  claim<C>(shard: number, account: number, market: number, handler: ReplyHandler<C>, context: C): number {
    const word = this.#link.begin(shard, cmd.COMMAND.CLAIM, account, market, 0, handler, context);
    return word === NO_ROOM ? E.ENGINE_BUSY : this.#link.send(shard);
  }

  /** Money in or out. An account's movements go to one shard, always the same: that shard knows their references. */
  funds(account: number, movement: Movement, amountMicro: number, reference: Uint8Array): Promise<EngineReply> {
    assert(reference.length === HASH_BYTES, 'engine client: a reference is a hash');
    const shard = account % this.#link.shards;
    return this.#link.ask(shard, cmd.COMMAND.FUNDS, account, cmd.NO_MARKET, movement, ({ words, bytes }, word) => {
      writeSafe(words, word + cmd.FUNDS_AMOUNT, amountMicro);
      bytes.set(reference, (word + cmd.FUNDS_REFERENCE) * 4);
    });
  }

  openMarket(market: MarketTerms, status: MarketStatus, feeBps: number): Promise<EngineReply> {
    assert(market.idBytes.length === UUID_BYTES, 'engine client: a market id is a UUID');
    return this.#link.ask(
      market.shard,
      cmd.COMMAND.MARKET_OPEN,
      FEE_ACCOUNT,
      market.index,
      0,
      ({ words, bytes }, word) => {
        bytes.set(market.idBytes, (word + cmd.OPEN_UUID) * 4);
        words[word + cmd.OPEN_TICKS_PER_UNIT] = market.ticksPerUnit;
        words[word + cmd.OPEN_FEE_BPS] = feeBps;
        writeSafe(words, word + cmd.OPEN_MIN_ORDER, market.minOrderAtomic);
        writeSafe(words, word + cmd.OPEN_START_MS, market.opening.startMs);
        writeSafe(words, word + cmd.OPEN_END_MS, market.opening.endMs);
        words[word + cmd.OPEN_STATUS] = status;
      },
    );
  }

  patchMarket(market: number, shard: number, patch: MarketPatch): Promise<EngineReply> {
    return this.#link.ask(shard, cmd.COMMAND.MARKET_PATCH, FEE_ACCOUNT, market, 0, ({ words }, word) => {
      words[word + cmd.PATCH_STATUS] = patch.status ?? cmd.UNCHANGED;
      words[word + cmd.PATCH_FEE_BPS] = patch.feeBps ?? cmd.UNCHANGED;
      writeSafe(words, word + cmd.PATCH_START_MS, patch.startMs);
      writeSafe(words, word + cmd.PATCH_END_MS, patch.endMs);
    });
  }

  /** @param status RESOLVED or CANCELLED. */
  decideMarket(market: number, shard: number, status: MarketStatus, payoutYesPpm: number): Promise<EngineReply> {
    return this.#link.ask(shard, cmd.COMMAND.RESOLVE, FEE_ACCOUNT, market, 0, ({ words }, word) => {
      words[word + cmd.RESOLVE_STATUS] = status;
      words[word + cmd.RESOLVE_PAYOUT_YES_PPM] = payoutYesPpm;
    });
  }

  settleMarket(market: number, shard: number): Promise<EngineReply> {
    return this.#link.ask(shard, cmd.COMMAND.SETTLE, FEE_ACCOUNT, market, 0, () => undefined);
  }

  /** Makes or changes an order group in every shard. @returns OK, or that of the first shard that did not. */
  setGroup(account: number, group: number, windowSec: number, maxAtomic: number): Promise<number> {
    return this.#link.askAll(cmd.COMMAND.GROUP_SET, account, (words, word) => {
      words[word + cmd.GROUP_INDEX] = group;
      words[word + cmd.GROUP_WINDOW_SEC] = windowSec;
      writeSafe(words, word + cmd.GROUP_MAX_ATOMIC, maxAtomic);
    });
  }

  /** Takes orders of a group again, from nothing filled on. */
  resetGroup(account: number, group: number): Promise<number> {
    this.#link.forgetTrips(group);
    return this.#link.askAll(cmd.COMMAND.GROUP_RESET, account, (words, word) => {
      words[word + cmd.GROUP_INDEX] = group;
    });
  }

  /**
   * Orders are signed for this contract and chain from here on; open ones are cancelled. May be asked again until it is
   * OK: a shard that is there already does nothing. ENGINE_BUSY: no shard was asked.
   */
  rotateContracts(chainId: number, exchange: Uint8Array): Promise<number> {
    assert(exchange.length === ADDRESS_BYTES, 'engine client: a contract address has 20 bytes');
    return this.#link.askAll(cmd.COMMAND.CONTRACTS, FEE_ACCOUNT, (words, word) => {
      writeSafe(words, word + cmd.CONTRACTS_CHAIN_ID, chainId);
      for (let i = 0; i < ADDRESS_BYTES; i++) {
        words[word + cmd.CONTRACTS_EXCHANGE + (i >>> 2)]! |= exchange[i]! << (8 * (i & 3));
      }
    });
  }
}

function writeCancel(words: Uint32Array, word: number, hash: Uint32Array, key?: CommandKey): void {
  words.set(hash, word + cmd.CANCEL_HASH);
  if (key === undefined) return;
  words.set(key.words, word + cmd.CANCEL_KEY);
  words.set(key.fingerprint, word + cmd.CANCEL_FINGERPRINT);
}
