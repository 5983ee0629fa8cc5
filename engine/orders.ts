/**
 * The pool of open orders of one shard: one row per order, one typed array per column, rows reused through a free list.
 * Owner: the shard thread; nobody else reads or writes it. Memory grows by doubling, never per order.
 *
 * Units: lots and ticks of the order's market; notional in micro-USDC; `limitTicks` in the order's own outcome.
 *
 * Invariants (walked by check.ts, cited there by number):
 *   O1  A row is free, or it is in exactly one of: a level's queue, its market's dormant list. (The incoming order is
 *       in neither while its command runs.)
 *   O2  An open row is in its account's list, oldest first, and in the hash index under its hash.
 *   O3  0 < remainingLots <= quantityLots, and a BUY holds exactly remainingLots * limitTicks micro-USDC in reserve,
 *       a SELL exactly remainingLots * ticksPerUnit atomic tokens.
 */
import { assert } from '../shared/assert.ts';
import { NO_GROUP } from '../shared/commands.ts';
import { extend } from './columns.ts';
import type { SnapshotIo } from './snapshotIo.ts';
import { NO_TAG, Tags } from './tags.ts';

export const NONE = -1;

export const PLACE_OF = { FREE: 0, INCOMING: 1, RESTING: 2, DORMANT: 3 } as const;

const HASH_WORDS = 8;

export class Orders {
  capacity: number;
  openCount = 0;

  hash: Uint32Array;
  account: Uint32Array;
  market: Uint32Array;
  /** Side, outcome, time in force and bits as in the PLACE command. */
  kind: Uint32Array;
  place: Uint8Array;
  /** 1 when the order bids for Yes (BUY Yes or SELL No), 0 when it asks. */
  isBid: Uint8Array;
  limitTicks: Uint16Array;
  yesTicks: Uint16Array;
  feeBps: Uint16Array;
  quantityLots: Float64Array;
  remainingLots: Float64Array;
  filledNotionalMicro: Float64Array;
  makerAmount: Float64Array;
  takerAmount: Float64Array;
  expirationSec: Float64Array;
  sequence: Float64Array;
  createdMs: Float64Array;
  /** Neighbours in the level's queue or the dormant list; in a free row `next` is the free list. */
  next: Int32Array;
  previous: Int32Array;
  accountNext: Int32Array;
  accountPrevious: Int32Array;
  /** Position in the expiry heap, or NONE. */
  heapIndex: Int32Array;
  /** Row in `tags`, or NO_TAG. */
  tag: Int32Array;
  readonly tags = new Tags();

  accountHead: Int32Array;
  accountTail: Int32Array;

  #freeHead = NONE;

  constructor(initialCapacity = 1024) {
    const n = initialCapacity;
    this.capacity = n;
    this.hash = new Uint32Array(n * HASH_WORDS);
    this.account = new Uint32Array(n);
    this.market = new Uint32Array(n);
    this.kind = new Uint32Array(n);
    this.place = new Uint8Array(n);
    this.isBid = new Uint8Array(n);
    this.limitTicks = new Uint16Array(n);
    this.yesTicks = new Uint16Array(n);
    this.feeBps = new Uint16Array(n);
    this.quantityLots = new Float64Array(n);
    this.remainingLots = new Float64Array(n);
    this.filledNotionalMicro = new Float64Array(n);
    this.makerAmount = new Float64Array(n);
    this.takerAmount = new Float64Array(n);
    this.expirationSec = new Float64Array(n);
    this.sequence = new Float64Array(n);
    this.createdMs = new Float64Array(n);
    this.next = new Int32Array(n);
    this.previous = new Int32Array(n);
    this.accountNext = new Int32Array(n);
    this.accountPrevious = new Int32Array(n);
    this.heapIndex = new Int32Array(n);
    this.tag = new Int32Array(n);
    this.accountHead = new Int32Array(64).fill(NONE);
    this.accountTail = new Int32Array(64).fill(NONE);
    this.#linkFree(0, n);
  }

