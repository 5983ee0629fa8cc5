/**
 * Executes accepted orders: reservation, slot, matching, and the replacement of one order by another (RULES.md 2.7). A
 * part of apply.ts, bound by the rules stated there.
 * Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Market } from '../book/market.ts';
import * as rows from '../book/orders.ts';
import { hourAfterSec, hourOfMs } from '../book/retention.ts';
import type { Admitted } from './admitted.ts';
import { NOT_STOPPED } from './matcher.ts';
import { keepsNonce } from './rules.ts';
import type { ShardState } from './state.ts';

const { CLOSE_REASON, OUTCOME, SIDE, TIME_IN_FORCE } = codes;
const {
  ANY_COMMAND,
  COMMAND,
  EXTENDED_PLACE,
  NO_GROUP,
  PLACE_BIT_EXTENDED,
  REPLACE_MODE,
  isBidInYes,
  kindBits,
  kindOutcome,
  kindSide,
  kindTimeInForce,
} = commands;
const { PLACE } = COMMAND;
const { DOUBLE_AT, DOUBLE_SHIFT, NONE, SLOT_STATE, WORD_AT, WORD_SHIFT } = rows;

/** The priority of an order is its own sequence. No order has sequence 0: they are counted from 1. */
const OWN_PRIORITY = 0;

export class Placing {
  readonly #state: ShardState;

  constructor(state: ShardState) {
    this.#state = state;
  }

  /** @returns OK, or INSUFFICIENT_BALANCE with nothing changed, as below. */
  place(words: Uint32Array, word: number, admitted: Admitted): number {
    const { ledger } = this.#state;
    const kind = words[word + PLACE.kind];
    const account = words[word + ANY_COMMAND.account];
    const market = this.#market(words, word);
    if (kindSide(kind) === SIDE.BUY) {
      if (!ledger.tryReserve(account, admitted.reservation)) return E.INSUFFICIENT_BALANCE;
    } else {
      ledger.reserveTokens(account, market.index, kindOutcome(kind), admitted.reservation);
    }
    this.#enter(market, words, word, admitted, OWN_PRIORITY, NONE);
    return OK;
  }

  /**
   * Replaces one order by another (RULES.md 7.10). Another shard can compete only for the USDC that the new order needs
   * beyond the old one's reservation, so that is debited first; everything else stays within this shard. The reply's
   * first two details are 1 or 0: whether the order kept its queue position, and whether its price changed. The third
   * is the old order's remainder in lots.
   */
  replace(words: Uint32Array, word: number, admitted: Admitted): number {
    const { closing, ledger, orders } = this.#state;
    const old = admitted.openSlot;
    assert(old !== NONE, 'placing: an accepted replacement has an open order to replace');
    const kind = words[word + PLACE.kind];
    const account = words[word + ANY_COMMAND.account];
    const market = this.#market(words, word);
    const { limitTicks, quantityLots, reservation } = admitted;
    const isBuy = kindSide(kind) === SIDE.BUY;
    const requiredMicro = isBuy ? reservation : 0;
    const isOldBuy = kindSide(orders.kind[old << WORD_SHIFT]) === SIDE.BUY;
    const heldMicro = isOldBuy ? orders.remainingLots[old << DOUBLE_SHIFT] * orders.limitTicks[old << WORD_SHIFT] : 0;
    const moreMicro = Math.max(0, requiredMicro - heldMicro);
    if (moreMicro > 0 && !ledger.tryReserve(account, moreMicro)) return E.INSUFFICIENT_BALANCE;

    const isAmend = (words[word + ANY_COMMAND.flags] & 0xff) === REPLACE_MODE.AMEND;
    const isSamePrice = orders.limitTicks[old << WORD_SHIFT] === limitTicks;
    const isNoLarger = quantityLots <= orders.remainingLots[old << DOUBLE_SHIFT];
    const keepsPosition =
      isAmend && isSamePrice && isNoLarger && orders.state[old << WORD_SHIFT] === SLOT_STATE.RESTING;
    const priority = keepsPosition ? orders.priorityOf(old) : OWN_PRIORITY;
    const leftLots = orders.remainingLots[old << DOUBLE_SHIFT];
    const before = keepsPosition ? orders.previous[old << WORD_SHIFT] : NONE;
    closing.close(market, old, CLOSE_REASON.USER);
    if (isBuy) {
      const isKept = ledger.tryReserve(account, requiredMicro - moreMicro);
      assert(isKept, 'LEDGER-3: funds released by this command are still there');
    } else {
      ledger.reserveTokens(account, market.index, kindOutcome(kind), reservation);
    }
    this.#enter(market, words, word, admitted, priority, before);
    admitted.detailA = keepsPosition ? 1 : 0;
    admitted.detailB = isSamePrice ? 0 : 1;
    admitted.detailC = leftLots;
    return OK;
  }

