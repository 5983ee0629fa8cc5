/**
 * Every check that can refuse a command, in the precedence of shared/errors.ts, before anything is changed. Live only:
 * a replayed command was accepted once and is not asked again. Owner: the shard thread.
 *
 * A refusal is a number; `a`, `b`, `c` carry its details into the reply.
 */
import { assert } from '../shared/assert.ts';
import * as codes from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import type { OrderHasher } from '../shared/eip712.ts';
import { E, OK } from '../shared/errors.ts';
import { ADDRESS_BYTES } from '../shared/hex.ts';
import { bpsFloor, MAX_SAFE } from '../shared/int.ts';
import { readSafe } from '../shared/record.ts';
import { toGrid } from './grid.ts';
import { ORDER_WEIGHT, SPLIT_WEIGHT } from './gross.ts';
import type { HashIndex } from './hashIndex.ts';
import { type Market, mayDecide, mayMove } from './market.ts';
import * as rows from './orders.ts';
import { NONE, PLACE_OF } from './orders.ts';
import { claimableMicro } from './resolution.ts';
import type { ShardState } from './state.ts';
import { placeDigest } from './verify/placeDigest.ts';
import type { Verifier } from './verify/verifier.ts';

// Own constants for speed: see emit.ts.
const { CLOSE_REASON, isDecided, MARKET_STATUS, MAX_ORDER_AMOUNT, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } = codes;
const cmd = { ...commands };
const { NUMBERS, WORDS } = rows;

/** No refusal: things stand as the command wants them. */
export const NOTHING_TO_DO = -1;

const MOST_WINDOW_SEC = 3600;
const PLAIN_PLACE_BYTES = cmd.COMMAND_BYTES[cmd.COMMAND.PLACE]!;

export class Entry {
  a = 0;
  b = 0;
  c = 0;
  /** When the commands that are checked now reached the shard, and until when orders must not cross (RULES.md 7.13). */
  arrivedMs = 0;
  postOnlyUntilMs = 0;
  readonly #state: ShardState;
  readonly #hasher: OrderHasher;
  readonly #verifier: Verifier;

  constructor(state: ShardState, hasher: OrderHasher, verifier: Verifier) {
    this.#state = state;
    this.#hasher = hasher;
    this.#verifier = verifier;
  }

  /** @returns OK, NOTHING_TO_DO, or the number of the first error that applies. */
  check(type: number, words: Uint32Array, bytes: Uint8Array, word: number): number {
    this.a = 0;
    this.b = 0;
    this.c = 0;
    switch (type) {
      case cmd.COMMAND.PLACE:
        return this.#place(words, bytes, word);
      case cmd.COMMAND.REPLACE:
        return this.#replace(words, bytes, word);
      case cmd.COMMAND.CANCEL:
        return this.#cancel(words, word);
      case cmd.COMMAND.CONVERT:
        return this.#convert(words, word);
      case cmd.COMMAND.FUNDS:
        return this.#funds(words, word);
      case cmd.COMMAND.MARKET_PATCH:
        return this.#marketPatch(words, word);
      case cmd.COMMAND.RESOLVE:
      case cmd.COMMAND.CLAIM:
      case cmd.COMMAND.SETTLE:
        return this.#marketEnd(type, words, word);
      case cmd.COMMAND.GROUP_SET:
      case cmd.COMMAND.GROUP_RESET:
      case cmd.COMMAND.GROUP_TRIP:
        return this.#group(type, words, word);
      case cmd.COMMAND.CONTRACTS:
        return this.#contracts(words, bytes, word);
      default:
        return OK;
    }
  }

