/**
 * A 64-bit digest of everything a shard knows, kept up to date as the state changes: the sum (two 32-bit lanes) of one
 * mix per open order, account, position, market and tombstone, and of every hash ever accepted. A sum does not care in
 * which rows or tables things lie, so it is the same for any implementation, after a replay and after a snapshot.
 * Owner: the shard thread.
 *
 * A command only notes which orders, accounts and positions it changed; what they add to the sum is made anew when the
 * sum is asked for. Between two seals most orders come and go, and the same accounts change over and over.
 *
 * Of an order only what tells it from others, what can change and what its tag says goes in: the rest of it is signed
 * under its hash and never written twice.
 *
 * Invariant D1: the running sum equals the sum computed from nothing (check.ts compares them).
 *
 * Not cryptography: it notices a bug or a flipped bit, not somebody who can write the journal.
 */
import { extend } from './columns.ts';
import type { Group } from './groups.ts';
import type { Ledger } from './ledger.ts';
import type { Market } from './market.ts';
import type { Orders } from './orders.ts';
import * as rows from './orders.ts';
import { PLACE_OF } from './orders.ts';
import { CLIENT_ID_WORDS, NO_TAG } from './tags.ts';
import { Unsealed } from './unsealed.ts';

// Own constants for speed: see emit.ts.
const { NUMBERS, WORDS } = rows;

const TWO_32 = 4_294_967_296;

/** Kinds keep equal numbers in different places from cancelling out. */
const ORDER = 0x9e3779b1;
const ACCOUNT = 0x85ebca77;
const POSITION = 0xc2b2ae3d;
const MARKET = 0x27d4eb2f;
const HASH = 0x165667b1;
const COUNTERS = 0x5bd1e995;
const GROUP = 0x1b873593;
const TOMBSTONE = 0x2545f491;

export class Digest {
  /** The two lanes of the sum, as signed 32-bit integers: sums of those stay in registers. */
  low = 0;
  high = 0;
  readonly #unsealedOrders = new Unsealed();
  readonly #unsealedAccounts = new Unsealed();
  readonly #unsealedPositions = new Unsealed();
  readonly #orders: Orders;
  readonly #ledger: Ledger;
  /** What each row adds at the moment: two lanes per row. */
  #orderLanes = new Int32Array(2048);
  #accountLanes = new Int32Array(128);
  #positionLanes = new Int32Array(2048);
  #marketLanes = new Int32Array(128);
  #groupLanes = new Int32Array(128);
  readonly #facts = new Float64Array(15);

  constructor(orders: Orders, ledger: Ledger) {
    this.#orders = orders;
    this.#ledger = ledger;
  }

  /** An order came to rest, was filled in part, put to sleep, woken or closed. */
  noteOrder(slot: number): void {
    this.#unsealedOrders.note(slot);
  }

  noteAccount(account: number): void {
    this.#unsealedAccounts.note(account);
  }

  notePosition(row: number): void {
    this.#unsealedPositions.note(row);
  }

  /** Makes anew what everything noted adds. */
  catchUp(): void {
    const orders = this.#unsealedOrders;
    const accounts = this.#unsealedAccounts;
    const positions = this.#unsealedPositions;
    for (let i = 0; i < orders.count; i++) this.order(orders.rows[i]!);
    for (let i = 0; i < accounts.count; i++) this.account(accounts.rows[i]!);
    for (let i = 0; i < positions.count; i++) this.position(positions.rows[i]!);
    orders.clear();
    accounts.clear();
    positions.clear();
  }

