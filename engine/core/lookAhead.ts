/**
 * The look-ahead computes how much of an order the book would fill at once, to decide FOK, FAK and minimum net before
 * anything changes. It changes nothing but the trial counts of order groups. Owner: the shard thread.
 *
 * Levels are added up as a whole. The orders of a level are visited one by one only if one of them can make a
 * difference: an order in a group, whose trip cancels the group's other orders; an order of the same account, with
 * self-trade prevention; or the fill that trips the incoming order's own group. A FOK order for more than the levels
 * hold is refused before any walk, and a FAK order needs a single lot. So an order visits no more resting orders than
 * it would fill, apart from those that groups and self-trade prevention remove: other accounts' orders are visited only
 * for an account that has the money to trade with them.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { type Levels, NO_TICK } from '../book/levels.ts';
import type { Market } from '../book/market.ts';
import type { Groups } from '../book/orderGroups.ts';
import type { Orders } from '../book/orders.ts';
import * as rows from '../book/orders.ts';
import type { Admitted } from './admitted.ts';
import { groupIn, selfTradeMode } from './orderCommand.ts';

const { OUTCOME, SELF_TRADE, TIME_IN_FORCE } = codes;
const { ANY_COMMAND, COMMAND, NO_GROUP, isBidInYes, kindOutcome, kindTimeInForce } = commands;
const { PLACE } = COMMAND;
const { DOUBLE_SHIFT, NONE, SLOT_STATE, WORD_SHIFT } = rows;

/** The most own orders that are located by level; with more, every level counts as having one. */
const MOST_OWN_LOOKED_FOR = 256;
const MOST_TICKS = 10_000;
const LAST_RUN = 0xff;

export class LookAhead {
  readonly #orders: Orders;
  readonly #groups: Groups;
  /**
   * By tick: number of the last run that found an own order there. Runs are counted up to the cell's maximum, then from
   * 1 again.
   */
  readonly #ownAt = new Uint8Array(MOST_TICKS);
  #run = 0;
  /** True if the last `#walk` reached an order, or a fill, that stops the incoming order. */
  #isStopped = false;

  // The order at hand, as the functions below need it.
  #account = 0;
  #mode: number = SELF_TRADE.NONE;
  #group: number = NO_GROUP;
  #ticksPerUnit = 0;
  #isBid = 0;
  #limitYesTicks = 0;
  #hasManyOwn = false;

  constructor(orders: Orders, groups: Groups) {
    this.#orders = orders;
    this.#groups = groups;
  }