  /** A free row, marked incoming and linked at the end of its account's list. The caller fills the other columns. */
  allocate(account: number): number {
    if (this.#freeHead === NONE) this.#grow();
    const slot = this.#freeHead;
    assert(this.place[slot] === PLACE_OF.FREE, 'O1: a row from the free list is free');
    this.#freeHead = this.next[slot]!;
    this.openCount++;
    this.place[slot] = PLACE_OF.INCOMING;
    this.account[slot] = account;
    this.next[slot] = NONE;
    this.previous[slot] = NONE;
    this.heapIndex[slot] = NONE;
    this.tag[slot] = NO_TAG;
    if (account >= this.accountHead.length) this.#growAccounts(account);
    const tail = this.accountTail[account]!;
    this.accountPrevious[slot] = tail;
    this.accountNext[slot] = NONE;
    if (tail === NONE) this.accountHead[account] = slot;
    else this.accountNext[tail] = slot;
    this.accountTail[account] = slot;
    return slot;
  }

  /** Gives a row back; it must already be out of its queue and of the expiry heap. */
  free(slot: number): void {
    assert(this.place[slot] === PLACE_OF.INCOMING, 'O1: a row leaves its queue before it is freed');
    assert(this.heapIndex[slot] === NONE, 'O1: a row leaves the expiry heap before it is freed');
    const account = this.account[slot]!;
    const before = this.accountPrevious[slot]!;
    const after = this.accountNext[slot]!;
    if (before === NONE) this.accountHead[account] = after;
    else this.accountNext[before] = after;
    if (after === NONE) this.accountTail[account] = before;
    else this.accountPrevious[after] = before;
    if (this.tag[slot] !== NO_TAG) this.tags.free(this.tag[slot]!);
    this.place[slot] = PLACE_OF.FREE;
    this.next[slot] = this.#freeHead;
    this.#freeHead = slot;
    this.openCount--;
  }

  /** Its order group, or NO_GROUP. */
  groupOf(slot: number): number {
    const tag = this.tag[slot]!;
    return tag === NO_TAG ? NO_GROUP : this.tags.group[tag]!;
  }

  /** Its time priority inside a queue, and among the sleeping (RULES.md 2.1, 7.10). */
  priorityOf(slot: number): number {
    const tag = this.tag[slot]!;
    return tag === NO_TAG ? this.sequence[slot]! : this.tags.priority[tag]!;
  }

  firstOf(account: number): number {
    return account < this.accountHead.length ? this.accountHead[account]! : NONE;
  }

  setHash(slot: number, words: Uint32Array, word: number): void {
    const at = slot * HASH_WORDS;
    for (let i = 0; i < HASH_WORDS; i++) this.hash[at + i] = words[word + i]!;
  }

  copyHash(slot: number, words: Uint32Array, word: number): void {
    const at = slot * HASH_WORDS;
    for (let i = 0; i < HASH_WORDS; i++) words[word + i] = this.hash[at + i]!;
  }

  hashOffset(slot: number): number {
    return slot * HASH_WORDS;
  }

  persist(io: SnapshotIo): void {
    this.capacity = io.number(this.capacity);
    this.openCount = io.number(this.openCount);
    this.#freeHead = io.number(this.#freeHead);
    this.hash = io.u32(this.hash);
    this.account = io.u32(this.account);
    this.market = io.u32(this.market);
    this.kind = io.u32(this.kind);
    this.place = io.u8(this.place);
    this.isBid = io.u8(this.isBid);
    this.limitTicks = io.u16(this.limitTicks);
    this.yesTicks = io.u16(this.yesTicks);
    this.feeBps = io.u16(this.feeBps);
    this.quantityLots = io.f64(this.quantityLots);
    this.remainingLots = io.f64(this.remainingLots);
    this.filledNotionalMicro = io.f64(this.filledNotionalMicro);
    this.makerAmount = io.f64(this.makerAmount);
    this.takerAmount = io.f64(this.takerAmount);
    this.expirationSec = io.f64(this.expirationSec);
    this.sequence = io.f64(this.sequence);
    this.createdMs = io.f64(this.createdMs);
    this.next = io.i32(this.next);
    this.previous = io.i32(this.previous);
    this.accountNext = io.i32(this.accountNext);
    this.accountPrevious = io.i32(this.accountPrevious);
    this.heapIndex = io.i32(this.heapIndex);
    this.tag = io.i32(this.tag);
    this.tags.persist(io);
    this.accountHead = io.i32(this.accountHead);
    this.accountTail = io.i32(this.accountTail);
  }

  #linkFree(from: number, to: number): void {
    // Lowest row first, so a small book stays in few cache lines.
    for (let slot = from; slot < to; slot++) this.next[slot] = slot + 1 < to ? slot + 1 : this.#freeHead;
    this.#freeHead = from;
  }

  #grow(): void {
    const from = this.capacity;
    const n = from * 2;
    this.hash = extend(this.hash, new Uint32Array(n * HASH_WORDS));
    this.account = extend(this.account, new Uint32Array(n));
    this.market = extend(this.market, new Uint32Array(n));
    this.kind = extend(this.kind, new Uint32Array(n));
    this.place = extend(this.place, new Uint8Array(n));
    this.isBid = extend(this.isBid, new Uint8Array(n));
    this.limitTicks = extend(this.limitTicks, new Uint16Array(n));
    this.yesTicks = extend(this.yesTicks, new Uint16Array(n));
    this.feeBps = extend(this.feeBps, new Uint16Array(n));
    this.quantityLots = extend(this.quantityLots, new Float64Array(n));
    this.remainingLots = extend(this.remainingLots, new Float64Array(n));
    this.filledNotionalMicro = extend(this.filledNotionalMicro, new Float64Array(n));
    this.makerAmount = extend(this.makerAmount, new Float64Array(n));
    this.takerAmount = extend(this.takerAmount, new Float64Array(n));
    this.expirationSec = extend(this.expirationSec, new Float64Array(n));
    this.sequence = extend(this.sequence, new Float64Array(n));
    this.createdMs = extend(this.createdMs, new Float64Array(n));
    this.next = extend(this.next, new Int32Array(n));
    this.previous = extend(this.previous, new Int32Array(n));
    this.accountNext = extend(this.accountNext, new Int32Array(n));
    this.accountPrevious = extend(this.accountPrevious, new Int32Array(n));
    this.heapIndex = extend(this.heapIndex, new Int32Array(n));
    this.tag = extend(this.tag, new Int32Array(n));
    this.capacity = n;
    this.#linkFree(from, n);
  }

  #growAccounts(account: number): void {
    let n = this.accountHead.length * 2;
    while (n <= account) n *= 2;
    this.accountHead = extend(this.accountHead, new Int32Array(n).fill(NONE));
    this.accountTail = extend(this.accountTail, new Int32Array(n).fill(NONE));
  }
}