  order(slot: number): void {
    const o = this.#orders;
    if (slot * 2 >= this.#orderLanes.length) this.#orderLanes = larger(this.#orderLanes, slot * 2);
    if (o.place[slot << WORDS] === PLACE_OF.FREE) {
      this.#replace(this.#orderLanes, slot, 0, 0);
      return;
    }
    const at = o.hashOffset(slot);
    const remaining = fold(o.remainingLots[slot << NUMBERS]!);
    const filled = fold(o.filledNotionalMicro[slot << NUMBERS]!);
    const turn = o.sequence[slot << NUMBERS]! * 4 + o.place[slot << WORDS]!;
    let a = mixA(mixA(mixA(mixA(ORDER, o.hash[at]!), remaining), filled), turn);
    let b = mixB(mixB(mixB(mixB(ORDER, o.hash[at + 1]!), remaining), filled), turn);
    const tag = o.tag[slot << WORDS]!;
    if (tag !== NO_TAG) {
      a = this.#mixTag(mixA, a, tag);
      b = this.#mixTag(mixB, b, tag);
    }
    this.#replace(this.#orderLanes, slot, a, b);
  }

  /** A hash was accepted: it stays in the digest for ever. */
  hashAccepted(words: Uint32Array, word: number, account: number): void {
    const a = mixA(mixA(mixA(HASH, words[word]!), words[word + 1]!), account);
    const b = mixB(mixB(mixB(HASH, words[word + 2]!), words[word + 3]!), account);
    this.low = (this.low + a) | 0;
    this.high = (this.high + b) | 0;
  }

  /** @param sign 1 when it is added, -1 when it goes. */
  tombstone(account: number, hash: Uint32Array, untilMs: number, sign: 1 | -1): void {
    const a = mixA(mixA(mixA(mixA(TOMBSTONE, hash[0]!), hash[1]!), account), fold(untilMs));
    const b = mixB(mixB(mixB(mixB(TOMBSTONE, hash[2]!), hash[3]!), account), fold(untilMs));
    this.low = (this.low + sign * a) | 0;
    this.high = (this.high + sign * b) | 0;
  }

  account(account: number): void {
    const net = this.#ledger.netMicro[account]!;
    const reserved = this.#ledger.reservedMicro[account]!;
    if (account * 2 >= this.#accountLanes.length) this.#accountLanes = larger(this.#accountLanes, account * 2);
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
    if (row * 2 >= this.#positionLanes.length) this.#positionLanes = larger(this.#positionLanes, row * 2);
    let a = mixA(mixA(POSITION, p.account[row]!), p.market[row]!);
    let b = mixB(mixB(POSITION, p.account[row]!), p.market[row]!);
    let isEmpty = true;
    for (let cell = row * 2; cell < row * 2 + 2; cell++) {
      const available = p.available[cell]!;
      const reserved = p.reserved[cell]!;
      if (available !== 0 || reserved !== 0) isEmpty = false;
      a = mixA(mixA(a, fold(available)), fold(reserved));
      b = mixB(mixB(b, fold(available)), fold(reserved));
    }
    if (isEmpty) this.#replace(this.#positionLanes, row, 0, 0);
    else this.#replace(this.#positionLanes, row, a, b);
  }

  market(market: Market): void {
    const { index } = market;
    if (index * 2 >= this.#marketLanes.length) this.#marketLanes = larger(this.#marketLanes, index * 2);
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
    this.#replace(this.#marketLanes, index, mixAll(mixA, MARKET, facts), mixAll(mixB, MARKET, facts));
  }

  group(group: Group): void {
    const { row, index, account, windowSec, maxAtomic, window } = group;
    if (row * 2 >= this.#groupLanes.length) this.#groupLanes = larger(this.#groupLanes, row * 2);
    const facts = [index, account, windowSec, maxAtomic, group.isTripped ? 1 : 0, window.sumAtomic];
    for (let i = 0; i < window.count; i++) facts.push(window.timesMs[i]!, window.atomic[i]!);
    this.#replace(this.#groupLanes, row, mixAll(mixA, GROUP, facts), mixAll(mixB, GROUP, facts));
  }

  /** The digest with the shard's counters folded in: what is journaled. Leaves the running sum alone. */
  sealed(counters: ArrayLike<number>, into: Uint32Array, word: number): void {
    into[word] = this.low + mixAll(mixA, COUNTERS, counters);
    into[word + 1] = this.high + mixAll(mixB, COUNTERS, counters);
  }

  /** What the order carries is not signed, so nothing of it is told by the hash. */
  #mixTag(mix: typeof mixA, start: number, tag: number): number {
    const { clientId, clientIdBytes, group, priority } = this.#orders.tags;
    let lane = mix(mix(mix(start, group[tag]!), clientIdBytes[tag]!), fold(priority[tag]!));
    const at = tag * CLIENT_ID_WORDS;
    for (let i = 0; i < CLIENT_ID_WORDS; i++) lane = mix(lane, clientId[at + i]!);
    return lane;
  }

  #replace(lanes: Int32Array, row: number, a: number, b: number): void {
    const at = row * 2;
    this.low = (this.low - lanes[at]! + a) | 0;
    this.high = (this.high - lanes[at + 1]! + b) | 0;
    lanes[at] = a;
    lanes[at + 1] = b;
  }
}

/** One step of a lane: only the low 32 bits of `value` count. The two lanes differ in their constants alone. */
function mixA(lane: number, value: number): number {
  const mixed = Math.imul(lane ^ value, 0xcc9e2d51);
  return mixed ^ (mixed >>> 15);
}

function mixB(lane: number, value: number): number {
  const mixed = Math.imul(lane ^ value, 0x1b873593);
  return mixed ^ (mixed >>> 13);
}

/** A safe integer of either sign as one word: its low 32 bits, and what lies above them spread over all. */
function fold(value: number): number {
  return value ^ Math.imul(Math.floor(value / TWO_32), 0x9e3779b1);
}

function mixAll(mix: typeof mixA, start: number, values: ArrayLike<number>): number {
  let lane = start;
  for (let i = 0; i < values.length; i++) lane = mix(lane, fold(values[i]!));
  return lane;
}

function larger(lanes: Int32Array, index: number): Int32Array<ArrayBuffer> {
  let n = lanes.length * 2;
  while (n <= index + 1) n *= 2;
  return extend(lanes, new Int32Array(n));
}
