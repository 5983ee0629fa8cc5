/**
 * A 64-bit digest of everything a shard knows, kept up to date as the state changes: the sum (two 32-bit lanes) of one
 * mix per open order, account, position, market, tombstone and floor of nonces, and per hash ever accepted. A sum does
 * not depend on the rows or tables in which things are stored, so it is the same for any implementation, after a replay
 * and after a snapshot. The part of the hashes of orders is kept as a number of its own, because hashes may be
 * forgotten (book/hashIndex.ts). Owner: the shard thread.
 *
 * A command only marks the orders, accounts and positions that it changed; their parts of the sum are computed again
 * when the sum is asked for. Between two digests most orders come and go, and the same accounts change many times.
 *
 * Only an order's identity, its changing fields, its grant and its tag enter the digest: everything else is signed
 * under its hash and written only once.
 *
 * Invariants (walked by core/invariants.ts):
 *   DIGEST-1  After `catchUp` the running sum equals the sum computed from nothing.
 *
 * The digest is not cryptographic: it reveals a bug or a flipped bit, but not an attacker who can write the journal.
 */
import { assert } from '../../shared/base/assert.ts';
import { STAGE, UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import { larger } from '../base/columns.ts';
import { DirtyRows } from '../base/dirtyRows.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import type { Market } from '../book/market.ts';
import { ADDRESS_WORDS } from '../book/nonceFloors.ts';
import type { Group } from '../book/orderGroups.ts';
import type { Orders } from '../book/orders.ts';
import * as rows from '../book/orders.ts';
import { SLOT_STATE } from '../book/orders.ts';
import { CLIENT_ID_WORDS, NO_TAG } from '../book/tags.ts';
import type { Ledger } from '../money/ledger.ts';

const { DOUBLE_SHIFT, WORD_SHIFT } = rows;

const TWO_32 = 4_294_967_296;

/** The start value of each kind, so that an order and an account with equal numbers do not cancel out. */
const ORDER = 0x9e3779b1;
const ACCOUNT = 0x85ebca77;
const POSITION = 0xc2b2ae3d;
const MARKET = 0x27d4eb2f;
const HASH = 0x165667b1;
const COUNTERS = 0x5bd1e995;
const GROUP = 0x1b873593;
const TOMBSTONE = 0x2545f491;
const NONCE_FLOOR = 0x6c62272e;
const KINDS = [ORDER, ACCOUNT, POSITION, MARKET, HASH, COUNTERS, GROUP, TOMBSTONE, NONCE_FLOOR];
assert(new Set(KINDS).size === KINDS.length, 'DIGEST-1: every kind starts from a number of its own');

const MARKET_FACTS = 15;

export class Digest {
  /** The two lanes of the sum, as signed 32-bit integers, because such sums stay in registers. */
  low = 0;
  high = 0;
  /** Orders ever accepted, and the part of the sum that their hashes have. */
  readonly accepted = { count: 0, low: 0, high: 0 };
  readonly #dirtyOrders = new DirtyRows();
  readonly #dirtyAccounts = new DirtyRows();
  readonly #dirtyPositions = new DirtyRows();
  readonly #orders: Orders;
  readonly #ledger: Ledger;
  /** The two lanes that each row contributes to the sum at present. */
  #orderLanes = new Int32Array(128);
  #accountLanes = new Int32Array(128);
  #positionLanes = new Int32Array(128);
  #marketLanes = new Int32Array(128);
  #groupLanes = new Int32Array(128);
  readonly #facts = new Float64Array(MARKET_FACTS);

  constructor(orders: Orders, ledger: Ledger) {
    this.#orders = orders;
    this.#ledger = ledger;
  }

  /** The order came to rest, was filled in part, became dormant, woke or was closed. */
  markOrder(slot: number): void {
    this.#dirtyOrders.mark(slot);
  }

  markAccount(account: number): void {
    this.#dirtyAccounts.mark(account);
  }

  markPosition(row: number): void {
    this.#dirtyPositions.mark(row);
  }

  /** Brings the sum up to date with the orders, accounts and positions that were marked. */
  catchUp(): void {
    const orders = this.#dirtyOrders;
    const accounts = this.#dirtyAccounts;
    const positions = this.#dirtyPositions;
    for (let i = 0; i < orders.count; i++) this.order(orders.rows[i]);
    for (let i = 0; i < accounts.count; i++) this.account(accounts.rows[i]);
    for (let i = 0; i < positions.count; i++) this.position(positions.rows[i]);
    orders.clear();
    accounts.clear();
    positions.clear();
  }

  order(slot: number): void {
    const o = this.#orders;
    assert(slot < o.capacity, 'DIGEST-1: an order of the digest is in the pool');
    assert(o.state[slot << WORD_SHIFT] !== SLOT_STATE.INCOMING, 'DIGEST-1: a digest is taken between commands');
    if (slot * 2 >= this.#orderLanes.length) this.#orderLanes = larger(this.#orderLanes, slot * 2 + 1, newLanes);
    if (o.state[slot << WORD_SHIFT] === SLOT_STATE.FREE) {
      this.#replace(this.#orderLanes, slot, 0, 0);
      return;
    }
    const hash = o.signed.words;
    const at = o.signed.hashOffset(slot);
    const remaining = fold(o.remainingLots[slot << DOUBLE_SHIFT]);
    const filled = fold(o.filledNotionalMicro[slot << DOUBLE_SHIFT]);
    const sequenceAndState = o.sequence[slot << DOUBLE_SHIFT] * 4 + o.state[slot << WORD_SHIFT];
    let a = mixA(mixA(mixA(mixA(ORDER, hash[at]), remaining), filled), sequenceAndState);
    let b = mixB(mixB(mixB(mixB(ORDER, hash[at + 1]), remaining), filled), sequenceAndState);
    const grant = o.grant[slot << WORD_SHIFT];
    if (grant !== UNKNOWN_GRANT) {
      a = mixA(a, grant);
      b = mixB(b, grant);
    }
    const origin = o.origin[slot << WORD_SHIFT];
    if (origin !== 0) {
      a = mixA(a, origin);
      b = mixB(b, origin);
    }
    const tag = o.tag[slot << WORD_SHIFT];
    if (tag !== NO_TAG) {
      a = this.#mixTag(mixA, a, tag);
      b = this.#mixTag(mixB, b, tag);
    }
    this.#replace(this.#orderLanes, slot, a, b);
  }

  /** Adds the hash of an accepted order, which stays in the digest for ever. */
  hashAccepted(words: Uint32Array, word: number, account: number): void {
    const { accepted } = this;
    const [low, high] = [this.low, this.high];
    this.reference(words, word, account);
    accepted.count++;
    accepted.low = (accepted.low + this.low - low) | 0;
    accepted.high = (accepted.high + this.high - high) | 0;
  }

  /** Reads or writes the part of the hashes of orders. */
  persistAccepted(io: SnapshotIo): void {
    const { accepted } = this;
    accepted.count = io.number(accepted.count);
    accepted.low = io.number(accepted.low);
    accepted.high = io.number(accepted.high);
  }

  /** Adds the part of the hashes of orders that was read. */
  addAccepted({ count, low, high }: Digest['accepted']): void {
    Object.assign(this.accepted, { count, low, high });
    this.low = (this.low + low) | 0;
    this.high = (this.high + high) | 0;
  }

  /** Adds the reference of a deposit or withdrawal, which is mixed like a hash. */
  reference(words: Uint32Array, word: number, account: number): void {
    const a = mixA(mixA(mixA(HASH, words[word]), words[word + 1]), account);
    const b = mixB(mixB(mixB(HASH, words[word + 2]), words[word + 3]), account);
    this.low = (this.low + a) | 0;
    this.high = (this.high + b) | 0;
  }

  /** @param sign 1 to add a tombstone, -1 to remove one. */
  tombstone(account: number, hash: Uint32Array, untilMs: number, sign: 1 | -1): void {
    const a = mixA(mixA(mixA(mixA(TOMBSTONE, hash[0]), hash[1]), account), fold(untilMs));
    const b = mixB(mixB(mixB(mixB(TOMBSTONE, hash[2]), hash[3]), account), fold(untilMs));
    this.low = (this.low + sign * a) | 0;
    this.high = (this.high + sign * b) | 0;
  }

  /** @param sign 1 for the floor now in force, -1 for the previous one. */
  nonceFloor(account: number, words: Uint32Array, wallet: number, floor: number, sign: 1 | -1): void {
    let a = mixA(mixA(NONCE_FLOOR, account), fold(floor));
    let b = mixB(mixB(NONCE_FLOOR, account), fold(floor));
    for (let i = 0; i < ADDRESS_WORDS; i++) {
      a = mixA(a, words[wallet + i]);
      b = mixB(b, words[wallet + i]);
    }
    this.low = (this.low + sign * a) | 0;
    this.high = (this.high + sign * b) | 0;
  }

  account(account: number): void {
    assert(account < this.#ledger.accountCapacity, 'DIGEST-1: an account of the digest is in the ledger');
    const net = this.#ledger.netMicro[account];
    const reserved = this.#ledger.reservedMicro[account];
    if (account * 2 >= this.#accountLanes.length)
      this.#accountLanes = larger(this.#accountLanes, account * 2 + 1, newLanes);
    if (net === 0 && reserved === 0) {
      this.#replace(this.#accountLanes, account, 0, 0);
      return;
    }
    const a = mixA(mixA(mixA(ACCOUNT, account), fold(net)), fold(reserved));
    const b = mixB(mixB(mixB(ACCOUNT, account), fold(net)), fold(reserved));
    this.#replace(this.#accountLanes, account, a, b);
  }

  position(row: number): void {
    const p = this.#ledger.positions;
    assert(row < p.count, 'DIGEST-1: a position of the digest is in the ledger');
    if (row * 2 >= this.#positionLanes.length) this.#positionLanes = larger(this.#positionLanes, row * 2 + 1, newLanes);
    const account = p.pairs.accounts[row];
    const market = p.pairs.markets[row];
    let a = mixA(mixA(POSITION, account), market);
    let b = mixB(mixB(POSITION, account), market);
    let isEmpty = true;
    for (let cell = row * 2; cell < row * 2 + 2; cell++) {
      const available = p.available[cell];
      const reserved = p.reserved[cell];
      if (available !== 0 || reserved !== 0) isEmpty = false;
      a = mixA(mixA(a, fold(available)), fold(reserved));
      b = mixB(mixB(b, fold(available)), fold(reserved));
    }
    if (isEmpty) this.#replace(this.#positionLanes, row, 0, 0);
    else this.#replace(this.#positionLanes, row, a, b);
  }

  market(market: Market): void {
    const { index } = market;
    if (index * 2 >= this.#marketLanes.length) this.#marketLanes = larger(this.#marketLanes, index * 2 + 1, newLanes);
    const facts = this.#facts;
    facts[0] = index;
    facts[1] = market.status;
    facts[2] = market.feeBps;
    facts[3] = market.ticksPerUnit;
    facts[4] = market.isClosed ? 1 : 0;
    facts[5] = market.openOrders;
    facts[6] = market.minOrderAtomic;
    facts[7] = market.startMs;
    facts[8] = market.endMs;
    facts[9] = market.collateralMicro;
    facts[10] = market.sequence;
    facts[11] = market.payoutYesPpm;
    facts[12] = market.resolvedMs;
    facts[13] = market.settledMs;
    facts[14] = market.roundingPpm;
    let a = mixAll(mixA, MARKET, facts);
    let b = mixAll(mixB, MARKET, facts);
    if (market.stage !== STAGE.OPEN) {
      a = mixA(a, market.stage);
      b = mixB(b, market.stage);
    }
    if (market.isEnding) {
      const ending = this.#endingFacts(market);
      a = mixAll(mixA, a, ending);
      b = mixAll(mixB, b, ending);
    }
    const { set } = market;
    if (set !== null) {
      // The excess is one fact of the set, so the first market alone has it.
      const facts = [set.first, set.size, market.setOrdinal, market.setOrdinal === 0 ? set.excessMicro : 0];
      a = mixAll(mixA, a, facts);
      b = mixAll(mixB, b, facts);
    }
    this.#replace(this.#marketLanes, index, a, b);
  }

  /** The facts of a market that is being ended. Other markets, and markets of old journals, have none. */
  #endingFacts({ cursor, decision, decisionYesPpm, isClosing, isSettling }: Market): number[] {
    const next = isSettling ? this.#ledger.positions.pairs.accounts[cursor] : 0;
    return [isClosing ? 1 : 0, decision, decisionYesPpm, isSettling ? 1 : 0, next];
  }

  group(group: Group): void {
    const { row, index, account, windowSec, maxAtomic, window } = group;
    if (row * 2 >= this.#groupLanes.length) this.#groupLanes = larger(this.#groupLanes, row * 2 + 1, newLanes);
    const facts = [index, account, windowSec, maxAtomic, group.isTripped ? 1 : 0, window.sumAtomic];
    for (let i = 0; i < window.count; i++) facts.push(window.timesMs[i], window.atomic[i]);
    this.#replace(this.#groupLanes, row, mixAll(mixA, GROUP, facts), mixAll(mixB, GROUP, facts));
  }

  /**
   * Writes the digest that is journaled: the running sum, with the shard's counters and other facts folded in. The
   * running sum stays as it is.
   */
  write(counters: Float64Array, facts: readonly number[], into: Uint32Array, word: number): void {
    assert(this.#dirtyOrders.count === 0, 'DIGEST-1: every changed order is in the sum');
    assert(this.#dirtyAccounts.count === 0, 'DIGEST-1: every changed account is in the sum');
    assert(this.#dirtyPositions.count === 0, 'DIGEST-1: every changed position is in the sum');
    into[word] = this.low + mixAll(mixA, mixAll(mixA, COUNTERS, counters), facts);
    into[word + 1] = this.high + mixAll(mixB, mixAll(mixB, COUNTERS, counters), facts);
  }

  /** Mixes in an order's tag: the tag is not signed, so the hash of the order does not cover it. */
  #mixTag(mix: typeof mixA, start: number, tag: number): number {
    const { clientId, clientIdBytes, group, priority } = this.#orders.tags;
    let lane = mix(mix(mix(start, group[tag]), clientIdBytes[tag]), fold(priority[tag]));
    const at = tag * CLIENT_ID_WORDS;
    for (let i = 0; i < CLIENT_ID_WORDS; i++) lane = mix(lane, clientId[at + i]);
    return lane;
  }

  #replace(lanes: Int32Array, row: number, a: number, b: number): void {
    const at = row * 2;
    this.low = (this.low - lanes[at] + a) | 0;
    this.high = (this.high - lanes[at + 1] + b) | 0;
    lanes[at] = a;
    lanes[at + 1] = b;
  }
}

/** One step of a lane: only the low 32 bits of `value` count. The lanes differ only in their constants. */
function mixA(lane: number, value: number): number {
  const mixed = Math.imul(lane ^ value, 0xcc9e2d51);
  return mixed ^ (mixed >>> 15);
}

function mixB(lane: number, value: number): number {
  const mixed = Math.imul(lane ^ value, 0x1b873593);
  return mixed ^ (mixed >>> 13);
}

/** Folds a safe integer of either sign into one word: its low 32 bits, mixed with the bits above them. */
function fold(value: number): number {
  return value ^ Math.imul(Math.floor(value / TWO_32), 0x9e3779b1);
}

function mixAll(mix: typeof mixA, start: number, values: ArrayLike<number>): number {
  let lane = start;
  for (let i = 0; i < values.length; i++) lane = mix(lane, fold(values[i]));
  return lane;
}

function newLanes(length: number): Int32Array<ArrayBuffer> {
  return new Int32Array(length);
}
