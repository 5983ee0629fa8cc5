/**
 * Every check that can refuse a command, in the precedence of shared/base/errors.ts, before anything is changed. Live
 * only: a replayed command was accepted once and is not checked again. Owner: the shard thread.
 *
 * A refusal is the number of its error. The values that the checks compute are left in the record that the caller
 * passes in (admitted.ts). Applying the command reads them, and so does the reply that gives the reason of a refusal.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { ADDRESS_BYTES } from '../../shared/base/hex.ts';
import { bpsFloor, MAX_SAFE } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import * as commands from '../../shared/wire/commands.ts';
import { takeExpected } from '../../shared/wire/expectedRemainder.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { UNREADABLE } from '../book/acceptedHashes.ts';
import { MOST_HASHES, NO_ACCOUNT } from '../book/hashIndex.ts';
import type { Market } from '../book/market.ts';
import * as rows from '../book/orders.ts';
import type { OrderChecks } from '../verify/orderChecks.ts';
import { type Admitted, fillTerms, isByAdmin, refuseShort, replacedSlot, slotToCancel } from './admitted.ts';
import { refuseConversion, refuseDecision, refuseMember, refuseSetSettling } from './eventSetRefusals.ts';
import { ORDER_WEIGHT, SPLIT_WEIGHT } from './exactBound.ts';
import { refuseFloor, refuseNonce } from './floorRaising.ts';
import { refuseGroupCommand } from './groupLimits.ts';
import { freedBy, leftOf, sellsAllLots } from './holdings.ts';
import { nameForgotten, nameOrder, refuseLate } from './lateOrders.ts';
import { LookAhead } from './lookAhead.ts';
import { refuseMarketEnd, refuseMarketPatch } from './marketRefusals.ts';
import { debitOf } from './moving.ts';
import { groupIn } from './orderCommand.ts';
import { refuseStage } from './stages.ts';
import type { ShardState } from './state.ts';
import { refuseUnwinding } from './unwinding.ts';

const { isDecided, isImmediate, MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, STAGE, TIME_IN_FORCE } = codes;
const {
  ANY_COMMAND,
  CANCEL_TOMBSTONE,
  COMMAND,
  NO_GROUP,
  NO_MARKET,
  ORDER_NONCE_KEPT,
  PLACE_BIT_AUTHORIZED,
  PLACE_BIT_EXTENDED,
  PLACE_BIT_POST_ONLY,
  PLACE_BIT_TOO_MANY_OPEN,
  REPLACE_ELSEWHERE,
  REPLACE_MODE,
  feeIn,
  isBidInYes,
  kindBits,
  kindOutcome,
  kindSide,
  kindTimeInForce,
  movementIn,
} = commands;
const {
  CANCEL,
  CLAIM,
  CONTRACTS,
  CONVERT,
  FUNDS,
  GROUP_RESET,
  GROUP_SET,
  GROUP_TRIP,
  MARKET_PATCH,
  NONCE_FLOOR,
  PLACE,
  REPLACE,
  RESOLVE,
  SETTLE,
  UNWIND,
} = COMMAND;
const { NONE, SLOT_STATE, WORD_SHIFT } = rows;

/** The command is accepted but not journaled, because the state already is what the command asks for. */
export const NOTHING_TO_DO = -1;

const PLAIN_PLACE_BYTES = PLACE.BYTES;

export class Admission {
  /** Arrival time of the current commands, by the shard's own clock: deadlines are compared with it. */
  arrivedMs = 0;
  /** Until this time orders must not cross, as in the post-only stage (RULES.md 7.13). */
  postOnlyUntilMs = 0;
  /** Order hashes that the shard may keep (RULES.md 2.12). */
  mostOrders = MOST_HASHES;
  readonly #state: ShardState;
  readonly #checks: OrderChecks;
  readonly #lookAhead: LookAhead;

  constructor(state: ShardState, checks: OrderChecks) {
    this.#state = state;
    this.#checks = checks;
    this.#lookAhead = new LookAhead(state.orders, state.groups);
  }

