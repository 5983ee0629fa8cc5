/**
 * What an accepted command does: state changes and their events, the same live and at replay. No clock (time is in the
 * record), no I/O, no randomness. Owner: the shard thread.
 *
 * The one thing that can still fail here is a reservation that another shard won in between; it comes first, so
 * failing changes nothing.
 */
import { assert } from '../shared/assert.ts';
import * as codes from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import { E, OK } from '../shared/errors.ts';
import { ADDRESS_BYTES } from '../shared/hex.ts';
import { addSafe } from '../shared/int.ts';
import { readSafe } from '../shared/record.ts';
import { moveFee } from './dormancy.ts';
import { mayCancel } from './entry.ts';
import { Market } from './market.ts';
import * as rows from './orders.ts';
import { NONE, PLACE_OF } from './orders.ts';
import { Placing } from './placing.ts';
import { closeBook, decide, payClaim, settle } from './resolution.ts';
import type { ShardState } from './state.ts';

// Own constants for speed: see emit.ts.
const { CLOSE_REASON, MARKET_STATUS, MOVEMENT, OUTCOME } = codes;
const cmd = { ...commands };
const { NUMBERS, WORDS } = rows;

export class Apply {
  /** What the reply tells of a done command (REPLY in shared/events.ts). */
  a = 0;
  b = 0;
  readonly #state: ShardState;
  readonly #placing: Placing;

  constructor(state: ShardState) {
    this.#state = state;
    this.#placing = new Placing(state);
  }

