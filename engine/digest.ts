/**
 * A 64-bit digest of everything a shard knows, kept up to date as the state changes: the sum (two 32-bit lanes) of one
 * mix per open order, account, position and market, and of every hash ever accepted. A sum does not care in which rows or
 * tables things lie, so it is the same for any implementation, after a replay and after a snapshot.
 * Owner: the shard thread.
 *
 * Invariant D1: the running sum equals the sum computed from nothing (check.ts compares them).
 *
 * Not cryptography: it notices a bug or a flipped bit, not somebody who can write the journal.
 */
import type { Ledger } from './ledger.ts';
import type { Market } from './market.ts';
import { extend, type Orders } from './orders.ts';

const TWO_32 = 4_294_967_296;

/** Kinds keep equal numbers in different places from cancelling out. */
const KIND = { ORDER: 1, ACCOUNT: 2, POSITION: 3, MARKET: 4, HASH: 5, COUNTER: 6 } as const;

export class Digest {
  low = 0;
  high = 0;
  readonly #orders: Orders;
  readonly #ledger: Ledger;
  /** What each row adds at the moment: two lanes per row. */
  #orderLanes: Uint32Array = new Uint32Array(2048);
  #accountLanes: Uint32Array = new Uint32Array(128);
  #positionLanes: Uint32Array = new Uint32Array(2048);
  #marketLanes: Uint32Array = new Uint32Array(128);
  #a = 0;
  #b = 0;

  constructor(orders: Orders, ledger: Ledger) {
    this.#orders = orders;
    this.#ledger = ledger;
  }

  /** An order that stays open was placed, filled in part, put to sleep or woken. */
  order(slot: number): void {
    const o = this.#orders;
    this.#start(KIND.ORDER, o.account[slot]!);
    const at = o.hashOffset(slot);
    for (let i = 0; i < 4; i++) this.#word(o.hash[at + i]!);
    this.#word(o.market[slot]!);
    this.#word(o.kind[slot]!);
    this.#word(o.place[slot]!);
    this.#word(o.limitTicks[slot]!);
    this.#word(o.feeBps[slot]!);
    this.#safe(o.quantityLots[slot]!);
    this.#safe(o.remainingLots[slot]!);
    this.#safe(o.filledNotionalMicro[slot]!);
    this.#safe(o.makerAmount[slot]!);
    this.#safe(o.takerAmount[slot]!);
    this.#safe(o.expirationSec[slot]!);
    this.#safe(o.sequence[slot]!);
    this.#safe(o.createdMs[slot]!);
    if (slot * 2 >= this.#orderLanes.length) this.#orderLanes = larger(this.#orderLanes, slot * 2);
    this.#replace(this.#orderLanes, slot);
  }

  orderClosed(slot: number): void {
    if (slot * 2 < this.#orderLanes.length) this.#remove(this.#orderLanes, slot);
  }

  /** A hash was accepted: it stays in the digest for ever. */
  hashAccepted(words: Uint32Array, word: number, account: number): void {
    this.#start(KIND.HASH, account);
    for (let i = 0; i < 4; i++) this.#word(words[word + i]!);
    this.#add();
  }

  account(account: number): void {
    const net = this.#ledger.netMicro[account]!;
    const reserved = this.#ledger.reservedMicro[account]!;
    if (account * 2 >= this.#accountLanes.length) this.#accountLanes = larger(this.#accountLanes, account * 2);
    if (net === 0 && reserved === 0) {
      this.#remove(this.#accountLanes, account);
      return;
    }
    this.#start(KIND.ACCOUNT, account);
    this.#safe(net);
    this.#safe(reserved);
    this.#replace(this.#accountLanes, account);
  }

  position(row: number): void {
    const p = this.#ledger.positions;
    if (row * 2 >= this.#positionLanes.length) this.#positionLanes = larger(this.#positionLanes, row * 2);
    this.#start(KIND.POSITION, p.account[row]!);
    this.#word(p.market[row]!);
    let isEmpty = true;
    for (let cell = row * 2; cell < row * 2 + 2; cell++) {
      this.#safe(p.available[cell]!);
      this.#safe(p.reserved[cell]!);
      if (p.available[cell] !== 0 || p.reserved[cell] !== 0) isEmpty = false;
    }
    if (isEmpty) this.#remove(this.#positionLanes, row);
    else this.#replace(this.#positionLanes, row);
  }

  market(market: Market): void {
    const { index } = market;
    if (index * 2 >= this.#marketLanes.length) this.#marketLanes = larger(this.#marketLanes, index * 2);
    this.#start(KIND.MARKET, index);
    this.#word(market.status);
    this.#word(market.feeBps);
    this.#word(market.ticksPerUnit);
    this.#word(market.isClosed ? 1 : 0);
    this.#word(market.openOrders);
    this.#safe(market.minOrderAtomic);
    this.#safe(market.startMs);
    this.#safe(market.endMs);
    this.#safe(market.collateralMicro);
    this.#safe(market.sequence);
    this.#replace(this.#marketLanes, index);
  }

  /** The digest with the shard's counters folded in: what is journaled. Leaves the running sum alone. */
  sealed(counters: readonly number[], into: Uint32Array, word: number): void {
    this.#start(KIND.COUNTER, counters.length);
    for (const counter of counters) this.#safe(counter);
    this.#finish();
    into[word] = this.low + this.#a;
    into[word + 1] = this.high + this.#b;
  }

  #start(kind: number, key: number): void {
    this.#a = Math.imul(kind, 0x9e3779b1) | 0;
    this.#b = Math.imul(kind, 0x85ebca77) | 0;
    this.#word(key);
  }

  #word(value: number): void {
    const a = Math.imul(this.#a ^ value, 0xcc9e2d51);
    const b = Math.imul(this.#b + value, 0x1b873593);
    this.#a = (a ^ (a >>> 15)) + b;
    this.#b = (b ^ (b >>> 13)) + a;
  }

  /** A safe integer of either sign. */
  #safe(value: number): void {
    const low = value >>> 0;
    this.#word(low);
    this.#word((value - low) / TWO_32);
  }

  #finish(): void {
    this.#word(0x5bd1e995);
    this.#word(0x27d4eb2f);
  }

  #add(): void {
    this.#finish();
    this.low = (this.low + this.#a) >>> 0;
    this.high = (this.high + this.#b) >>> 0;
  }

  #replace(lanes: Uint32Array, row: number): void {
    this.#finish();
    const at = row * 2;
    this.low = (this.low - lanes[at]! + this.#a) >>> 0;
    this.high = (this.high - lanes[at + 1]! + this.#b) >>> 0;
    lanes[at] = this.#a;
    lanes[at + 1] = this.#b;
  }

  #remove(lanes: Uint32Array, row: number): void {
    const at = row * 2;
    this.low = (this.low - lanes[at]!) >>> 0;
    this.high = (this.high - lanes[at + 1]!) >>> 0;
    lanes[at] = 0;
    lanes[at + 1] = 0;
  }
}

function larger(lanes: Uint32Array, index: number): Uint32Array {
  let n = lanes.length * 2;
  while (n <= index + 1) n *= 2;
  return extend(lanes, new Uint32Array(n));
}