  /** @returns OK, NOTHING_TO_DO, or the number of the first error that applies. */
  check(type: number, words: Uint32Array, bytes: Uint8Array, word: number, admitted: Admitted): number {
    admitted.clear();
    switch (type) {
      case PLACE.TYPE:
        return this.#place(words, bytes, word, admitted);
      case REPLACE.TYPE:
        return this.#replace(words, bytes, word, admitted);
      case CANCEL.TYPE:
        return this.#cancel(words, word, admitted);
      case CONVERT.TYPE:
        return this.#convert(words, word, admitted);
      case FUNDS.TYPE:
        return this.#funds(words, word, admitted);
      case MARKET_PATCH.TYPE:
        return refuseMarketPatch(this.#state, words, word);
      case RESOLVE.TYPE:
      case CLAIM.TYPE:
      case SETTLE.TYPE:
        return refuseMarketEnd(this.#state, type, words, word);
      case GROUP_SET.TYPE:
      case GROUP_RESET.TYPE:
      case GROUP_TRIP.TYPE:
        return refuseGroupCommand(this.#state.groups, type, words, word);
      case CONTRACTS.TYPE:
        return this.#contracts(words, bytes, word);
      case COMMAND.STAGE.TYPE:
        return refuseStage(this.#state, words, word);
      case NONCE_FLOOR.TYPE:
        return refuseFloor(words, word);
      case UNWIND.TYPE:
        return refuseUnwinding(this.#state, words, word, admitted);
      case COMMAND.MARKET_OPEN.TYPE:
        return refuseMember(this.#state, words, word);
      case COMMAND.CONVERT_SET.TYPE:
        return refuseConversion(this.#state, words, word, admitted);
      case COMMAND.DECIDE_SET.TYPE:
        return refuseDecision(this.#state, words, word);
      case COMMAND.SETTLE_SET.TYPE:
        return refuseSetSettling(this.#state, words, word);
      default:
        return OK;
    }
  }

  #place(words: Uint32Array, bytes: Uint8Array, word: number, admitted: Admitted): number {
    const refusal = this.#checkOrder(words, bytes, word, admitted) || this.#checkLimits(words, word);
    if (refusal !== OK) return refusal;
    words[word + ANY_COMMAND.flags] |= ORDER_NONCE_KEPT;
    const market = this.#marketOf(words, word);
    const short = this.#checkBalance(market, words, word, admitted);
    return short !== OK ? short : this.#checkMatching(market, words, word, admitted);
  }

  /** The new order is checked as if the old one were gone; if it is refused, the old one stays in the book. */
  #replace(words: Uint32Array, bytes: Uint8Array, word: number, admitted: Admitted): number {
    const expected = takeExpected(words, word);
    const refusal =
      this.#checkOrder(words, bytes, word, admitted) ||
      this.#checkReplaced(words, word, admitted) ||
      (expected === null ? OK : this.#refuseOther(expected, admitted)) ||
      this.#checkLimits(words, word);
    if (refusal !== OK) return refusal;
    words[word + ANY_COMMAND.flags] |= ORDER_NONCE_KEPT;
    const { orders } = this.#state;
    const market = this.#marketOf(words, word);
    const short = this.#checkBalance(market, words, word, admitted);
    if (short !== OK) return short;
    const old = admitted.openSlot;
    assert(old !== NONE, 'admission: the order that gives way is open');
    if (orders.state[old << WORD_SHIFT] !== SLOT_STATE.RESTING)
      return this.#checkMatching(market, words, word, admitted);

    const before = orders.previous[old << WORD_SHIFT];
    market.book.remove(old);
    const code = this.#checkMatching(market, words, word, admitted);
    market.book.restBehind(old, before);
    return code;
  }

  /** Fills in the slot of the order to be replaced. */
  #checkReplaced(words: Uint32Array, word: number, admitted: Admitted): number {
    const { hashes, orders } = this.#state;
    const flags = words[word + ANY_COMMAND.flags];
    if ((flags & REPLACE_ELSEWHERE) !== 0) return E.REPLACES_ANOTHER_MARKET;
    const old = replacedSlot(this.#state, words, word);
    if (old === NONE) {
      const account = hashes.accountOf(words, word + REPLACE.oldHash);
      return account === words[word + ANY_COMMAND.account] ? E.ORDER_NOT_CANCELLABLE : E.ORDER_NOT_FOUND;
    }
    admitted.openSlot = old;
    if (orders.market[old << WORD_SHIFT] !== words[word + ANY_COMMAND.market]) return E.REPLACES_ANOTHER_MARKET;
    if ((flags & 0xff) !== REPLACE_MODE.AMEND) return OK;
    const [was, is] = [orders.kind[old << WORD_SHIFT], words[word + PLACE.kind]];
    const isSame = kindSide(was) === kindSide(is) && kindOutcome(was) === kindOutcome(is);
    return isSame ? OK : E.REPLACES_ANOTHER_MARKET;
  }

  /** Refuses if the old order's remainder is not the expected one; the reply then holds the remainder. */
  #refuseOther(expected: number, admitted: Admitted): number {
    const left = leftOf(this.#state, admitted.openSlot);
    if (left === expected) return OK;
    admitted.detailA = left;
    return E.REMAINING_CHANGED;
  }

  /** All refusals of an order that do not depend on funds or on the book. Fills in its grid and its reservation. */
  #checkOrder(words: Uint32Array, bytes: Uint8Array, word: number, admitted: Admitted): number {
    const { groups, hashes } = this.#state;
    const kind = words[word + PLACE.kind];
    const bits = kindBits(kind);
    const isExtended = (bits & PLACE_BIT_EXTENDED) !== 0;
    assert(isExtended === words[word] > PLAIN_PLACE_BYTES, 'admission: a command is as long as it says');
    const feeBps = words[word + PLACE.feeBps];
    this.#checks.writeHash(words, bytes, word);
    const account = words[word + ANY_COMMAND.account];
    const group = groupIn(words, word);
    if (group !== NO_GROUP && groups.find(account, group) === undefined) return E.VALIDATION_ERROR;
    // This precedes every check of state that may have changed: a client that lost the answer for a resting order must
    // read "duplicate".
    const before = hashes.accountOf(words, word + PLACE.hash);
    if (before > NO_ACCOUNT) return E.DUPLICATE_ORDER;
    if (before === UNREADABLE) {
      nameOrder(this.#checks, words, bytes, word, admitted);
      return E.ENGINE_BUSY;
    }
    const late = refuseLate(this.#state, this.arrivedMs, words, word, admitted);
    if (late !== OK) {
      nameForgotten(this.#state, this.#checks, words, bytes, word, admitted);
      return late;
    }
    const market = this.#marketOf(words, word);
    const offGrid = fillTerms(market, words, word, admitted);
    if (offGrid !== OK) return offGrid;
    const isBuy = kindSide(kind) === SIDE.BUY;
    const tokensAtomic = readSafe(words, word + (isBuy ? PLACE.takerAmount : PLACE.makerAmount));
    if (tokensAtomic < market.minOrderAtomic && !sellsAllLots(this.#state, market, words, word, admitted))
      return E.BELOW_MIN_SIZE;

    if (!this.#checks.isSigned(words, bytes, word)) return E.INVALID_SIGNATURE;
    if ((bits & PLACE_BIT_AUTHORIZED) === 0) return E.FORBIDDEN;
    const below = refuseNonce(this.#state, words, word, admitted);
    if (below !== OK) return below;
    if (feeBps === market.feeBps) return OK;
    admitted.detailA = market.feeBps;
    return E.FEE_RATE_MISMATCH;
  }

  /**
   * The account may not place more: its group has tripped, too many of its orders are open, or it has ever placed too
   * many.
   */
  #checkLimits(words: Uint32Array, word: number): number {
    const { groups, hashes } = this.#state;
    const account = words[word + ANY_COMMAND.account];
    const group = groupIn(words, word);
    if (group !== NO_GROUP) {
      const known = groups.find(account, group);
      assert(known !== undefined, 'GROUPS-2: the group of an order was looked up before');
      if (known.isTripped) return E.ORDER_GROUP_TRIGGERED;
    }
    if ((kindBits(words[word + PLACE.kind]) & PLACE_BIT_TOO_MANY_OPEN) !== 0) return E.TOO_MANY_OPEN_ORDERS;
    return hashes.hasRoom(account, this.mostOrders) ? OK : E.ORDER_CAPACITY_REACHED;
  }

  /** The market of an order that passed `#checkOrder`. */
  #marketOf(words: Uint32Array, word: number): Market {
    const market = this.#state.markets.get(words[word + ANY_COMMAND.market]);
    assert(market !== undefined, 'admission: the market of the order was looked up before');
    return market;
  }

  /** The reservation of the order to be replaced counts as available. */
  #checkBalance(market: Market, words: Uint32Array, word: number, admitted: Admitted): number {
    const account = words[word + ANY_COMMAND.account];
    const kind = words[word + PLACE.kind];
    const { exactBound, ledger } = this.#state;
    const outcome = kindOutcome(kind);
    const isBuy = kindSide(kind) === SIDE.BUY;
    const freed = admitted.openSlot === NONE ? 0 : freedBy(this.#state.orders, admitted.openSlot, kind, market);
    if (exactBound === null) {
      const isCovered = isBuy
        ? ledger.coversMicro(account, admitted, freed)
        : ledger.coversTokens(account, market.index, outcome, admitted, freed);
      if (isCovered) return OK;
    }
    const held = isBuy ? ledger.reservedOf(account) : ledger.reservedTokens(account, market.index, outcome);
    const reserved = held - freed;
    assert(reserved >= 0, 'ORDERS-3: an account reserves at least what its order holds');
    if (exactBound === null) {
      const free = isBuy ? ledger.availableMicro(account) : ledger.availableTokens(account, market.index, outcome);
      return refuseShort(admitted.reservation, free + freed, reserved, admitted);
    }
    return this.#checkExactBound(ORDER_WEIGHT * admitted.quantityLots * market.ticksPerUnit, reserved, admitted);
  }

  /**
   * Used when the collateral check is off: refuses a command that would add so much that the total might not stay
   * exact.
   */
  #checkExactBound(growth: number, reserved: number, admitted: Admitted): number {
    const { exactBound } = this.#state;
    if (exactBound === null || growth <= exactBound.room) return OK;
    return refuseShort(growth, exactBound.room, reserved, admitted);
  }

  #checkMatching(market: Market, words: Uint32Array, word: number, admitted: Admitted): number {
    const { limitTicks, quantityLots } = admitted;
    const kind = words[word + PLACE.kind];
    const isBid = isBidInYes(kind);
    const yesTicks = ownTicks(kindOutcome(kind), limitTicks, market.ticksPerUnit);
    const mustRest = market.stage !== STAGE.OPEN || this.arrivedMs < this.postOnlyUntilMs;
    if (mustRest && market.book.crosses(isBid, yesTicks)) return E.POST_ONLY_PHASE;
    const isPostOnly = (kindBits(kind) & PLACE_BIT_POST_ONLY) !== 0;
    if (isPostOnly && market.book.crosses(isBid, yesTicks)) return E.POST_ONLY_WOULD_CROSS;
    const timeInForce = kindTimeInForce(kind);
    if (!isImmediate(timeInForce)) return OK;

    this.#lookAhead.run(market, words, word, admitted);
    const lots = admitted.reachableLots;
    if (timeInForce === TIME_IN_FORCE.FOK && lots < quantityLots) return E.FOK_NOT_FILLED;
    if (lots === 0) return E.FAK_NO_FILL;
    const minTakerNet = readSafe(words, word + PLACE.minTakerNet);
    if (minTakerNet === 0) return OK;
    const isBuy = kindSide(kind) === SIDE.BUY;
    const received = isBuy ? lots * market.ticksPerUnit : admitted.reachableNotionalMicro;
    return received - bpsFloor(received, market.feeBps) < minTakerNet ? E.MIN_NET_NOT_MET : OK;
  }

  /** Fills in the slot of the open order; without one the command leaves a tombstone. */
  #cancel(words: Uint32Array, word: number, admitted: Admitted): number {
    const { hashes, tombstones } = this.#state;
    admitted.openSlot = slotToCancel(this.#state, words, word);
    if (admitted.openSlot !== NONE) return OK;
    const own = words[word + ANY_COMMAND.account];
    const account = hashes.accountOf(words, word + CANCEL.hash);
    if (account > NO_ACCOUNT && (account === own || isByAdmin(words, word))) return E.ORDER_NOT_CANCELLABLE;
    if ((words[word + ANY_COMMAND.flags] & CANCEL_TOMBSTONE) === 0) return E.ORDER_NOT_FOUND;
    const nowMs = readSafe(words, word + ANY_COMMAND.timeMs);
    return tombstones.hasRoom(own, nowMs) ? OK : E.ENGINE_BUSY;
  }

  #convert(words: Uint32Array, word: number, admitted: Admitted): number {
    const { ledger, markets } = this.#state;
    const account = words[word + ANY_COMMAND.account];
    const amount = readSafe(words, word + CONVERT.amountAtomic);
    const market = markets.get(words[word + ANY_COMMAND.market]);
    if (market === undefined) return E.MARKET_NOT_FOUND;
    const isSplit = movementIn(words[word + CONVERT.movementAndFee]) === MOVEMENT.SPLIT;
    const isOpen = market.status === MARKET_STATUS.ACTIVE || (!isSplit && market.status === MARKET_STATUS.LOCKED);
    if (!isOpen) return E.MARKET_NOT_ACTIVE;
    // Any number of sets may be merged: only so can an amount below a lot be converted back.
    if (amount === 0 || (isSplit && amount % market.ticksPerUnit !== 0)) return E.INVALID_LOT;
    const debit = debitOf(isSplit, amount, feeIn(words[word + CONVERT.movementAndFee]));
    if (debit > 0) {
      const available = ledger.availableMicro(account);
      if (available < debit) return refuseShort(debit, available, ledger.reservedOf(account), admitted);
    }
    if (isSplit) return this.#checkExactBound(SPLIT_WEIGHT * debit, ledger.reservedOf(account), admitted);
    for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
      const available = ledger.availableTokens(account, market.index, outcome);
      if (available < amount)
        return refuseShort(amount, available, ledger.reservedTokens(account, market.index, outcome), admitted);
    }
    return OK;
  }

  #funds(words: Uint32Array, word: number, admitted: Admitted): number {
    const { ledger, references, totals } = this.#state;
    const account = words[word + ANY_COMMAND.account];
    const amount = readSafe(words, word + FUNDS.amountMicro);
    if (references.has(words, word + FUNDS.reference)) return OK; // a repeat: answered again, applied once
    if (movementIn(words[word + FUNDS.movementAndFee]) === MOVEMENT.DEPOSIT) {
      if (totals.depositedMicro + amount > MAX_SAFE) return E.VALIDATION_ERROR;
      const index = words[word + ANY_COMMAND.market];
      if (index === NO_MARKET) return this.#checkExactBound(amount, ledger.reservedOf(account), admitted);
      // Full sets that the account has made elsewhere: neither lots nor the hours of trading bind them.
      const market = this.#state.markets.get(index);
      if (market === undefined) return E.MARKET_NOT_FOUND;
      if (isDecided(market.status)) return E.MARKET_NOT_ACTIVE;
      return this.#checkExactBound(SPLIT_WEIGHT * amount, ledger.reservedOf(account), admitted);
    }
    const available = ledger.availableMicro(account);
    const debit = amount + feeIn(words[word + FUNDS.movementAndFee]);
    if (available < debit) return refuseShort(debit, available, ledger.reservedOf(account), admitted);
    if (totals.withdrawnMicro + amount > MAX_SAFE) return E.VALIDATION_ERROR;
    return this.#checkExactBound(debit, ledger.reservedOf(account), admitted);
  }

  #contracts(words: Uint32Array, bytes: Uint8Array, word: number): number {
    const chainId = readSafe(words, word + CONTRACTS.chainId);
    if (chainId === 0 || chainId > MAX_SAFE) return E.VALIDATION_ERROR;
    const at = (word + CONTRACTS.exchange) * 4;
    return this.#checks.isFor(chainId, bytes.slice(at, at + ADDRESS_BYTES)) ? NOTHING_TO_DO : OK;
  }
}