  /** When time alone changes something next; a command at or after it is preceded by a TICK. */
  nextDueMs(): number {
    return Math.min(this.#state.markets.nextTransitionMs, this.#state.expiry.firstMs());
  }

  /** To be called before `run` for a command that was not checked: leaves what the checks leave behind. */
  prepare(type: number, words: Uint32Array, word: number): void {
    if (type === cmd.COMMAND.PLACE || type === cmd.COMMAND.REPLACE) this.#placing.prepare(words, word);
  }

  /** @returns OK, or INSUFFICIENT_BALANCE with nothing changed. */
  run(type: number, words: Uint32Array, word: number): number {
    this.a = 0;
    this.b = 0;
    this.#state.groups.beginCommand();
    this.#state.ledger.beginCommand();
    this.#state.markets.beginCommand();
    const code = this.#dispatch(type, words, word);
    if (code === OK) this.#tellTouched();
    return code;
  }

  #dispatch(type: number, words: Uint32Array, word: number): number {
    switch (type) {
      case cmd.COMMAND.PLACE:
        return this.#placing.place(words, word);
      case cmd.COMMAND.REPLACE:
        return this.#replace(words, word);
      case cmd.COMMAND.CANCEL:
        return this.#cancel(words, word);
      case cmd.COMMAND.CANCEL_MANY:
        return this.#cancelMany(words, word);
      case cmd.COMMAND.CONVERT:
        return this.#convert(words, word);
      case cmd.COMMAND.FUNDS:
        return this.#funds(words, word);
      case cmd.COMMAND.MARKET_OPEN:
        return this.#marketOpen(words, word);
      case cmd.COMMAND.MARKET_PATCH:
        return this.#marketPatch(words, word);
      case cmd.COMMAND.RESOLVE:
        return this.#resolve(words, word);
      case cmd.COMMAND.CLAIM:
        payClaim(this.#state, this.#market(words, word), words[word + cmd.CMD_ACCOUNT]!);
        return OK;
      case cmd.COMMAND.SETTLE:
        settle(this.#state, this.#market(words, word), timeOf(words, word));
        return OK;
      case cmd.COMMAND.GROUP_SET:
        return this.#groupSet(words, word);
      case cmd.COMMAND.GROUP_RESET:
        return this.#groupReset(words, word);
      case cmd.COMMAND.GROUP_TRIP:
        return this.#groupTrip(words, word);
      case cmd.COMMAND.CONTRACTS:
        return this.#setContracts(words, word);
      default:
        assert(type === cmd.COMMAND.TICK, 'apply: a command type is known');
        return this.#tick(timeOf(words, word));
    }
  }

  #replace(words: Uint32Array, word: number): number {
    const code = this.#placing.replace(words, word);
    this.a = this.#placing.keptPlace ? 1 : 0;
    this.b = this.#placing.changedPrice ? 1 : 0;
    return code;
  }

  #cancel(words: Uint32Array, word: number): number {
    const { emit, hashes, matcher, tombstones } = this.#state;
    const flags = words[word + cmd.CMD_FLAGS]!;
    if (mayCancel(hashes, words, word)) {
      const slot = hashes.foundSlot;
      assert(slot >= 0, 'apply: an accepted cancel has an open order');
      matcher.close(this.#marketOf(slot), slot, flags & 0xff);
      return OK;
    }
    assert((flags & cmd.CANCEL_TOMBSTONE) !== 0, 'apply: an accepted cancel without an order leaves a tombstone');
    const account = words[word + cmd.CMD_ACCOUNT]!;
    this.a = tombstones.add(account, words, word + cmd.CANCEL_HASH, timeOf(words, word));
    emit.tombstone(account, words, word + cmd.CANCEL_HASH, this.a);
    return OK;
  }

  #cancelMany(words: Uint32Array, word: number): number {
    const { orders, matcher } = this.#state;
    const only = words[word + cmd.CMD_MARKET]!;
    const outcome = words[word + cmd.CANCEL_MANY_OUTCOME]!;
    let slot = orders.firstOf(words[word + cmd.CMD_ACCOUNT]!);
    while (slot !== NONE) {
      const after = orders.accountNext[slot << WORDS]!;
      const isInMarket = only === cmd.NO_MARKET || orders.market[slot << WORDS] === only;
      if (isInMarket && (outcome === cmd.BOTH_OUTCOMES || cmd.kindOutcome(orders.kind[slot << WORDS]!) === outcome)) {
        matcher.close(this.#marketOf(slot), slot, words[word + cmd.CMD_FLAGS]!);
        this.a++;
      }
      slot = after;
    }
    return OK;
  }

  #convert(words: Uint32Array, word: number): number {
    const { ledger, emit, markets } = this.#state;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const market = this.#market(words, word);
    const amount = readSafe(words, word + cmd.CONVERT_AMOUNT);
    const movement = words[word + cmd.CMD_FLAGS]!;
    const isSplit = movement === MOVEMENT.SPLIT;
    if (isSplit && !ledger.tryDebit(account, amount)) return E.INSUFFICIENT_BALANCE;
    const sign = isSplit ? 1 : -1;
    ledger.addTokens(account, market.index, OUTCOME.YES, sign * amount);
    ledger.addTokens(account, market.index, OUTCOME.NO, sign * amount);
    market.collateralMicro = addSafe(market.collateralMicro, sign * amount);
    if (!isSplit) ledger.credit(account, amount);
    markets.touch(market);
    emit.funds(account, market.index, movement, amount);
    return OK;
  }

