/**
 * What an accepted order does: its reservation, its row, its way through the book. And how one order gives way to
 * another. Part of apply.ts, and bound by what is said there. Owner: the shard thread.
 */
import { assert } from '../shared/assert.ts';
import * as codes from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import { E, OK } from '../shared/errors.ts';
import { readSafe } from '../shared/record.ts';
import { isBidInYes } from './entry.ts';
import { toGrid } from './grid.ts';
import type { Market } from './market.ts';
import { GOES_ON } from './matcher.ts';
import * as rows from './orders.ts';
import { NONE, PLACE_OF } from './orders.ts';
import type { ShardState } from './state.ts';

// Own constants for speed: see emit.ts.
const { CLOSE_REASON, OUTCOME, SIDE, TIME_IN_FORCE } = codes;
const cmd = { ...commands };
const { AT, NUMBER_AT, NUMBERS, WORDS } = rows;

/** No order has it: orders are counted from 1. */
const OWN_PRIORITY = 0;

export class Placing {
  /** Of the last replacement. */
  keptPlace = false;
  changedPrice = false;
  readonly #state: ShardState;

  constructor(state: ShardState) {
    this.#state = state;
  }

  /** @returns OK, or INSUFFICIENT_BALANCE with nothing changed, as below. */
  place(words: Uint32Array, word: number): number {
    const { ledger } = this.#state;
    const kind = words[word + cmd.PLACE_KIND]!;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const market = this.#market(words, word);
    const { limitTicks, quantityLots } = this.#state.grid;
    if (cmd.kindSide(kind) === SIDE.BUY) {
      if (!ledger.tryReserve(account, quantityLots * limitTicks)) return E.INSUFFICIENT_BALANCE;
    } else {
      ledger.reserveTokens(account, market.index, cmd.kindOutcome(kind), quantityLots * market.ticksPerUnit);
    }
    this.#enter(market, words, word, OWN_PRIORITY, NONE);
    return OK;
  }

  /**
   * One order gives way to another (RULES.md 7.10). Only what the new one needs beyond the old one's reservation can be
   * won by another shard in between, so that is taken first; the rest never leaves this shard.
   */
  replace(words: Uint32Array, word: number): number {
    const { hashes, ledger, matcher, orders } = this.#state;
    const found = hashes.find(words, word + cmd.REPLACE_HASH);
    assert(found && hashes.foundSlot >= 0, 'apply: an accepted replacement has an open order to replace');
    const old = hashes.foundSlot;
    const kind = words[word + cmd.PLACE_KIND]!;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const market = this.#market(words, word);
    const { limitTicks, quantityLots } = this.#state.grid;
    const isBuy = cmd.kindSide(kind) === SIDE.BUY;
    const requiredMicro = isBuy ? quantityLots * limitTicks : 0;
    const isOldBuy = cmd.kindSide(orders.kind[old << WORDS]!) === SIDE.BUY;
    const heldMicro = isOldBuy ? orders.remainingLots[old << NUMBERS]! * orders.limitTicks[old << WORDS]! : 0;
    const moreMicro = Math.max(0, requiredMicro - heldMicro);
    if (moreMicro > 0 && !ledger.tryReserve(account, moreMicro)) return E.INSUFFICIENT_BALANCE;

    const isAmend = (words[word + cmd.CMD_FLAGS]! & 0xff) === cmd.REPLACE_MODE.AMEND;
    const isSamePrice = orders.limitTicks[old << WORDS] === limitTicks;
    const isNoLarger = quantityLots <= orders.remainingLots[old << NUMBERS]!;
    const keepsPlace = isAmend && isSamePrice && isNoLarger && orders.place[old << WORDS] === PLACE_OF.RESTING;
    const priority = keepsPlace ? orders.priorityOf(old) : OWN_PRIORITY;
    const before = keepsPlace ? orders.previous[old << WORDS]! : NONE;
    matcher.close(market, old, CLOSE_REASON.USER);
    if (isBuy) {
      const isKept = ledger.tryReserve(account, requiredMicro - moreMicro);
      assert(isKept, 'M3: what was released in this command is still there');
    } else {
      ledger.reserveTokens(account, market.index, cmd.kindOutcome(kind), quantityLots * market.ticksPerUnit);
    }
    this.#enter(market, words, word, priority, before);
    this.keptPlace = keepsPlace;
    this.changedPrice = !isSamePrice;
    return OK;
  }

  /** For a command that no check has seen: its grid. */
  prepare(words: Uint32Array, word: number): void {
    const { grid } = this.#state;
    const market = this.#market(words, word);
    const kind = words[word + cmd.PLACE_KIND]!;
    const makerAmount = readSafe(words, word + cmd.PLACE_MAKER_AMOUNT);
    const takerAmount = readSafe(words, word + cmd.PLACE_TAKER_AMOUNT);
    const [side, timeInForce] = [cmd.kindSide(kind), cmd.kindTimeInForce(kind)];
    const offGrid = toGrid(side, timeInForce, makerAmount, takerAmount, market.ticksPerUnit, grid);
    assert(offGrid === OK && grid.quantityLots > 0, 'apply: an accepted order is on the grid');
  }

