/**
 * The look-ahead that decides FOK, FAK and minimum net before anything changes: how much of an order the book would
 * fill at once. It changes nothing but the trial counts of order groups. Owner: the shard thread.
 *
 * Levels are added up whole. Single orders are walked only for self-trade prevention, and where there are order groups:
 * a maker's group that trips cancels its other orders, and the order's own group stops the order once it trips.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { NO_TICK } from '../book/levels.ts';
import type { Market } from '../book/market.ts';
import type { Groups } from '../book/orderGroups.ts';
import type { Orders } from '../book/orders.ts';
import * as rows from '../book/orders.ts';
import type { Admitted } from './admitted.ts';
import { groupIn, isBidInYes, selfTradeMode } from './orderCommand.ts';

// V8 folds the constants of this module, not imported ones: see engine/output/emit.ts.
const { OUTCOME, SELF_TRADE } = codes;
const { ANY_COMMAND, COMMAND, NO_GROUP, kindOutcome } = commands;
const { PLACE } = COMMAND;
const { DOUBLE_SHIFT, NONE, WORD_SHIFT } = rows;

export class LookAhead {
  readonly #orders: Orders;
  readonly #groups: Groups;
  /** True when the last `#walk` came to an order, or to a fill, that stops the incoming order. */
  #isStopped = false;

  constructor(orders: Orders, groups: Groups) {
    this.#orders = orders;
    this.#groups = groups;
  }

  /** Fills in `reachableLots` and `reachableNotionalMicro` for the order of a PLACE or REPLACE. */
  run(market: Market, words: Uint32Array, word: number, admitted: Admitted): void {
    const kind = words[word + PLACE.kind];
    const account = words[word + ANY_COMMAND.account];
    const group = groupIn(words, word);
    const mode = selfTradeMode(kind);
    const isBid = isBidInYes(kind);
    const isYes = kindOutcome(kind) === OUTCOME.YES;
    const { limitTicks, quantityLots } = admitted;
    const { ticksPerUnit } = market;
    const limitYesTicks = isYes ? limitTicks : ticksPerUnit - limitTicks;
    const levels = market.book.opposite(isBid);
    const walksOrders = mode !== SELF_TRADE.NONE || this.#groups.count > 0;
    if (walksOrders) this.#groups.startTrial(readSafe(words, word + ANY_COMMAND.timeMs));
    this.#isStopped = false;
    let lots = 0;
    let notionalMicro = 0;
    let tick = levels.bestTick;
    while (tick !== NO_TICK && lots < quantityLots && !this.#isStopped) {
      if (isBid === 1 ? tick > limitYesTicks : tick < limitYesTicks) break;
      const wanted = quantityLots - lots;
      const here = walksOrders
        ? this.#walk(levels.head[tick], wanted, account, mode, group, ticksPerUnit)
        : levels.totalLots[tick];
      const taken = Math.min(here, wanted);
      lots += taken;
      notionalMicro += taken * (isYes ? tick : ticksPerUnit - tick);
      tick = levels.worseThan(tick);
    }
    assert(lots <= quantityLots, 'look-ahead: no more is filled than was ordered');
    assert(notionalMicro <= lots * ticksPerUnit, 'look-ahead: a price is below 1 USDC');
    admitted.reachableLots = lots;
    admitted.reachableNotionalMicro = notionalMicro;
  }

  /** Walks a level's queue from its head, order by order. @returns the lots that would be filled there. */
  #walk(head: number, wanted: number, account: number, mode: number, group: number, ticksPerUnit: number): number {
    const orders = this.#orders;
    const groups = this.#groups;
    let lots = 0;
    for (let slot = head; slot !== NONE && lots < wanted; slot = orders.next[slot << WORD_SHIFT]) {
      if (mode !== SELF_TRADE.NONE && orders.account[slot << WORD_SHIFT] === account) {
        if (mode === SELF_TRADE.CANCEL_OLDEST) continue;
        this.#isStopped = true;
        return lots;
      }
      const makerGroup = orders.groupOf(slot);
      if (makerGroup !== NO_GROUP && groups.wouldTrip(makerGroup)) continue;
      const taken = Math.min(orders.remainingLots[slot << DOUBLE_SHIFT], wanted - lots);
      assert(taken > 0, 'ORDERS-3: an open order has something left');
      lots += taken;
      if (makerGroup !== NO_GROUP) groups.tryFill(makerGroup, taken * ticksPerUnit);
      if (group === NO_GROUP) continue;
      groups.tryFill(group, taken * ticksPerUnit);
      if (!groups.wouldTrip(group)) continue;
      this.#isStopped = true;
      return lots;
    }
    return lots;
  }
}