  #funds(words: Uint32Array, word: number): number {
    const { ledger, digest, emit, references, totals } = this.#state;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const amount = readSafe(words, word + cmd.FUNDS_AMOUNT);
    const movement = words[word + cmd.CMD_FLAGS]!;
    const reference = word + cmd.FUNDS_REFERENCE;
    if (references.find(words, reference)) return OK;
    if (movement === MOVEMENT.DEPOSIT) {
      totals.depositedMicro = addSafe(totals.depositedMicro, amount);
      ledger.credit(account, amount);
    } else {
      if (!ledger.tryDebit(account, amount)) return E.INSUFFICIENT_BALANCE;
      totals.withdrawnMicro = addSafe(totals.withdrawnMicro, amount);
    }
    references.insert(words, reference, account, NONE);
    digest.hashAccepted(words, reference, account);
    emit.funds(account, cmd.NO_MARKET, movement, amount, words, reference);
    return OK;
  }

  #marketOpen(words: Uint32Array, word: number): number {
    const { markets, orders } = this.#state;
    const index = words[word + cmd.CMD_MARKET]!;
    if (markets.get(index) !== undefined) return OK; // sent again after a crash between the catalogue and the journal
    const market = new Market(
      orders,
      index,
      words.slice(word + cmd.OPEN_UUID, word + cmd.OPEN_UUID + 4),
      words[word + cmd.OPEN_TICKS_PER_UNIT]!,
      readSafe(words, word + cmd.OPEN_MIN_ORDER),
      words[word + cmd.OPEN_STATUS]!,
      words[word + cmd.OPEN_FEE_BPS]!,
      readSafe(words, word + cmd.OPEN_START_MS),
      readSafe(words, word + cmd.OPEN_END_MS),
    );
    assert(market.minOrderAtomic >= market.ticksPerUnit, 'apply: a minimum order is at least one lot');
    markets.add(market);
    markets.touch(market);
    markets.plan();
    return OK;
  }

  #marketPatch(words: Uint32Array, word: number): number {
    const { markets, orders, digest, emit } = this.#state;
    const market = this.#market(words, word);
    const status = words[word + cmd.PATCH_STATUS]!;
    const feeBps = words[word + cmd.PATCH_FEE_BPS]!;
    if (status === MARKET_STATUS.RESOLVING) closeBook(this.#state, market); // it never trades again
    if (status !== cmd.UNCHANGED) market.status = status;
    market.startMs = readSafe(words, word + cmd.PATCH_START_MS);
    market.endMs = readSafe(words, word + cmd.PATCH_END_MS);
    if (market.endMs > timeOf(words, word)) market.isClosed = false;
    if (feeBps !== cmd.UNCHANGED && feeBps !== market.feeBps) {
      market.feeBps = feeBps;
      moveFee(market, orders, digest, emit);
    }
    markets.touch(market);
    markets.plan();
    return OK;
  }

  #resolve(words: Uint32Array, word: number): number {
    const status = words[word + cmd.RESOLVE_STATUS]!;
    const payoutYesPpm = words[word + cmd.RESOLVE_PAYOUT_YES_PPM]!;
    decide(this.#state, this.#market(words, word), status, payoutYesPpm, timeOf(words, word));
    return OK;
  }

  /** A change keeps what was filled; where that is the new maximum already, it trips at once. */
  #groupSet(words: Uint32Array, word: number): number {
    const { groups, matcher } = this.#state;
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const index = words[word + cmd.GROUP_INDEX]!;
    const windowSec = words[word + cmd.GROUP_WINDOW_SEC]!;
    const maxAtomic = readSafe(words, word + cmd.GROUP_MAX_ATOMIC);
    const known = groups.of(account, index);
    if (known?.windowSec === windowSec && known.maxAtomic === maxAtomic) return OK;
    const group = known ?? groups.make(account, index);
    groups.touch(group);
    group.roll(timeOf(words, word)); // a longer window does not bring back what the old one has let go
    group.windowSec = windowSec;
    group.maxAtomic = maxAtomic;
    group.roll(timeOf(words, word));
    if (group.isTripped || !group.isFull) return OK;
    matcher.trip(group, NONE);
    group.isNews = true;
    return OK;
  }

  #groupReset(words: Uint32Array, word: number): number {
    const { groups } = this.#state;
    const group = groups.must(words[word + cmd.GROUP_INDEX]!);
    if (!group.isTripped && group.window.count === 0) return OK;
    groups.touch(group);
    group.isTripped = false;
    group.window.clear();
    return OK;
  }

  #groupTrip(words: Uint32Array, word: number): number {
    const { groups, matcher } = this.#state;
    const group = groups.must(words[word + cmd.GROUP_INDEX]!);
    if (!group.isTripped) matcher.trip(group, NONE);
    return OK;
  }

  /** What was signed for the contracts so far counts no more: every open order leaves, oldest first. */
  #setContracts(words: Uint32Array, word: number): number {
    const { contracts, emit, matcher, orders } = this.#state;
    contracts.chainId = readSafe(words, word + cmd.CONTRACTS_CHAIN_ID);
    const at = words.byteOffset + (word + cmd.CONTRACTS_EXCHANGE) * 4;
    contracts.exchange = new Uint8Array(words.buffer, at, ADDRESS_BYTES).slice();
    const open: number[] = [];
    for (let slot = 0; slot < orders.capacity; slot++)
      if (orders.place[slot << WORDS] !== PLACE_OF.FREE) open.push(slot);
    open.sort((a, b) => orders.sequence[a << NUMBERS]! - orders.sequence[b << NUMBERS]!);
    for (const slot of open) matcher.close(this.#marketOf(slot), slot, CLOSE_REASON.ADMIN);
    this.a = open.length;
    emit.contracts(contracts);
    return OK;
  }

  /** Everything due by time alone, in order of time; at one moment markets come first, so a close beats an expiry. */
  #tick(timeMs: number): number {
    const { expiry, markets, matcher } = this.#state;
    for (let dueMs = this.nextDueMs(); dueMs <= timeMs; dueMs = this.nextDueMs()) {
      if (markets.nextTransitionMs === dueMs) this.#moveMarkets(dueMs);
      else matcher.close(this.#marketOf(expiry.first()), expiry.first(), CLOSE_REASON.EXPIRED);
    }
    return OK;
  }

  #moveMarkets(dueMs: number): void {
    const { markets } = this.#state;
    for (const market of markets.all()) {
      if (market.nextTransitionMs() > dueMs) continue;
      if (market.status === MARKET_STATUS.PENDING && market.startMs <= dueMs) {
        market.status = MARKET_STATUS.ACTIVE;
        markets.touch(market);
      } else this.#closeMarket(market);
    }
    markets.plan();
  }

  #closeMarket(market: Market): void {
    closeBook(this.#state, market);
    market.status = MARKET_STATUS.LOCKED;
    market.isClosed = true;
    this.#state.markets.touch(market);
  }

  #tellGroups(): void {
    const { emit, groups } = this.#state;
    for (const group of groups.touched) {
      emit.group(group);
      group.isNews = false;
    }
  }

  #market(words: Uint32Array, word: number): Market {
    const market = this.#state.markets.get(words[word + cmd.CMD_MARKET]!);
    assert(market !== undefined, 'apply: the market of an accepted command is known');
    return market;
  }

  #marketOf(slot: number): Market {
    const market = this.#state.markets.get(this.#state.orders.market[slot << WORDS]!);
    assert(market !== undefined, 'O1: the market of an open order is known');
    return market;
  }

  /** How everything the command touched stands after it, in absolute terms, so that readers only assign. */
  #tellTouched(): void {
    const { digest, emit, gross, groups, ledger, markets } = this.#state;
    if (gross !== null) gross.follow();
    for (let i = 0; i < ledger.touchedRowCount; i++) {
      emit.position(ledger.touchedRows[i]!);
      digest.notePosition(ledger.touchedRows[i]!);
    }
    for (let i = 0; i < ledger.touchedAccountCount; i++) {
      const account = ledger.touchedAccounts[i]!;
      digest.noteAccount(account);
      if (!ledger.isCovered(account)) emit.usdc(account);
    }
    if (markets.touched.length > 0) for (const market of markets.touched) emit.market(market);
    if (groups.touched.length > 0) this.#tellGroups();
  }
}

/** Read where it is used: passed on as an argument, a time is a new object at every call. */
function timeOf(words: Uint32Array, word: number): number {
  return readSafe(words, word + cmd.CMD_TIME_MS);
}
