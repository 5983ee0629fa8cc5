/**
 * The commands that the gateway sends to the shards, each written as a record into the command ring of its shard
 * (shardlink/link.ts).
 * Owner: the gateway thread.
 *
 * A method that returns a number returns OK when the command is in the ring: its reply comes to `handler`, once. It
 * returns ENGINE_BUSY when the ring is full or the shard is not READY: then nothing was enqueued and no reply comes.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON, type CloseReason, FEE_ACCOUNT, type MarketStatus, type Stage } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { ADDRESS_BYTES, HASH_BYTES, tryParseHex, UUID_BYTES } from '../../shared/base/hex.ts';
import {
  ANY_GRANT,
  ANY_STAGE,
  BOTH_OUTCOMES,
  BOTH_SIDES,
  CANCEL_TOMBSTONE,
  COMMAND,
  KEYED_CANCEL,
  KEYED_CONVERT,
  NO_MARKET,
  UNCHANGED,
} from '../../shared/wire/commands.ts';
import { writeSafe, writeSigned } from '../../shared/wire/record.ts';
import type { TradePlace, Unwinding } from '../../shared/wire/tradeQuestions.ts';
import { CANCEL_OR_TOMBSTONE, COUNT_CANCELLED, FIND_AND_CANCEL } from './fanOut.ts';
import { NO_ROOM } from './lane.ts';
import type { ShardLink } from './link.ts';
import type { ListedMarket, MarketPatch } from './listedMarket.ts';
import type { PlacementWriter } from './placementWriter.ts';
import type { CommandResult, ReplyHandler } from './reply.ts';
import { request, requestAll } from './request.ts';
import { writePlace } from './setClient.ts';

/** An idempotency key and the fingerprint of its payload, four words each. */
export type CommandKey = { readonly key: Uint32Array; readonly fingerprint: Uint32Array };

export class ShardClient {
  #holdsPlacements = false;
  readonly #link: ShardLink;

  constructor(link: ShardLink) {
    this.#link = link;
  }

  /** Refuses placements, or accepts them again: none is sent while the contracts that orders are signed for change. */
  holdPlacements(isHeld: boolean): void {
    this.#holdsPlacements = isHeld;
  }