  #place(words: Uint32Array, bytes: Uint8Array, word: number): number {
    const refusal = this.#checkOrder(words, bytes, word) || this.#checkGroup(words, word);
    if (refusal !== OK) return refusal;
    const market = this.#state.markets.get(words[word + cmd.CMD_MARKET]!)!;
    const short = this.#checkBalance(market, words, word, NONE);
    return short !== OK ? short : this.#checkMatching(market, words, word);
  }

  /** Everything is judged as if the order that gives way were gone, and it is still there when that is refused. */
  #replace(words: Uint32Array, bytes: Uint8Array, word: number): number {
    const refusal = this.#checkOrder(words, bytes, word) || this.#checkReplaced(words, word);
    if (refusal !== OK) return refusal;
    const { hashes, markets, orders } = this.#state;
    const old = hashes.foundSlot;
    const tripped = this.#checkGroup(words, word);
    if (tripped !== OK) return tripped;
    const market = markets.get(words[word + cmd.CMD_MARKET]!)!;
    const short = this.#checkBalance(market, words, word, old);
    if (short !== OK) return short;
    if (orders.place[old << WORDS] !== PLACE_OF.RESTING) return this.#checkMatching(market, words, word);

    const before = orders.previous[old << WORDS]!;
    market.book.remove(old);
    const code = this.#checkMatching(market, words, word);
    market.book.restBehind(old, before);
    return code;
  }

  /** The order that is to give way; afterwards `hashes.foundSlot` is its row. */
  #checkReplaced(words: Uint32Array, word: number): number {
    const { hashes, orders } = this.#state;
    const flags = words[word + cmd.CMD_FLAGS]!;
    if ((flags & cmd.REPLACE_ELSEWHERE) !== 0) return E.REPLACES_ANOTHER_MARKET;
    if (!hashes.find(words, word + cmd.REPLACE_HASH)) return E.ORDER_NOT_FOUND;
    if (hashes.foundAccount !== words[word + cmd.CMD_ACCOUNT]) return E.ORDER_NOT_FOUND;
    const old = hashes.foundSlot;
    if (old < 0) return E.ORDER_NOT_CANCELLABLE;
    if (orders.market[old << WORDS] !== words[word + cmd.CMD_MARKET]) return E.REPLACES_ANOTHER_MARKET;
    if ((flags & 0xff) !== cmd.REPLACE_MODE.AMEND) return OK;
    const [was, is] = [orders.kind[old << WORDS]!, words[word + cmd.PLACE_KIND]!];
    const isSame = cmd.kindSide(was) === cmd.kindSide(is) && cmd.kindOutcome(was) === cmd.kindOutcome(is);
    return isSame ? OK : E.REPLACES_ANOTHER_MARKET;
  }

  /** What an order is refused for before anybody asks whether it can be paid. On success its grid is in the state's. */
  #checkOrder(words: Uint32Array, bytes: Uint8Array, word: number): number {
    const { groups, hashes, markets, tombstones } = this.#state;
    const kind = words[word + cmd.PLACE_KIND]!;
    const bits = cmd.kindBits(kind);
    const isExtended = (bits & cmd.PLACE_BIT_EXTENDED) !== 0;
    assert(isExtended === words[word]! > PLAIN_PLACE_BYTES, 'entry: a command is as long as it says');
    const side = cmd.kindSide(kind);
    const makerAmount = readSafe(words, word + cmd.PLACE_MAKER_AMOUNT);
    const takerAmount = readSafe(words, word + cmd.PLACE_TAKER_AMOUNT);
    const expirationSec = readSafe(words, word + cmd.PLACE_EXPIRATION_SEC);
    const feeBps = words[word + cmd.PLACE_FEE_BPS]!;
    const at = word * 4;
    placeDigest(this.#hasher, words, bytes, word, bytes, at + cmd.PLACE_HASH * 4);
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const group = groupIn(words, word);
    if (group !== cmd.NO_GROUP && groups.of(account, group) === undefined) return E.VALIDATION_ERROR;
    // Before every check of what may have changed: for an order that rests, a client that lost the answer must read
    // "duplicate".
    if (hashes.find(words, word + cmd.PLACE_HASH)) return E.DUPLICATE_ORDER;
    if (tombstones.has(words, word)) return E.ORDER_TOMBSTONED;
    if (isExtended && this.#isLate(readSafe(words, word + cmd.EXT_DEADLINE_MS))) return E.DEADLINE_PASSED;
    if ((bits & cmd.PLACE_BIT_CLIENT_ID_TAKEN) !== 0) return E.DUPLICATE_CLIENT_ORDER_ID;

    const market = markets.get(words[word + cmd.CMD_MARKET]!);
    if (market === undefined) return E.MARKET_NOT_FOUND;
    if (market.status !== MARKET_STATUS.ACTIVE) return E.MARKET_NOT_ACTIVE;
    if (expirationSec !== 0 && expirationSec * 1000 <= readSafe(words, word + cmd.CMD_TIME_MS)) return E.ORDER_EXPIRED;
    const timeInForce = cmd.kindTimeInForce(kind);
    const offGrid = toGrid(side, timeInForce, makerAmount, takerAmount, market.ticksPerUnit, this.#state.grid);
    if (offGrid !== OK) return offGrid;
    if ((side === SIDE.BUY ? takerAmount : makerAmount) < market.minOrderAtomic) return E.BELOW_MIN_SIZE;

    const signedBySigner = this.#verifier.verify(
      bytes,
      at + cmd.PLACE_HASH * 4,
      bytes,
      at + cmd.PLACE_SIGNATURE * 4,
      bytes,
      at + cmd.PLACE_SIGNER * 4,
    );
    if (!signedBySigner) return E.INVALID_SIGNATURE;
    if ((bits & cmd.PLACE_BIT_AUTHORIZED) === 0) return E.FORBIDDEN;
    if (feeBps === market.feeBps) return OK;
    this.a = market.feeBps;
    return E.FEE_RATE_MISMATCH;
  }

  #checkGroup(words: Uint32Array, word: number): number {
    const group = groupIn(words, word);
    if (group === cmd.NO_GROUP) return OK;
    const isTripped = this.#state.groups.of(words[word + cmd.CMD_ACCOUNT]!, group)!.isTripped;
    return isTripped ? E.ORDER_GROUP_TRIGGERED : OK;
  }

  #isLate(deadlineMs: number): boolean {
    return deadlineMs !== 0 && deadlineMs < this.arrivedMs;
  }

  /** @param old the order whose reservation counts as available, or NONE. */
  #checkBalance(market: Market, words: Uint32Array, word: number, old: number): number {
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const kind = words[word + cmd.PLACE_KIND]!;
    const { gross, ledger } = this.#state;
    const { limitTicks, quantityLots } = this.#state.grid;
    const outcome = cmd.kindOutcome(kind);
    const isBuy = cmd.kindSide(kind) === SIDE.BUY;
    const required = quantityLots * (isBuy ? limitTicks : market.ticksPerUnit);
    const freed = old === NONE ? 0 : this.#freedBy(old, kind, market);
    const free = isBuy ? ledger.availableMicro(account) : ledger.availableTokens(account, market.index, outcome);
    const available = free + freed;
    if (gross === null && available >= required) return OK;
    const held = isBuy ? ledger.reservedOf(account) : ledger.reservedTokens(account, market.index, outcome);
    const reserved = held - freed;
    if (gross !== null) return this.#checkGross(ORDER_WEIGHT * quantityLots * market.ticksPerUnit, reserved);
    return this.#short(required, available, reserved);
  }

  /** What the old order holds of the asset that the new one needs. */
  #freedBy(old: number, kind: number, market: Market): number {
    const { orders } = this.#state;
    const oldKind = orders.kind[old << WORDS]!;
    if (cmd.kindSide(oldKind) !== cmd.kindSide(kind)) return 0;
    if (cmd.kindSide(kind) === SIDE.BUY)
      return orders.remainingLots[old << NUMBERS]! * orders.limitTicks[old << WORDS]!;
    return cmd.kindOutcome(oldKind) === cmd.kindOutcome(kind)
      ? orders.remainingLots[old << NUMBERS]! * market.ticksPerUnit
      : 0;
  }

  /** In a rehearsal without collateral: whether a command that may add so much to the total leaves it exact. */
  #checkGross(growth: number, reserved: number): number {
    const { gross } = this.#state;
    return gross !== null && growth > gross.room ? this.#short(growth, gross.room, reserved) : OK;
  }

  #checkMatching(market: Market, words: Uint32Array, word: number): number {
    const { limitTicks, quantityLots } = this.#state.grid;
    const kind = words[word + cmd.PLACE_KIND]!;
    const outcome = cmd.kindOutcome(kind);
    const isBid = isBidInYes(kind);
    const yesTicks = outcome === OUTCOME.YES ? limitTicks : market.ticksPerUnit - limitTicks;
    const mustRest = this.arrivedMs < this.postOnlyUntilMs;
    if (mustRest && market.book.crosses(isBid, yesTicks)) return E.POST_ONLY_PHASE;
    const isPostOnly = (cmd.kindBits(kind) & cmd.PLACE_BIT_POST_ONLY) !== 0;
    if (isPostOnly && market.book.crosses(isBid, yesTicks)) return E.POST_ONLY_WOULD_CROSS;
    const timeInForce = cmd.kindTimeInForce(kind);
    if (timeInForce !== TIME_IN_FORCE.FOK && timeInForce !== TIME_IN_FORCE.FAK) return OK;

    const { groups, matcher } = this.#state;
    if (groups.count > 0) groups.nowMs = readSafe(words, word + cmd.CMD_TIME_MS);
    const account = words[word + cmd.CMD_ACCOUNT]!;
    matcher.lookAhead(market, account, kind, groupIn(words, word), isBid, yesTicks, quantityLots);
    const lots = matcher.reachableLots;
    if (timeInForce === TIME_IN_FORCE.FOK && lots < quantityLots) return E.FOK_NOT_FILLED;
    if (lots === 0) return E.FAK_NO_FILL;
    const minTakerNet = readSafe(words, word + cmd.PLACE_MIN_TAKER_NET);
    if (minTakerNet === 0) return OK;
    const gross = cmd.kindSide(kind) === SIDE.BUY ? lots * market.ticksPerUnit : matcher.reachableNotionalMicro;
    return gross - bpsFloor(gross, market.feeBps) < minTakerNet ? E.MIN_NET_NOT_MET : OK;
  }

  #cancel(words: Uint32Array, word: number): number {
    const { hashes, tombstones } = this.#state;
    if (mayCancel(hashes, words, word)) return hashes.foundSlot < 0 ? E.ORDER_NOT_CANCELLABLE : OK;
    if ((words[word + cmd.CMD_FLAGS]! & cmd.CANCEL_TOMBSTONE) === 0) return E.ORDER_NOT_FOUND;
    const nowMs = readSafe(words, word + cmd.CMD_TIME_MS);
    return tombstones.hasRoom(words[word + cmd.CMD_ACCOUNT]!, nowMs) ? OK : E.ENGINE_BUSY;
  }

  #convert(words: Uint32Array, word: number): number {
    const { ledger, markets } = this.#state;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const amount = readSafe(words, word + cmd.CONVERT_AMOUNT);
    const market = markets.get(words[word + cmd.CMD_MARKET]!);
    if (market === undefined) return E.MARKET_NOT_FOUND;
    const isSplit = words[word + cmd.CMD_FLAGS] === MOVEMENT.SPLIT;
    const isOpen = market.status === MARKET_STATUS.ACTIVE || (!isSplit && market.status === MARKET_STATUS.LOCKED);
    if (!isOpen) return E.MARKET_NOT_ACTIVE;
    if (amount === 0 || amount % market.ticksPerUnit !== 0) return E.INVALID_LOT;
    if (isSplit) {
      const available = ledger.availableMicro(account);
      if (available < amount) return this.#short(amount, available, ledger.reservedOf(account));
      return this.#checkGross(SPLIT_WEIGHT * amount, ledger.reservedOf(account));
    }
    for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
      const available = ledger.availableTokens(account, market.index, outcome);
      if (available < amount)
        return this.#short(amount, available, ledger.reservedTokens(account, market.index, outcome));
    }
    return OK;
  }

  #funds(words: Uint32Array, word: number): number {
    const { ledger, references, totals } = this.#state;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const amount = readSafe(words, word + cmd.FUNDS_AMOUNT);
    if (references.find(words, word + cmd.FUNDS_REFERENCE)) return OK; // a repeat: answered again, applied once
    if (words[word + cmd.CMD_FLAGS] === MOVEMENT.DEPOSIT) {
      if (totals.depositedMicro + amount > MAX_SAFE) return E.VALIDATION_ERROR;
      return this.#checkGross(amount, ledger.reservedOf(account));
    }
    const available = ledger.availableMicro(account);
    if (available < amount) return this.#short(amount, available, ledger.reservedOf(account));
    if (totals.withdrawnMicro + amount > MAX_SAFE) return E.VALIDATION_ERROR;
    return this.#checkGross(amount, ledger.reservedOf(account));
  }

  #marketPatch(words: Uint32Array, word: number): number {
    const market = this.#state.markets.get(words[word + cmd.CMD_MARKET]!);
    if (market === undefined) return E.MARKET_NOT_FOUND;
    const status = words[word + cmd.PATCH_STATUS]!;
    if (status !== cmd.UNCHANGED && !mayMove(market.status, status)) return E.INVALID_TRANSITION;
    // Its end has passed: opened now it would be closed again by the next command, or never when it was closed before.
    const isOver = readSafe(words, word + cmd.PATCH_END_MS) <= readSafe(words, word + cmd.CMD_TIME_MS);
    return status === MARKET_STATUS.ACTIVE && isOver ? E.INVALID_TRANSITION : OK;
  }

  #marketEnd(type: number, words: Uint32Array, word: number): number {
    const market = this.#state.markets.get(words[word + cmd.CMD_MARKET]!);
    if (market === undefined) return E.MARKET_NOT_FOUND;
    switch (type) {
      case cmd.COMMAND.RESOLVE:
        return mayDecide(market.status, words[word + cmd.RESOLVE_STATUS]!) ? OK : E.INVALID_TRANSITION;
      case cmd.COMMAND.SETTLE:
        return isDecided(market.status) && market.settledMs === 0 ? OK : E.INVALID_TRANSITION;
      default:
        if (!isDecided(market.status)) return E.INVALID_TRANSITION;
        return claimableMicro(this.#state, market, words[word + cmd.CMD_ACCOUNT]!) > 0 ? OK : E.NOTHING_TO_CLAIM;
    }
  }

  #group(type: number, words: Uint32Array, word: number): number {
    const { groups } = this.#state;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const index = words[word + cmd.GROUP_INDEX]!;
    if (type !== cmd.COMMAND.GROUP_SET) return groups.of(account, index) === undefined ? E.VALIDATION_ERROR : OK;
    const windowSec = words[word + cmd.GROUP_WINDOW_SEC]!;
    const maxAtomic = readSafe(words, word + cmd.GROUP_MAX_ATOMIC);
    const isValid =
      index !== cmd.NO_GROUP &&
      !groups.isTaken(account, index) &&
      windowSec >= 1 &&
      windowSec <= MOST_WINDOW_SEC &&
      maxAtomic >= 1 &&
      maxAtomic <= MAX_ORDER_AMOUNT;
    return isValid ? OK : E.VALIDATION_ERROR;
  }

  #contracts(words: Uint32Array, bytes: Uint8Array, word: number): number {
    const chainId = readSafe(words, word + cmd.CONTRACTS_CHAIN_ID);
    if (chainId === 0 || chainId > MAX_SAFE) return E.VALIDATION_ERROR;
    const at = (word + cmd.CONTRACTS_EXCHANGE) * 4;
    return this.#hasher.isFor(chainId, bytes.slice(at, at + ADDRESS_BYTES)) ? NOTHING_TO_DO : OK;
  }

  #short(required: number, available: number, reserved: number): number {
    this.a = required;
    this.b = available;
    this.c = reserved;
    return E.INSUFFICIENT_BALANCE;
  }
}

/** The order group that a placing command names, or NO_GROUP. */
function groupIn(words: Uint32Array, word: number): number {
  const isExtended = (cmd.kindBits(words[word + cmd.PLACE_KIND]!) & cmd.PLACE_BIT_EXTENDED) !== 0;
  return isExtended ? words[word + cmd.EXT_GROUP]! : cmd.NO_GROUP;
}

/**
 * Whether the hash of a CANCEL is that of an order its account placed, open (`foundSlot`) or closed. Someone else's
 * order is like an unknown one: a hash tells nothing to a stranger.
 */
export function mayCancel(hashes: HashIndex, words: Uint32Array, word: number): boolean {
  if (!hashes.find(words, word + cmd.CANCEL_HASH)) return false;
  const isAdmin = (words[word + cmd.CMD_FLAGS]! & 0xff) === CLOSE_REASON.ADMIN;
  return isAdmin || hashes.foundAccount === words[word + cmd.CMD_ACCOUNT];
}

/** 1 for an order that bids for Yes: BUY Yes or SELL No. */
export function isBidInYes(kind: number): number {
  return (cmd.kindSide(kind) === SIDE.BUY) === (cmd.kindOutcome(kind) === OUTCOME.YES) ? 1 : 0;
}
