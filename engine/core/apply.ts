/**
 * Executes accepted commands: changes the state and emits events, in the same way live and in a replay. No clock (time
 * is in the record), no I/O, no randomness. Owner: the shard thread.
 *
 * Only a debit of the shared cells can still fail here, when another shard debited the same USDC after admission.
 * It comes first in a command, so a failure changes nothing.
 */
import { assert } from '../../shared/base/assert.ts';
import * as codes from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { ADDRESS_BYTES } from '../../shared/base/hex.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { Market, mayMove } from '../book/market.ts';
import * as rows from '../book/orders.ts';
import { NONE, SLOT_STATE } from '../book/orders.ts';
import type { Admitted } from './admitted.ts';
import { moveFee } from './dormancy.ts';
import { convertSet, decideSet, settleSet } from './eventSets.ts';
import { raiseFloor } from './floorRaising.ts';
import { convert, moveFunds } from './moving.ts';
import { Placing } from './placing.ts';
import { raise } from './raising.ts';
import * as resolution from './resolution.ts';
import { useRules } from './rules.ts';
import { stepStage } from './stages.ts';
import type { ShardState } from './state.ts';
import { goOn, nextDueMs, step, tick } from './steps.ts';
import { sweep } from './sweeping.ts';
import { unwind } from './unwinding.ts';

const { CLOSE_REASON, MARKET_STATUS } = codes;
const { ANY_COMMAND, BOTH_OUTCOMES, CANCEL_TOMBSTONE, COMMAND, NO_MARKET, UNCHANGED, kindOutcome } = commands;
const {
  CANCEL,
  CANCEL_MANY,
  CLAIM,
  CONTRACTS,
  CONVERT,
  FUNDS,
  GROUP_RESET,
  GROUP_SET,
  GROUP_TRIP,
  MARKET_OPEN,
  MARKET_PATCH,
  PLACE,
  REPLACE,
  RESOLVE,
  SETTLE,
  STEP,
  SWEEP,
  TICK,
  UNWIND,
} = COMMAND;
const { DOUBLE_SHIFT, WORD_SHIFT } = rows;

export class Apply {
  readonly #state: ShardState;
  readonly #placing: Placing;

  constructor(state: ShardState) {
    this.#state = state;
    this.#placing = new Placing(state);
  }