  /**
   * An order whose reservation is made, with its grid in the state's: into the pool, through the book, to rest.
   * @param priority OWN_PRIORITY, or an older one that it keeps; then it rests behind `before`, an order or NONE.
   */
  #enter(market: Market, words: Uint32Array, word: number, priority: number, before: number): void {
    const { orders, groups, hashes, digest, emit, matcher, expiry } = this.#state;
    const { limitTicks, quantityLots } = this.#state.grid;
    const kind = words[word + cmd.PLACE_KIND]!;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const slot = orders.allocate(account);
    orders.setHash(slot, words, word + cmd.PLACE_HASH);
    const isYes = cmd.kindOutcome(kind) === OUTCOME.YES;
    const row = slot << WORDS;
    const fields = orders.words;
    fields[row | AT.MARKET] = market.index;
    fields[row | AT.KIND] = kind;
    fields[row | AT.IS_BID] = isBidInYes(kind);
    fields[row | AT.LIMIT_TICKS] = limitTicks;
    fields[row | AT.YES_TICKS] = isYes ? limitTicks : market.ticksPerUnit - limitTicks;
    fields[row | AT.FEE_BPS] = words[word + cmd.PLACE_FEE_BPS]!;
    const at = slot << NUMBERS;
    const { numbers } = orders;
    numbers[at | NUMBER_AT.QUANTITY_LOTS] = quantityLots;
    numbers[at | NUMBER_AT.REMAINING_LOTS] = quantityLots;
    numbers[at | NUMBER_AT.FILLED_NOTIONAL] = 0;
    numbers[at | NUMBER_AT.MAKER_AMOUNT] = readSafe(words, word + cmd.PLACE_MAKER_AMOUNT);
    numbers[at | NUMBER_AT.TAKER_AMOUNT] = readSafe(words, word + cmd.PLACE_TAKER_AMOUNT);
    numbers[at | NUMBER_AT.EXPIRATION_SEC] = readSafe(words, word + cmd.PLACE_EXPIRATION_SEC);
    numbers[at | NUMBER_AT.SEQUENCE] = ++this.#state.orderSequence;
    numbers[at | NUMBER_AT.CREATED_MS] = readSafe(words, word + cmd.CMD_TIME_MS);
    fields[row | AT.HASH_ENTRY] = hashes.insert(words, word + cmd.PLACE_HASH, account, slot);
    digest.hashAccepted(words, word + cmd.PLACE_HASH, account);
    market.openOrders++;
    emit.accepted(slot, words, word);
    if ((cmd.kindBits(kind) & cmd.PLACE_BIT_EXTENDED) !== 0) this.#tag(slot, words, word, priority);

    if (groups.count > 0) groups.nowMs = readSafe(words, word + cmd.CMD_TIME_MS);
    const stopped = matcher.match(market, slot);
    const timeInForce = cmd.kindTimeInForce(kind);
    if (orders.remainingLots[slot << NUMBERS] === 0) matcher.close(market, slot, CLOSE_REASON.FILLED);
    else if (stopped !== GOES_ON) matcher.close(market, slot, stopped);
    else if (timeInForce === TIME_IN_FORCE.FAK) matcher.close(market, slot, CLOSE_REASON.FAK_REMAINDER);
    else {
      assert(timeInForce !== TIME_IN_FORCE.FOK, 'apply: an accepted FOK fills completely');
      // Where the old order stood nothing could match, so its neighbour is still there.
      if (priority === OWN_PRIORITY) market.book.rest(slot);
      else market.book.restBehind(slot, before);
      digest.noteOrder(slot);
      emit.rest(slot, ++market.sequence);
      if (orders.expirationSec[slot << NUMBERS] !== 0) expiry.add(slot);
    }
  }

  /** Keeps what an extended command says of its order, if it says anything, and tells of it. */
  #tag(slot: number, words: Uint32Array, word: number, priority: number): void {
    const { emit, orders } = this.#state;
    const bytes = words[word + cmd.EXT_CLIENT_ID_BYTES]!;
    const group = words[word + cmd.EXT_GROUP]!;
    if (bytes === 0 && group === cmd.NO_GROUP && priority === OWN_PRIORITY) return;
    const tag = orders.tags.allocate();
    orders.tag[slot << WORDS] = tag;
    orders.tags.setClientId(tag, words, word + cmd.EXT_CLIENT_ID, bytes);
    orders.tags.group[tag] = group;
    orders.tags.priority[tag] = priority === OWN_PRIORITY ? orders.sequence[slot << NUMBERS]! : priority;
    emit.tag(slot);
  }

  #market(words: Uint32Array, word: number): Market {
    const market = this.#state.markets.get(words[word + cmd.CMD_MARKET]!);
    assert(market !== undefined, 'apply: the market of an accepted command is known');
    return market;
  }
}