  /**
   * Adds an order with its reservation to the pool, matches it, and lets its remainder rest.
   * @param priority OWN_PRIORITY, or an older one that it keeps; then it rests after `before`, an order or NONE.
   */
  #enter(market: Market, words: Uint32Array, word: number, admitted: Admitted, priority: number, before: number): void {
    const { closing, orders, digest, emit, matcher, expiry } = this.#state;
    const { limitTicks, quantityLots } = admitted;
    const kind = words[word + PLACE.kind];
    const account = words[word + ANY_COMMAND.account];
    assert(limitTicks > 0 && limitTicks < market.ticksPerUnit, 'placing: a limit is between 0 and 1 USDC');
    assert(quantityLots > 0, 'ORDERS-3: an order is for at least one lot');
    assert(words[word + PLACE.feeBps] === market.feeBps, 'BOOK-2: an accepted order has the canonical fee');
    const slot = orders.allocate(account);
    orders.signed.setHash(slot, words, word + PLACE.hash);
    if (keepsNonce(words[word + ANY_COMMAND.flags]))
      orders.signed.setNonce(slot, words, word + PLACE.nonce, word + PLACE.makerAddress);
    else orders.signed.setNoNonce(slot);
    const isYes = kindOutcome(kind) === OUTCOME.YES;
    const row = slot << WORD_SHIFT;
    const fields = orders.words;
    fields[row | WORD_AT.MARKET] = market.index;
    fields[row | WORD_AT.KIND] = kind;
    fields[row | WORD_AT.IS_BID] = isBidInYes(kind);
    fields[row | WORD_AT.LIMIT_TICKS] = limitTicks;
    fields[row | WORD_AT.YES_TICKS] = isYes ? limitTicks : market.ticksPerUnit - limitTicks;
    fields[row | WORD_AT.FEE_BPS] = words[word + PLACE.feeBps];
    fields[row | WORD_AT.GRANT] = words[word + PLACE.grant];
    const at = slot << DOUBLE_SHIFT;
    const { doubles } = orders;
    doubles[at | DOUBLE_AT.QUANTITY_LOTS] = quantityLots;
    doubles[at | DOUBLE_AT.REMAINING_LOTS] = quantityLots;
    doubles[at | DOUBLE_AT.FILLED_NOTIONAL] = 0;
    doubles[at | DOUBLE_AT.MAKER_AMOUNT] = readSafe(words, word + PLACE.makerAmount);
    doubles[at | DOUBLE_AT.TAKER_AMOUNT] = readSafe(words, word + PLACE.takerAmount);
    doubles[at | DOUBLE_AT.EXPIRATION_SEC] = readSafe(words, word + PLACE.expirationSec);
    doubles[at | DOUBLE_AT.SEQUENCE] = ++this.#state.orderSequence;
    doubles[at | DOUBLE_AT.CREATED_MS] = readSafe(words, word + ANY_COMMAND.timeMs);
    this.#remember(market, words, word, account);
    market.openOrders++;
    emit.accepted(slot, words, word);
    if ((kindBits(kind) & PLACE_BIT_EXTENDED) !== 0) this.#tag(slot, words, word, priority);

    const stopped = matcher.match(market, slot);
    const timeInForce = kindTimeInForce(kind);
    if (orders.remainingLots[slot << DOUBLE_SHIFT] === 0) closing.close(market, slot, CLOSE_REASON.FILLED);
    else if (stopped !== NOT_STOPPED) closing.close(market, slot, stopped);
    else if (timeInForce === TIME_IN_FORCE.FAK) closing.close(market, slot, CLOSE_REASON.FAK_REMAINDER);
    else {
      assert(timeInForce !== TIME_IN_FORCE.FOK, 'placing: an accepted FOK fills completely');
      // At the old order's price nothing could match, so its neighbour in the queue still exists.
      if (priority === OWN_PRIORITY) market.book.rest(slot);
      else market.book.restBehind(slot, before);
      this.#state.openOrders.insert(orders.signed.words, slot);
      digest.markOrder(slot);
      emit.rest(slot, ++market.sequence);
      if (orders.expirationSec[slot << DOUBLE_SHIFT] !== 0) expiry.add(slot);
    }
  }

  /** The order is not accepted again, as long as it could be. */
  #remember(market: Market, words: Uint32Array, word: number, account: number): void {
    const { digest, hashes } = this.#state;
    const hash = word + PLACE.hash;
    hashes.retention.reach(hourOfMs(readSafe(words, word + ANY_COMMAND.timeMs)));
    hashes.insert(words, hash, account, market.index, hourAfterSec(readSafe(words, word + PLACE.expirationSec)));
    digest.hashAccepted(words, hash, account);
  }

  /** Keeps the client order id, the group and the older priority of an order, if it has any of them. */
  #tag(slot: number, words: Uint32Array, word: number, priority: number): void {
    const { emit, orders } = this.#state;
    const bytes = words[word + EXTENDED_PLACE.clientIdBytes];
    const group = words[word + EXTENDED_PLACE.group];
    if (bytes === 0 && group === NO_GROUP && priority === OWN_PRIORITY) return;
    assert(priority <= orders.sequence[slot << DOUBLE_SHIFT], 'TAGS-2: no priority is newer than its order');
    const tag = orders.tags.allocate();
    orders.tag[slot << WORD_SHIFT] = tag;
    orders.tags.setClientId(tag, words, word + EXTENDED_PLACE.clientId, bytes);
    orders.tags.group[tag] = group;
    orders.tags.priority[tag] = priority === OWN_PRIORITY ? orders.sequence[slot << DOUBLE_SHIFT] : priority;
    emit.tag(slot);
  }

  #market(words: Uint32Array, word: number): Market {
    const market = this.#state.markets.get(words[word + ANY_COMMAND.market]);
    assert(market !== undefined, 'placing: the market of an accepted command is known');
    return market;
  }
}