  /** The next time at which time alone changes something: a TICK precedes a command at or after it. */
  nextDueMs(): number {
    return nextDueMs(this.#state);
  }

  /**
   * @param admitted the command's own, filled by admission or `readmit`; details of the reply are added to it.
   * @returns OK, or INSUFFICIENT_BALANCE with nothing changed.
   */
  run(type: number, words: Uint32Array, word: number, admitted: Admitted): number {
    this.#state.groups.startCommand();
    this.#state.ledger.startCommand();
    this.#state.markets.startCommand();
    const code = this.#dispatch(type, words, word, admitted);
    if (code === OK) this.#emitTouched();
    return code;
  }

  #dispatch(type: number, words: Uint32Array, word: number, admitted: Admitted): number {
    switch (type) {
      case PLACE.TYPE:
        return this.#placing.place(words, word, admitted);
      case REPLACE.TYPE:
        return this.#placing.replace(words, word, admitted);
      case CANCEL.TYPE:
        return this.#cancel(words, word, admitted);
      case CANCEL_MANY.TYPE:
        return this.#cancelMany(words, word, admitted);
      case SWEEP.TYPE:
        admitted.detailA = sweep(this.#state, words, word);
        return OK;
      case CONVERT.TYPE:
        return convert(this.#state, this.#market(words, word), words, word);
      case FUNDS.TYPE:
        return moveFunds(this.#state, words, word);
      case MARKET_OPEN.TYPE:
        return this.#marketOpen(words, word);
      case MARKET_PATCH.TYPE:
        return this.#marketPatch(words, word);
      case RESOLVE.TYPE:
        return this.#resolve(words, word);
      case CLAIM.TYPE:
        resolution.payClaim(this.#state, this.#market(words, word), words[word + ANY_COMMAND.account]);
        return OK;
      case SETTLE.TYPE:
        return this.#settle(words, word);
      case STEP.TYPE:
        step(this.#state, words[word + STEP.rows], commandTimeMs(words, word));
        return OK;
      case GROUP_SET.TYPE:
        return this.#groupSet(words, word);
      case GROUP_RESET.TYPE:
        return this.#groupReset(words, word);
      case GROUP_TRIP.TYPE:
        return this.#groupTrip(words, word);
      case CONTRACTS.TYPE:
        return this.#setContracts(words, word, admitted);
      case COMMAND.STAGE.TYPE:
        admitted.detailA = stepStage(this.#state, words, word);
        return OK;
      case COMMAND.RAISE.TYPE:
        raise(this.#state, words, word);
        return OK;
      case COMMAND.NONCE_FLOOR.TYPE:
        admitted.detailA = raiseFloor(this.#state, words, word);
        return OK;
      case COMMAND.RULES.TYPE:
        useRules(this.#state, words, word);
        return OK;
      case COMMAND.CONVERT_SET.TYPE:
        return convertSet(this.#state, words, word);
      case COMMAND.DECIDE_SET.TYPE:
        decideSet(this.#state, words, word);
        return OK;
      case COMMAND.SETTLE_SET.TYPE:
        settleSet(this.#state, words, word);
        return OK;
      case UNWIND.TYPE:
        return unwind(this.#state, this.#market(words, word), words, word);
      default:
        assert(type === TICK.TYPE, 'apply: a command type is known');
        tick(this.#state, words[word + TICK.rows], commandTimeMs(words, word));
        return OK;
    }
  }

  #cancel(words: Uint32Array, word: number, admitted: Admitted): number {
    const { closing, emit, tombstones } = this.#state;
    const flags = words[word + ANY_COMMAND.flags];
    const slot = admitted.openSlot;
    if (slot !== NONE) {
      closing.close(this.#marketOf(slot), slot, flags & 0xff);
      return OK;
    }
    assert((flags & CANCEL_TOMBSTONE) !== 0, 'apply: an accepted cancel without an order leaves a tombstone');
    const account = words[word + ANY_COMMAND.account];
    admitted.detailA = tombstones.add(account, words, word + CANCEL.hash, commandTimeMs(words, word));
    emit.tombstone(account, words, word + CANCEL.hash, admitted.detailA);
    return OK;
  }

  #cancelMany(words: Uint32Array, word: number, admitted: Admitted): number {
    const { closing, orders } = this.#state;
    const only = words[word + ANY_COMMAND.market];
    const outcome = words[word + CANCEL_MANY.outcome];
    let slot = orders.firstOf(words[word + ANY_COMMAND.account]);
    while (slot !== NONE) {
      const after = orders.accountNext[slot << WORD_SHIFT];
      const isInMarket = only === NO_MARKET || orders.market[slot << WORD_SHIFT] === only;
      if (isInMarket && (outcome === BOTH_OUTCOMES || kindOutcome(orders.kind[slot << WORD_SHIFT]) === outcome)) {
        closing.close(this.#marketOf(slot), slot, words[word + CANCEL_MANY.reason]);
        admitted.detailA++;
      }
      slot = after;
    }
    return OK;
  }

  #marketOpen(words: Uint32Array, word: number): number {
    const { markets, orders, stages } = this.#state;
    const index = words[word + ANY_COMMAND.market];
    if (markets.get(index) !== undefined) return OK; // sent again after a crash between the catalogue and the journal
    const market = new Market(
      orders,
      index,
      words.slice(word + MARKET_OPEN.uuid, word + MARKET_OPEN.uuid + 4),
      words[word + MARKET_OPEN.ticksPerUnit],
      readSafe(words, word + MARKET_OPEN.minOrderAtomic),
      words[word + MARKET_OPEN.status],
      words[word + MARKET_OPEN.feeBps],
      readSafe(words, word + MARKET_OPEN.startMs),
      readSafe(words, word + MARKET_OPEN.endMs),
    );
    market.stage = Math.max(stages.ofShard, words[word + MARKET_OPEN.stage]);
    market.sequence = this.#state.floor;
    markets.add(market);
    const set = words[word + MARKET_OPEN.set];
    const place = words[word + MARKET_OPEN.place];
    if (set !== 0) markets.sets.join(market, set - 1, place & 0xff, (place >>> 8) & 0xff);
    markets.touch(market);
    markets.transitions.plan(market);
    return OK;
  }

  #marketPatch(words: Uint32Array, word: number): number {
    const { markets, orders, digest, emit } = this.#state;
    const market = this.#market(words, word);
    const status = words[word + MARKET_PATCH.status];
    const feeBps = words[word + MARKET_PATCH.feeBps];
    const nowMs = commandTimeMs(words, word);
    assert(status === UNCHANGED || mayMove(market.status, status), 'apply: an accepted move of a market is allowed');
    assert(status !== MARKET_STATUS.ACTIVE || !market.isClosing, 'MARKET-5: a market that is closing does not trade');
    if (status !== UNCHANGED) market.status = status;
    if (status === MARKET_STATUS.RESOLVING && !market.isClosing) {
      resolution.startClosing(this.#state, market); // it never trades again
      goOn(this.#state, market, words[word + MARKET_PATCH.rows], nowMs);
    }
    market.startMs = readSafe(words, word + MARKET_PATCH.startMs);
    market.endMs = readSafe(words, word + MARKET_PATCH.endMs);
    if (market.endMs > nowMs) market.isClosed = false;
    if (feeBps !== UNCHANGED && feeBps !== market.feeBps) {
      market.feeBps = feeBps;
      moveFee(market, orders, digest, emit);
    }
    markets.touch(market);
    markets.transitions.plan(market);
    return OK;
  }

  #resolve(words: Uint32Array, word: number): number {
    const market = this.#market(words, word);
    resolution.decide(this.#state, market, words[word + RESOLVE.status], words[word + RESOLVE.payoutYesPpm]);
    goOn(this.#state, market, words[word + RESOLVE.rows], commandTimeMs(words, word));
    return OK;
  }

  #settle(words: Uint32Array, word: number): number {
    const market = this.#market(words, word);
    resolution.startSettling(this.#state, market);
    goOn(this.#state, market, words[word + SETTLE.rows], commandTimeMs(words, word));
    return OK;
  }

  /** A change keeps the window's fills; a group trips at once if they already reach the new maximum. */
  #groupSet(words: Uint32Array, word: number): number {
    const { groupLimits, groups } = this.#state;
    const account = words[word + ANY_COMMAND.account];
    const index = words[word + GROUP_SET.group];
    const windowSec = words[word + GROUP_SET.windowSec];
    const maxAtomic = readSafe(words, word + GROUP_SET.maxAtomic);
    const known = groups.find(account, index);
    if (known?.windowSec === windowSec && known.maxAtomic === maxAtomic) return OK;
    const group = known ?? groups.make(account, index);
    groups.touch(group);
    group.roll(commandTimeMs(words, word)); // a longer window does not bring back fills that left the old one
    assert(windowSec > 0 && maxAtomic > 0, 'GROUPS-1: a group has a window and a maximum');
    group.windowSec = windowSec;
    group.maxAtomic = maxAtomic;
    group.roll(commandTimeMs(words, word));
    if (group.isTripped || !group.isFull) return OK;
    groupLimits.trip(group, NONE);
    group.hasJustTripped = true;
    return OK;
  }

  #groupReset(words: Uint32Array, word: number): number {
    const { groups } = this.#state;
    const group = groups.get(words[word + GROUP_SET.group]);
    if (!group.isTripped && group.window.count === 0) return OK;
    groups.touch(group);
    group.isTripped = false;
    group.window.clear();
    return OK;
  }

  #groupTrip(words: Uint32Array, word: number): number {
    const { groupLimits, groups } = this.#state;
    const group = groups.get(words[word + GROUP_SET.group]);
    if (!group.isTripped) groupLimits.trip(group, NONE);
    return OK;
  }

  /** Signatures for the former contracts are no longer valid: every open order is cancelled, oldest first. */
  #setContracts(words: Uint32Array, word: number, admitted: Admitted): number {
    const { closing, contracts, emit, orders } = this.#state;
    contracts.chainId = readSafe(words, word + CONTRACTS.chainId);
    const at = words.byteOffset + (word + CONTRACTS.exchange) * 4;
    contracts.exchange = new Uint8Array(words.buffer, at, ADDRESS_BYTES).slice();
    const open: number[] = [];
    for (let slot = 0; slot < orders.capacity; slot++)
      if (orders.state[slot << WORD_SHIFT] !== SLOT_STATE.FREE) open.push(slot);
    open.sort((a, b) => orders.sequence[a << DOUBLE_SHIFT] - orders.sequence[b << DOUBLE_SHIFT]);
    for (const slot of open) closing.close(this.#marketOf(slot), slot, CLOSE_REASON.ADMIN);
    assert(orders.openCount === 0, 'ORDERS-1: no order outlives its contracts');
    admitted.detailA = open.length;
    emit.contracts(contracts);
    return OK;
  }

  #emitGroups(): void {
    const { emit, groups } = this.#state;
    for (const group of groups.touched) {
      emit.group(group);
      group.hasJustTripped = false;
    }
  }

  #market(words: Uint32Array, word: number): Market {
    const market = this.#state.markets.get(words[word + ANY_COMMAND.market]);
    assert(market !== undefined, 'apply: the market of an accepted command is known');
    return market;
  }

  #marketOf(slot: number): Market {
    const market = this.#state.markets.get(this.#state.orders.market[slot << WORD_SHIFT]);
    assert(market !== undefined, 'ORDERS-1: the market of an open order is known');
    return market;
  }

  /**
   * Emits the accounts, markets and groups that the command touched, in absolute terms, so that readers only assign.
   */
  #emitTouched(): void {
    const { digest, emit, exactBound, groups, ledger, markets } = this.#state;
    if (exactBound !== null) exactBound.update();
    for (let i = 0; i < ledger.touchedRowCount; i++) {
      emit.position(ledger.touchedRows[i]);
      digest.markPosition(ledger.touchedRows[i]);
    }
    for (let i = 0; i < ledger.touchedAccountCount; i++) {
      const account = ledger.touchedAccounts[i];
      digest.markAccount(account);
      if (!ledger.hasTouchedRow(account)) emit.usdc(account);
    }
    if (markets.touched.length > 0) for (const market of markets.touched) emit.market(market);
    if (groups.touched.length > 0) this.#emitGroups();
  }
}

/** Call it where the time is used: V8 boxes a double that is passed as an argument. */
function commandTimeMs(words: Uint32Array, word: number): number {
  return readSafe(words, word + ANY_COMMAND.timeMs);
}