  /**
   * Computes `reachableLots` and `reachableNotionalMicro` for the order of a PLACE or REPLACE. For a FAK order without
   * a minimum net it stops at one lot; for a FOK order that cannot be filled it gives an upper bound below the
   * quantity.
   */
  run(market: Market, words: Uint32Array, word: number, admitted: Admitted): void {
    const kind = words[word + PLACE.kind];
    const isYes = kindOutcome(kind) === OUTCOME.YES;
    const isFak = kindTimeInForce(kind) === TIME_IN_FORCE.FAK;
    const { limitTicks, quantityLots } = admitted;
    const { ticksPerUnit } = market;
    this.#account = words[word + ANY_COMMAND.account];
    this.#group = groupIn(words, word);
    this.#ticksPerUnit = ticksPerUnit;
    this.#isBid = isBidInYes(kind);
    this.#limitYesTicks = isYes ? limitTicks : ticksPerUnit - limitTicks;
    const levels = market.book.opposite(this.#isBid);
    const wanted = isFak && readSafe(words, word + PLACE.minTakerNet) === 0 ? 1 : quantityLots;
    this.#mode = this.#orders.firstOf(this.#account) === NONE ? SELF_TRADE.NONE : selfTradeMode(kind);
    if (!isFak && !this.#mayFill(levels, wanted)) {
      admitted.reachableLots = 0;
      admitted.reachableNotionalMicro = 0;
      return;
    }
    if (this.#mode !== SELF_TRADE.NONE) this.#findOwn(market.index);
    if (this.#groups.count > 0) this.#groups.startTrial(readSafe(words, word + ANY_COMMAND.timeMs));
    this.#isStopped = false;
    let lots = 0;
    let notionalMicro = 0;
    let tick = levels.bestTick;
    while (this.#isInReach(tick) && lots < wanted && !this.#isStopped) {
      const taken = this.#takenAt(levels, tick, wanted - lots);
      lots += taken;
      notionalMicro += taken * (isYes ? tick : ticksPerUnit - tick);
      tick = levels.worseThan(tick);
    }
    assert(lots <= quantityLots, 'look-ahead: no more is filled than was ordered');
    assert(notionalMicro <= lots * ticksPerUnit, 'look-ahead: a price is below 1 USDC');
    admitted.reachableLots = lots;
    admitted.reachableNotionalMicro = notionalMicro;
  }

  #isInReach(tick: number): boolean {
    if (tick === NO_TICK) return false;
    return this.#isBid === 1 ? tick <= this.#limitYesTicks : tick >= this.#limitYesTicks;
  }

  /** False if the levels hold less than is wanted, whatever their orders are. */
  #mayFill(levels: Levels, wanted: number): boolean {
    let lots = 0;
    for (let tick = levels.bestTick; this.#isInReach(tick) && lots < wanted; tick = levels.worseThan(tick))
      lots += levels.totalLots[tick];
    return lots >= wanted;
  }

  /** Marks the levels at which orders of the account wait that the incoming order would meet. */
  #findOwn(market: number): void {
    const orders = this.#orders;
    if (this.#run === LAST_RUN) {
      this.#ownAt.fill(0);
      this.#run = 0;
    }
    this.#run++;
    let found = 0;
    let slot = orders.firstOf(this.#account);
    for (; slot !== NONE && found < MOST_OWN_LOOKED_FOR; slot = orders.accountNext[slot << WORD_SHIFT], found++) {
      const row = slot << WORD_SHIFT;
      const isMet = orders.market[row] === market && orders.isBid[row] !== this.#isBid;
      if (isMet && orders.state[row] === SLOT_STATE.RESTING) this.#ownAt[orders.yesTicks[row]] = this.#run;
    }
    this.#hasManyOwn = slot !== NONE;
  }

  /** Lots of a level that would fill the order, up to the lots that it still wants. */
  #takenAt(levels: Levels, tick: number, wanted: number): number {
    const hasOwn = this.#mode !== SELF_TRADE.NONE && (this.#hasManyOwn || this.#ownAt[tick] === this.#run);
    const taken = Math.min(levels.totalLots[tick], wanted);
    if (hasOwn || levels.groupedOrders[tick] > 0) return this.#walk(levels.head[tick], wanted);
    if (this.#group === NO_GROUP) return taken;
    const atomic = taken * this.#ticksPerUnit;
    if (this.#groups.wouldTrip(this.#group, atomic)) return this.#walk(levels.head[tick], wanted);
    this.#groups.tryFill(this.#group, atomic);
    return taken;
  }

  /** Walks a level's queue from its head, order by order. @returns the lots that would be filled there. */
  #walk(head: number, wanted: number): number {
    const orders = this.#orders;
    const groups = this.#groups;
    const ticksPerUnit = this.#ticksPerUnit;
    let lots = 0;
    for (let slot = head; slot !== NONE && lots < wanted; slot = orders.next[slot << WORD_SHIFT]) {
      if (this.#mode !== SELF_TRADE.NONE && orders.account[slot << WORD_SHIFT] === this.#account) {
        if (this.#mode === SELF_TRADE.CANCEL_OLDEST) continue;
        this.#isStopped = true;
        return lots;
      }
      const makerGroup = orders.groupOf(slot);
      if (makerGroup !== NO_GROUP && groups.wouldTrip(makerGroup)) continue;
      const taken = Math.min(orders.remainingLots[slot << DOUBLE_SHIFT], wanted - lots);
      assert(taken > 0, 'ORDERS-3: an open order has something left');
      lots += taken;
      if (makerGroup !== NO_GROUP) groups.tryFill(makerGroup, taken * ticksPerUnit);
      if (this.#group === NO_GROUP) continue;
      groups.tryFill(this.#group, taken * ticksPerUnit);
      if (!groups.wouldTrip(this.#group)) continue;
      this.#isStopped = true;
      return lots;
    }
    return lots;
  }
}
