/**
 * Counts fills in the windows of their orders' groups (RULES.md 7.9). A group that reaches its maximum trips: its open
 * orders are cancelled. Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON, MAX_ORDER_AMOUNT } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { ANY_COMMAND, COMMAND, NO_GROUP } from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Markets } from '../book/markets.ts';
import type { Group, Groups } from '../book/orderGroups.ts';
import { DOUBLE_SHIFT, NONE, type Orders, WORD_SHIFT } from '../book/orders.ts';
import type { Closing } from './closing.ts';

const { GROUP_SET } = COMMAND;
const MOST_WINDOW_SEC = 3600;

/** The refusal of a GROUP_SET, GROUP_RESET or GROUP_TRIP, or OK. */
export function refuseGroupCommand(groups: Groups, type: number, words: Uint32Array, word: number): number {
  const account = words[word + ANY_COMMAND.account];
  const index = words[word + GROUP_SET.group];
  if (type !== GROUP_SET.TYPE) return groups.find(account, index) === undefined ? E.VALIDATION_ERROR : OK;
  const windowSec = words[word + GROUP_SET.windowSec];
  const maxAtomic = readSafe(words, word + GROUP_SET.maxAtomic);
  const isValid =
    index !== NO_GROUP &&
    !groups.isTaken(account, index) &&
    windowSec >= 1 &&
    windowSec <= MOST_WINDOW_SEC &&
    maxAtomic >= 1 &&
    maxAtomic <= MAX_ORDER_AMOUNT;
  return isValid ? OK : E.VALIDATION_ERROR;
}

export class GroupLimits {
  readonly #orders: Orders;
  readonly #markets: Markets;
  readonly #groups: Groups;
  readonly #closing: Closing;

  constructor(orders: Orders, markets: Markets, groups: Groups, closing: Closing) {
    this.#orders = orders;
    this.#markets = markets;
    this.#groups = groups;
    this.#closing = closing;
  }

  /**
   * Counts a fill (twice if both orders belong to one group) before any group trips, so that the counts do not depend
   * on which group comes first. The time of the fill is that of the incoming order, `taker`.
   * @returns true if the taker's group has tripped
   */
  countFill(makerGroup: number, takerGroup: number, taker: number, atomic: number): boolean {
    const nowMs = this.#orders.createdMs[taker << DOUBLE_SHIFT];
    if (makerGroup !== NO_GROUP) this.#count(makerGroup, nowMs, atomic);
    if (takerGroup !== NO_GROUP) this.#count(takerGroup, nowMs, atomic);
    if (makerGroup !== NO_GROUP) this.#tripIfFull(makerGroup, taker);
    if (takerGroup === NO_GROUP) return false;
    this.#tripIfFull(takerGroup, taker);
    return this.#groups.get(takerGroup).isTripped;
  }

  /** Cancels every open order of the group, oldest first, except the incoming one, which its own command closes. */
  trip(group: Group, incoming: number): void {
    const orders = this.#orders;
    assert(!group.isTripped, 'GROUPS-1: a group trips once');
    this.#groups.touch(group);
    group.isTripped = true;
    let slot = orders.firstOf(group.account);
    while (slot !== NONE) {
      const after = orders.accountNext[slot << WORD_SHIFT];
      if (slot !== incoming && orders.groupOf(slot) === group.index) {
        const market = this.#markets.get(orders.market[slot << WORD_SHIFT]);
        assert(market !== undefined, 'ORDERS-1: the market of an open order is known');
        this.#closing.close(market, slot, CLOSE_REASON.GROUP_LIMIT);
      }
      slot = after;
    }
  }

  #count(index: number, nowMs: number, atomic: number): void {
    assert(atomic > 0, 'WINDOW-1: a fill has something to count');
    const group = this.#groups.get(index);
    this.#groups.touch(group);
    group.roll(nowMs);
    group.window.add(nowMs, atomic);
  }

  #tripIfFull(index: number, taker: number): void {
    const group = this.#groups.get(index);
    if (group.isTripped || !group.isFull) return;
    this.trip(group, taker);
    group.hasJustTripped = true;
  }
}
