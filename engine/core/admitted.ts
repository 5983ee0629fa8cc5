/**
 * Values computed from the current command before it is applied. Live, admission fills them in while it checks the
 * command (admission.ts); in a replay, which checks nothing again, `readmit` does. There is one per engine, reused for
 * every command, so that nothing is allocated.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { Market } from '../book/market.ts';
import * as rows from '../book/orders.ts';
import { toGrid } from './grid.ts';
import type { ShardState } from './state.ts';

const { CLOSE_REASON, SIDE } = codes;
const { ANY_COMMAND, COMMAND, kindSide, kindTimeInForce } = commands;
const { CANCEL, PLACE, REPLACE } = COMMAND;
const { NONE, WORD_SHIFT } = rows;

export class Admitted {
  /** PLACE, REPLACE: the limit in ticks of the order's own outcome, and its lots (grid.ts). */
  limitTicks = 0;
  quantityLots = 0;
  /** PLACE, REPLACE: funds that the order reserves: micro-USDC for a BUY, atomic tokens for a SELL. */
  reservation = 0;
  /** CANCEL, REPLACE: slot of the open order that the command names, or NONE. */
  openSlot: number = NONE;
  /** FOK, FAK: lots that the book would fill at once, and for how much USDC of the order's own outcome. */
  reachableLots = 0;
  reachableNotionalMicro = 0;
  /** Details of the reply; their meaning depends on its code and command (REPLY in shared/wire/events.ts). */
  detailA = 0;
  detailB = 0;
  detailC = 0;

  /**
   * The fields of single commands keep old values: only that kind of command reads them, after they were filled in for
   * it.
   */
  clear(): void {
    this.openSlot = NONE;
    this.detailA = 0;
    this.detailB = 0;
    this.detailC = 0;
  }
}

/** Fills `admitted` for a journaled command, which was accepted when it was live. */
export function readmit(state: ShardState, type: number, words: Uint32Array, word: number, admitted: Admitted): void {
  const { markets } = state;
  admitted.clear();
  if (type === CANCEL.TYPE) {
    admitted.openSlot = slotToCancel(state, words, word);
    return;
  }
  if (type !== PLACE.TYPE && type !== REPLACE.TYPE) return;
  const market = markets.get(words[word + ANY_COMMAND.market]);
  assert(market !== undefined, 'admitted: the market of a journaled order is known');
  assert(fillTerms(market, words, word, admitted) === OK, 'admitted: a journaled order is on the grid');
  assert(admitted.quantityLots > 0, 'admitted: a journaled order is for something');
  if (type === PLACE.TYPE) return;
  admitted.openSlot = replacedSlot(state, words, word);
  assert(admitted.openSlot !== NONE, 'admitted: a journaled replacement names an open order of its account');
}

/** Fills in the missing amount. @returns INSUFFICIENT_BALANCE */
export function refuseShort(required: number, available: number, reserved: number, admitted: Admitted): number {
  admitted.detailA = required;
  admitted.detailB = available;
  admitted.detailC = reserved;
  return E.INSUFFICIENT_BALANCE;
}

/** Fills in the grid and the reservation of a PLACE or REPLACE. @returns OK, or the error that refuses the order. */
export function fillTerms(market: Market, words: Uint32Array, word: number, admitted: Admitted): number {
  const kind = words[word + PLACE.kind];
  const side = kindSide(kind);
  const makerAmount = readSafe(words, word + PLACE.makerAmount);
  const takerAmount = readSafe(words, word + PLACE.takerAmount);
  const { ticksPerUnit } = market;
  const offGrid = toGrid(side, kindTimeInForce(kind), makerAmount, takerAmount, ticksPerUnit, admitted);
  if (offGrid !== OK) return offGrid;
  admitted.reservation = admitted.quantityLots * (side === SIDE.BUY ? admitted.limitTicks : ticksPerUnit);
  return OK;
}

/**
 * The slot of the open order that a CANCEL names, or NONE. An order of another account counts as unknown, so that a
 * hash reveals nothing to a stranger; only the administrator may cancel it.
 */
export function slotToCancel({ openOrders, orders }: ShardState, words: Uint32Array, word: number): number {
  const slot = openOrders.find(orders.signed.words, words, word + CANCEL.hash);
  if (slot === NONE || isByAdmin(words, word)) return slot;
  return orders.account[slot << WORD_SHIFT] === words[word + ANY_COMMAND.account] ? slot : NONE;
}

export function isByAdmin(words: Uint32Array, word: number): boolean {
  return (words[word + ANY_COMMAND.flags] & 0xff) === CLOSE_REASON.ADMIN;
}

/** The slot of the open order of its account that a REPLACE names, or NONE. */
export function replacedSlot({ openOrders, orders }: ShardState, words: Uint32Array, word: number): number {
  const slot = openOrders.find(orders.signed.words, words, word + REPLACE.oldHash);
  if (slot === NONE) return NONE;
  return orders.account[slot << WORD_SHIFT] === words[word + ANY_COMMAND.account] ? slot : NONE;
}