  /** Sends the shard the time. When it resolves, the views show everything that was due, if the shard is READY. */
  async catchUp(shard: number): Promise<void> {
    await request(this.#link, shard, COMMAND.TICK.TYPE, FEE_ACCOUNT, NO_MARKET, 0, () => undefined);
  }

  /**
   * `send` sends a command, now or before all later commands (OWED-1); a later one about the subject replaces it.
   * @param isRepeated true if it is not sent at once
   */
  owe(shard: number, subject: string, send: () => number, isRepeated = false): void {
    const owed = this.#link.owed[shard];
    owed.add(subject, () => send() === OK);
    if (!isRepeated && this.isReady(shard)) owed.pay();
  }

  /** True while the shard accepts commands. */
  isReady(shard: number): boolean {
    return this.#link.isReady(shard);
  }

  /** False while a command answered OUTCOME_UNKNOWN may still be carried out. */
  isDecided(shard: number): boolean {
    return this.isReady(shard) && this.#link.load(shard).givenUp === 0;
  }

  /** Publishes everything that `enqueue` writes at once, so that a shard can commit it in one journal transaction. */
  batch(enqueue: () => void): void {
    this.#link.batch(enqueue);
  }

  place<C>(
    shard: number,
    account: number,
    market: number,
    order: PlacementWriter,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    if (this.#holdsPlacements) return E.ENGINE_BUSY;
    const bytes = order.lengthBytes;
    const word = this.#link.claim(shard, COMMAND.PLACE.TYPE, account, market, 0, handler, context, bytes);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    order.writeAt(this.#link.commands(shard).words, word);
    return this.#link.publish(shard);
  }

  /**
   * Replaces the order with this hash by `order`, in its long form. The reply's `a` is 1 when the new order kept the
   * time priority of the old one, `b` is 1 when the price has changed.
   * @param flags REPLACE_MODE, and REPLACE_ELSEWHERE when the old order is open in another shard than this one.
   */
  replace<C>(
    shard: number,
    account: number,
    market: number,
    order: PlacementWriter,
    hash: Uint32Array,
    flags: number,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    const isExtended = order.lengthBytes === COMMAND.REPLACE.oldHash * 4;
    assert(isExtended, 'shard client: a replacement is an extended placement');
    if (this.#holdsPlacements) return E.ENGINE_BUSY;
    const word = this.#link.claim(shard, COMMAND.REPLACE.TYPE, account, market, flags, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const words = this.#link.commands(shard).words;
    order.writeAt(words, word);
    words.set(hash, word + COMMAND.REPLACE.oldHash);
    return this.#link.publish(shard);
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
    const bytes = key && KEYED_CANCEL.BYTES;
    const word = this.#link.claim(shard, COMMAND.CANCEL.TYPE, account, NO_MARKET, reason, handler, context, bytes);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    writeCancel(this.#link.commands(shard).words, word, hash, key);
    return this.#link.publish(shard);
  }

  /**
   * Sends the cancel to every shard, if no open order in the views has this hash; the shard that has ever seen the
   * order decides the reply. This also cancels an order whose placement is still in a ring, because the cancel follows
   * it. While a shard is not READY the reply never says that the order does not exist.
   */
  cancelAnywhere<C>(account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C, key?: CommandKey) {
    return this.#link.fanOut(FIND_AND_CANCEL, handler, context, (shard, onPart, fanOut) => {
      return this.cancel(shard, account, hash, onPart, fanOut, 0, key);
    });
  }

  /**
   * Cancels an order wherever it is. When no shard has ever seen it, every shard leaves a tombstone and refuses the
   * order until the time in the reply's `a` (RULES.md 7.11). That cannot be promised while a shard is not READY.
   */
  cancelOrTombstone<C>(account: number, hash: Uint32Array, handler: ReplyHandler<C>, context: C): number {
    return this.#link.fanOut(CANCEL_OR_TOMBSTONE, handler, context, (shard, onPart, fanOut) => {
      return this.cancel(shard, account, hash, onPart, fanOut, CANCEL_TOMBSTONE);
    });
  }

  /** Cancels the account's orders in the shard: all, or those of a market. The reply's `a` is their number. */
  cancelMany<C>(
    shard: number,
    account: number,
    reason: CloseReason,
    handler: ReplyHandler<C>,
    context: C,
    market = NO_MARKET,
    outcome = BOTH_OUTCOMES,
  ): number {
    const word = this.#link.claim(shard, COMMAND.CANCEL_MANY.TYPE, account, market, reason, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    this.#link.commands(shard).words[word + COMMAND.CANCEL_MANY.outcome] = outcome;
    return this.#link.publish(shard);
  }

  /**
   * Cancels all orders of the account, in every shard. The one reply has their number in `a`, and the code of the first
   * failure if there is one. While a shard is not READY the others still cancel theirs, and its code is
   * OUTCOME_UNKNOWN.
   */
  cancelAll<C>(account: number, handler: ReplyHandler<C>, context: C): number {
    return this.#link.fanOut(COUNT_CANCELLED, handler, context, (shard, onPart, fanOut) => {
      return this.cancelMany(shard, account, CLOSE_REASON.USER, onPart, fanOut);
    });
  }

  /** Cancels the account's orders in the shard that are no longer allowed; `a` is their number. */
  sweep<C>(shard: number, account: number, side: number, grant: number, handler: ReplyHandler<C>, context: C): number {
    const { SWEEP } = COMMAND;
    const word = this.#link.claim(shard, SWEEP.TYPE, account, NO_MARKET, CLOSE_REASON.ADMIN, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const { words } = this.#link.commands(shard);
    words[word + SWEEP.side] = side;
    words[word + SWEEP.grant] = grant;
    return this.#link.publish(shard);
  }

  /** Sweeps all orders of the account from every shard. @returns OK once all are cancelled */
  sweepAll(account: number): Promise<number> {
    return new Promise((resolve) => {
      const onReply: ReplyHandler<null> = ({ code }) => resolve(code);
      const code = this.#link.fanOut(COUNT_CANCELLED, onReply, null, (shard, onPart, fanOut) =>
        this.sweep(shard, account, BOTH_SIDES, ANY_GRANT, onPart, fanOut),
      );
      if (code !== OK) resolve(code);
    });
  }

  /** Refuses the wallet's orders with a lower nonce, and cancels the open ones: `a` is their number. */
  raiseNonceFloor<C>(
    shard: number,
    account: number,
    wallet: string,
    floor: number,
    handler: ReplyHandler<C>,
    context: C,
  ): number {
    const { NONCE_FLOOR } = COMMAND;
    const word = this.#link.claim(shard, NONCE_FLOOR.TYPE, account, NO_MARKET, 0, handler, context);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const { words, bytes } = this.#link.commands(shard);
    writeSafe(words, word + NONCE_FLOOR.floor, floor);
    const isAddress = tryParseHex(wallet, ADDRESS_BYTES, bytes, (word + NONCE_FLOOR.wallet) * 4);
    assert(isAddress, 'shard client: a wallet is an address');
    return this.#link.publish(shard);
  }

  /** Splits USDC into full sets of a market's tokens, or merges sets back into USDC. @param movement with its fee */
  convert<C>(
    shard: number,
    account: number,
    market: number,
    movement: number,
    amountAtomic: number,
    handler: ReplyHandler<C>,
    context: C,
    key?: CommandKey,
  ): number {
    const bytes = key && KEYED_CONVERT.BYTES;
    const word = this.#link.claim(shard, COMMAND.CONVERT.TYPE, account, market, movement, handler, context, bytes);
    if (word === NO_ROOM) return E.ENGINE_BUSY;
    const { words } = this.#link.commands(shard);
    writeSafe(words, word + COMMAND.CONVERT.amountAtomic, amountAtomic);
    if (key !== undefined) {
      words.set(key.key, word + KEYED_CONVERT.key);
      words.set(key.fingerprint, word + KEYED_CONVERT.fingerprint);
    }
    return this.#link.publish(shard);
  }

  /** Pays out the account's tokens of a decided market. */
  claim<C>(shard: number, account: number, market: number, handler: ReplyHandler<C>, context: C): number {
    const word = this.#link.claim(shard, COMMAND.CLAIM.TYPE, account, market, 0, handler, context);
    return word === NO_ROOM ? E.ENGINE_BUSY : this.#link.publish(shard);
  }

  /** Like `claim`, for claims that the exchange itself sends. */
  payClaim(shard: number, account: number, market: number): Promise<CommandResult> {
    return request(this.#link, shard, COMMAND.CLAIM.TYPE, account, market, 0, () => undefined);
  }

  /**
   * Deposits or withdraws. All movements of an account go to the same shard, which remembers their references; a
   * deposit of full sets goes to the shard of their market.
   * @param movement with its fee
   */
  funds(
    account: number,
    movement: number,
    amountMicro: number,
    reference: Uint8Array,
    sets: Pick<ListedMarket, 'index' | 'shard'> | null = null,
  ): Promise<CommandResult> {
    assert(reference.length === HASH_BYTES, 'shard client: a reference is a hash');
    const [shard, market] = sets === null ? [account % this.#link.shards, NO_MARKET] : [sets.shard, sets.index];
    return request(this.#link, shard, COMMAND.FUNDS.TYPE, account, market, movement, ({ words, bytes }, word) => {
      writeSafe(words, word + COMMAND.FUNDS.amountMicro, amountMicro);
      bytes.set(reference, (word + COMMAND.FUNDS.reference) * 4);
    });
  }

  /** Undoes a fill of the shard, which carries each reference out only once. */
  unwind(
    { shard, tradeSequence }: TradePlace,
    { market, maker, taker, changes }: Unwinding,
    reference: Uint8Array,
  ): Promise<CommandResult> {
    const { UNWIND } = COMMAND;
    assert(reference.length === HASH_BYTES, 'shard client: a reference is a hash');
    return request(this.#link, shard, UNWIND.TYPE, maker, market, taker, ({ words, bytes }, word) => {
      bytes.set(reference, (word + UNWIND.reference) * 4);
      writeSafe(words, word + UNWIND.tradeSequence, tradeSequence);
      for (const [index, change] of [...changes.maker, ...changes.taker, ...changes.fee].entries()) {
        writeSigned(words, word + UNWIND.makerMicro + 2 * index, change);
      }
    });
  }

  openMarket(market: ListedMarket, status: MarketStatus, feeBps: number, stage: Stage): Promise<CommandResult> {
    assert(market.idBytes.length === UUID_BYTES, 'shard client: a market id is a UUID');
    return request(
      this.#link,
      market.shard,
      COMMAND.MARKET_OPEN.TYPE,
      FEE_ACCOUNT,
      market.index,
      0,
      ({ words, bytes }, word) => {
        bytes.set(market.idBytes, (word + COMMAND.MARKET_OPEN.uuid) * 4);
        words[word + COMMAND.MARKET_OPEN.ticksPerUnit] = market.ticksPerUnit;
        words[word + COMMAND.MARKET_OPEN.feeBps] = feeBps;
        writeSafe(words, word + COMMAND.MARKET_OPEN.minOrderAtomic, market.minOrderAtomic);
        writeSafe(words, word + COMMAND.MARKET_OPEN.startMs, market.opening.startMs);
        writeSafe(words, word + COMMAND.MARKET_OPEN.endMs, market.opening.endMs);
        words[word + COMMAND.MARKET_OPEN.status] = status;
        words[word + COMMAND.MARKET_OPEN.stage] = stage;
        if (market.place != null) writePlace(words, word, market.place);
      },
    );
  }

  patchMarket(market: number, shard: number, patch: MarketPatch): Promise<CommandResult> {
    return request(this.#link, shard, COMMAND.MARKET_PATCH.TYPE, FEE_ACCOUNT, market, 0, ({ words }, word) => {
      words[word + COMMAND.MARKET_PATCH.status] = patch.status ?? UNCHANGED;
      words[word + COMMAND.MARKET_PATCH.feeBps] = patch.feeBps ?? UNCHANGED;
      writeSafe(words, word + COMMAND.MARKET_PATCH.startMs, patch.startMs);
      writeSafe(words, word + COMMAND.MARKET_PATCH.endMs, patch.endMs);
    });
  }

  /** @param from the present stage; null if the step is to a stricter stage */
  stepMarket(market: number, shard: number, stage: Stage, from: Stage | null): Promise<CommandResult> {
    return request(this.#link, shard, COMMAND.STAGE.TYPE, FEE_ACCOUNT, market, stage, ({ words }, word) => {
      words[word + COMMAND.STAGE.from] = from ?? ANY_STAGE;
    });
  }

  /** The same for every market there is and will be. @returns OK, or the code of the first shard that refused. */
  stepAll(stage: Stage, from: Stage | null): Promise<number> {
    return requestAll(this.#link, COMMAND.STAGE.TYPE, FEE_ACCOUNT, (words, word) => {
      words[word + COMMAND.STAGE.stage] = stage;
      words[word + COMMAND.STAGE.from] = from ?? ANY_STAGE;
    });
  }

  /** @param status RESOLVED or CANCELLED. */
  decideMarket(market: number, shard: number, status: MarketStatus, payoutYesPpm: number): Promise<CommandResult> {
    return request(this.#link, shard, COMMAND.RESOLVE.TYPE, FEE_ACCOUNT, market, 0, ({ words }, word) => {
      words[word + COMMAND.RESOLVE.status] = status;
      words[word + COMMAND.RESOLVE.payoutYesPpm] = payoutYesPpm;
    });
  }

  settleMarket(market: number, shard: number): Promise<CommandResult> {
    return request(this.#link, shard, COMMAND.SETTLE.TYPE, FEE_ACCOUNT, market, 0, () => undefined);
  }

  /** Creates or changes an order group in every shard. @returns OK, or the code of the first shard that refused. */
  setGroup(account: number, group: number, windowSec: number, maxAtomic: number): Promise<number> {
    return requestAll(this.#link, COMMAND.GROUP_SET.TYPE, account, (words, word) => {
      words[word + COMMAND.GROUP_SET.group] = group;
      words[word + COMMAND.GROUP_SET.windowSec] = windowSec;
      writeSafe(words, word + COMMAND.GROUP_SET.maxAtomic, maxAtomic);
    });
  }

  /** Lets a tripped group accept orders again, with nothing filled. */
  resetGroup(account: number, group: number): Promise<number> {
    this.#link.dropPendingTrips(group);
    return requestAll(this.#link, COMMAND.GROUP_RESET.TYPE, account, (words, word) => {
      words[word + COMMAND.GROUP_SET.group] = group;
    });
  }

  /**
   * Makes this the contract and chain that orders are signed for, and cancels the open orders. It may be repeated until
   * it returns OK: a shard that has already changed does nothing. ENGINE_BUSY means that no shard was asked.
   */
  rotateContracts(chainId: number, exchange: Uint8Array): Promise<number> {
    assert(exchange.length === ADDRESS_BYTES, 'shard client: a contract address has 20 bytes');
    return requestAll(this.#link, COMMAND.CONTRACTS.TYPE, FEE_ACCOUNT, (words, word) => {
      writeSafe(words, word + COMMAND.CONTRACTS.chainId, chainId);
      for (let i = 0; i < ADDRESS_BYTES; i++) {
        words[word + COMMAND.CONTRACTS.exchange + (i >>> 2)] |= exchange[i] << (8 * (i & 3));
      }
    });
  }
}

function writeCancel(words: Uint32Array, word: number, hash: Uint32Array, key?: CommandKey): void {
  assert(hash.length === HASH_BYTES / 4, 'shard client: a cancel names an order by its hash');
  words.set(hash, word + COMMAND.CANCEL.hash);
  if (key === undefined) return;
  words.set(key.key, word + KEYED_CANCEL.key);
  words.set(key.fingerprint, word + KEYED_CANCEL.fingerprint);
}
