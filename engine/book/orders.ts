/**
 * The pool of open orders of one shard: one slot per order, slots reused through a free list. Owner: the shard thread;
 * no other thread reads or writes it. Memory grows by doubling, never per order.
 *
 * Units: lots and ticks of the order's market; notional in micro-USDC; `limitTicks` in the order's own outcome.
 *
 * A slot has a row of two cache lines. A command that touches an order takes about as long as fetching its lines, and
 * with one column per field every field would be a line of its own. Each field is a view of all rows that starts at the
 * field in row 0: field `f` of an order is `f[slot << WORD_SHIFT]` if it is a word, `f[slot << DOUBLE_SHIFT]` if it is
 * a double. `words` and `doubles` are the rows themselves (WORD_AT, DOUBLE_AT).
 *
 *   word  0 remainingLots   2 account   3 market   4 kind   5 state   6 isBid   7 limitTicks   8 yesTicks   9 feeBps
 *        10 next   11 previous   12 accountNext   13 accountPrevious   14 heapIndex   15 tag
 *   ──── second line
 *        16 quantityLots   18 filledNotionalMicro   20 sequence   22 makerAmount   24 takerAmount   26 expirationSec
 *        28 createdMs   30 origin   31 grant
 *
 * The other signed fields, among them the hash, are in separate cache lines (signedLines.ts).
 *
 * Invariants (walked by core/invariants.ts):
 *   ORDERS-1  A row is free, or it is in exactly one of: a level's queue, its market's dormant list. (The incoming
 *             order is in neither while its command runs.)
 *   ORDERS-2  An open row is in its account's list, oldest first, and in the hash index under its hash.
 *   ORDERS-3  0 < remainingLots <= quantityLots, and a BUY holds exactly remainingLots * limitTicks micro-USDC in
 *             reserve, a SELL exactly remainingLots * ticksPerUnit atomic tokens.
 */
import { assert } from '../../shared/base/assert.ts';
import { NO_GROUP } from '../../shared/wire/commands.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { SignedLines } from './signedLines.ts';
import { NO_TAG, Tags } from './tags.ts';

export const NONE = -1;

/** The first version of snapshots with the origins of orders; in older ones every order is of its own shard. */
const ORIGINS_VERSION = 16;

/** States of a slot. An order is INCOMING only while a command places, moves or closes it. */
export const SLOT_STATE = { FREE: 0, INCOMING: 1, RESTING: 2, DORMANT: 3 } as const;

/** log2 of the length of a row: a row is 32 words, or 16 doubles. */
export const WORD_SHIFT = 5;
export const DOUBLE_SHIFT = 4;
const ROW_BYTES = 4 << WORD_SHIFT;

/**
 * Offsets of the fields in a row of words and, below, in a row of doubles. Functions that touch many fields of an order
 * go through `words` and `doubles`: `words[row | WORD_AT.KIND]` with `row = slot << WORD_SHIFT`. Through the view of a
 * field every access costs a load and two checks more, which would be most of the machine code of such a function.
 */
export const WORD_AT = {
  ACCOUNT: 2,
  MARKET: 3,
  KIND: 4,
  STATE: 5,
  IS_BID: 6,
  LIMIT_TICKS: 7,
  YES_TICKS: 8,
  FEE_BPS: 9,
  NEXT: 10,
  PREVIOUS: 11,
  ACCOUNT_NEXT: 12,
  ACCOUNT_PREVIOUS: 13,
  HEAP_INDEX: 14,
  TAG: 15,
  ORIGIN: 30,
  GRANT: 31,
} as const;
export const DOUBLE_AT = {
  REMAINING_LOTS: 0,
  QUANTITY_LOTS: 8,
  FILLED_NOTIONAL: 9,
  SEQUENCE: 10,
  MAKER_AMOUNT: 11,
  TAKER_AMOUNT: 12,
  EXPIRATION_SEC: 13,
  CREATED_MS: 14,
} as const;

assert(ROW_BYTES === 8 << DOUBLE_SHIFT, 'orders: a row is as long in words as in doubles');
assert(new Set(fieldWords()).size === fieldWords().length, 'orders: no two fields of a row overlap');
assert(Math.max(...fieldWords()) < 1 << WORD_SHIFT, 'orders: every field lies within its row');

/** Every word of a row that belongs to a field. */
function fieldWords(): number[] {
  return [...Object.values(WORD_AT), ...Object.values(DOUBLE_AT).flatMap((at) => [at * 2, at * 2 + 1])];
}

export class Orders {
  capacity: number;
  openCount = 0;

  readonly signed: SignedLines;
  /** All rows, as words (WORD_AT) and as doubles (DOUBLE_AT). */
  words!: Int32Array;
  doubles!: Float64Array;
  remainingLots!: Float64Array;
  account!: Uint32Array;
  market!: Uint32Array;
  /** Side, outcome, time in force and bits as in the PLACE command. */
  kind!: Uint32Array;
  /** One of SLOT_STATE. */
  state!: Int32Array;
  /** 1 when the order bids for Yes (BUY Yes or SELL No), 0 when it asks. */
  isBid!: Int32Array;
  limitTicks!: Int32Array;
  yesTicks!: Int32Array;
  feeBps!: Int32Array;
  /** Neighbours in the level's queue or the dormant list; in a free row `next` is the free list. */
  next!: Int32Array;
  previous!: Int32Array;
  accountNext!: Int32Array;
  accountPrevious!: Int32Array;
  /** Index in the expiry heap, or NONE. */
  heapIndex!: Int32Array;
  /** Row in `tags`, or NO_TAG. */
  tag!: Int32Array;
  quantityLots!: Float64Array;
  filledNotionalMicro!: Float64Array;
  sequence!: Float64Array;
  makerAmount!: Float64Array;
  takerAmount!: Float64Array;
  expirationSec!: Float64Array;
  createdMs!: Float64Array;
  /** The shard that accepted the order, plus one: its id names that shard. 0: this shard (core/resharding.ts). */
  origin!: Uint32Array;
  /** Number of the grant under which it was signed, or UNKNOWN_GRANT. */
  grant!: Uint32Array;
  readonly tags = new Tags();

  accountHead: Int32Array;
  accountTail: Int32Array;

  #rows = new Uint8Array(0);
  #freeHead = NONE;

  constructor(initialCapacity = 64) {
    this.capacity = initialCapacity;
    this.signed = new SignedLines(initialCapacity);
    this.#useRows(new Uint8Array(initialCapacity * ROW_BYTES));
    this.accountHead = new Int32Array(64).fill(NONE);
    this.accountTail = new Int32Array(64).fill(NONE);
    this.#linkFree(0, initialCapacity);
  }

  /** Returns a free slot, INCOMING and last in its account's list. The caller fills in the other fields. */
  allocate(account: number): number {
    assert(account > 0, 'ORDERS-2: no order belongs to the fee account');
    if (this.#freeHead === NONE) this.#grow();
    const slot = this.#freeHead;
    const row = slot << WORD_SHIFT;
    const { words } = this;
    assert(words[row | WORD_AT.STATE] === SLOT_STATE.FREE, 'ORDERS-1: a row from the free list is free');
    this.#freeHead = words[row | WORD_AT.NEXT];
    this.openCount++;
    words[row | WORD_AT.STATE] = SLOT_STATE.INCOMING;
    words[row | WORD_AT.ACCOUNT] = account;
    words[row | WORD_AT.NEXT] = NONE;
    words[row | WORD_AT.PREVIOUS] = NONE;
    words[row | WORD_AT.HEAP_INDEX] = NONE;
    words[row | WORD_AT.TAG] = NO_TAG;
    words[row | WORD_AT.ORIGIN] = 0;
    this.#list(slot, account);
    return slot;
  }

  /** Frees a slot, which must be in no queue and not in the expiry heap. */
  free(slot: number): void {
    const row = slot << WORD_SHIFT;
    const { words } = this;
    assert(words[row | WORD_AT.STATE] === SLOT_STATE.INCOMING, 'ORDERS-1: a row leaves its queue before it is freed');
    assert(words[row | WORD_AT.HEAP_INDEX] === NONE, 'ORDERS-1: a row leaves the expiry heap before it is freed');
    const account = words[row | WORD_AT.ACCOUNT];
    const before = words[row | WORD_AT.ACCOUNT_PREVIOUS];
    const after = words[row | WORD_AT.ACCOUNT_NEXT];
    assert(this.openCount > 0, 'ORDERS-1: the pool counts an order that is freed');
    assert(
      before !== NONE || this.accountHead[account] === slot,
      'ORDERS-2: an account list starts at its first order',
    );
    assert(after !== NONE || this.accountTail[account] === slot, 'ORDERS-2: an account list ends at its last order');
    if (before === NONE) this.accountHead[account] = after;
    else words[(before << WORD_SHIFT) | WORD_AT.ACCOUNT_NEXT] = after;
    if (after === NONE) this.accountTail[account] = before;
    else words[(after << WORD_SHIFT) | WORD_AT.ACCOUNT_PREVIOUS] = before;
    if (words[row | WORD_AT.TAG] !== NO_TAG) this.tags.free(words[row | WORD_AT.TAG]);
    words[row | WORD_AT.STATE] = SLOT_STATE.FREE;
    words[row | WORD_AT.NEXT] = this.#freeHead;
    this.#freeHead = slot;
    this.openCount--;
  }

  /** The order's group, or NO_GROUP. */
  groupOf(slot: number): number {
    const tag = this.tag[slot << WORD_SHIFT];
    return tag === NO_TAG ? NO_GROUP : this.tags.group[tag];
  }

  /** The order's time priority in its queue or among the dormant orders (RULES.md 2.1, 7.10). */
  priorityOf(slot: number): number {
    const tag = this.tag[slot << WORD_SHIFT];
    return tag === NO_TAG ? this.sequence[slot << DOUBLE_SHIFT] : this.tags.priority[tag];
  }

  /** The account's oldest open order, or NONE. */
  firstOf(account: number): number {
    return account < this.accountHead.length ? this.accountHead[account] : NONE;
  }

  /** The first of the free slots, or NONE; each leads to the next. */
  get firstFree(): number {
    return this.#freeHead;
  }

  /** Gives an empty pool so many slots, none of which is in a list yet. */
  reserve(slots: number): void {
    assert(this.openCount === 0, 'ORDERS-1: a snapshot is read into an empty pool');
    this.signed.grow(slots);
    this.#useRows(new Uint8Array(slots * ROW_BYTES));
    this.capacity = slots;
  }

  /** Adds an order that was read to the end of its account's list. */
  addRead(slot: number, account: number): void {
    this.#list(slot, account);
    this.openCount++;
  }

  /** Takes over the list of free slots. */
  useFree(first: number): void {
    this.#freeHead = first;
  }

  /** Snapshots of before version 18 (packedOrders.ts) have each field of all slots as a column. */
  persistColumns(io: SnapshotIo): void {
    this.capacity = io.number(this.capacity);
    this.openCount = io.number(this.openCount);
    this.#freeHead = io.number(this.#freeHead);
    this.signed.persist(io);
    if (this.#rows.length !== this.capacity * ROW_BYTES) this.#useRows(new Uint8Array(this.capacity * ROW_BYTES));
    const n = this.capacity;
    const u8 = (field: Field) => spread(io.u8(gather(field, new Uint8Array(n))), field);
    const u16 = (field: Field) => spread(io.u16(gather(field, new Uint16Array(n))), field);
    const u32 = (field: Field) => spread(io.u32(gather(field, new Uint32Array(n))), field);
    const i32 = (field: Field) => spread(io.i32(gather(field, new Int32Array(n))), field);
    const f64 = (field: Field) => spread(io.f64(gather(field, new Float64Array(n))), field);
    for (const field of [this.account, this.market, this.kind]) u32(field);
    for (const field of [this.state, this.isBid]) u8(field);
    for (const field of [this.limitTicks, this.yesTicks, this.feeBps]) u16(field);
    for (const field of [this.quantityLots, this.remainingLots, this.filledNotionalMicro]) f64(field);
    for (const field of [this.makerAmount, this.takerAmount, this.expirationSec]) f64(field);
    for (const field of [this.sequence, this.createdMs]) f64(field);
    for (const field of [this.next, this.previous, this.accountNext, this.accountPrevious]) i32(field);
    for (const field of [this.heapIndex, this.tag]) i32(field);
    u32(this.grant);
    this.tags.persist(io);
    this.accountHead = io.i32(this.accountHead);
    this.accountTail = io.i32(this.accountTail);
    if (io.version >= ORIGINS_VERSION) u16(this.origin);
  }

  /** Asserts the parts of ORDERS-1 and ORDERS-2 that the pool can see: the free list and the lists of accounts. */
  validate(): void {
    let free = 0;
    for (let slot = this.#freeHead; slot !== NONE; slot = this.next[slot << WORD_SHIFT]) {
      assert(this.state[slot << WORD_SHIFT] === SLOT_STATE.FREE, 'ORDERS-1: a slot of the free list is free');
      free++;
      assert(free <= this.capacity, 'ORDERS-1: the free list ends');
    }
    assert(free + this.openCount === this.capacity, 'ORDERS-1: a slot is free or open');
    let listed = 0;
    for (let account = 0; account < this.accountHead.length; account++) {
      let before: number = NONE;
      for (let slot = this.firstOf(account); slot !== NONE; slot = this.accountNext[slot << WORD_SHIFT]) {
        assert(this.account[slot << WORD_SHIFT] === account, 'ORDERS-2: an order is in the list of its account');
        assert(this.accountPrevious[slot << WORD_SHIFT] === before, 'ORDERS-2: account lists are linked both ways');
        assert(before === NONE || this.#isOlder(before, slot), 'ORDERS-2: an account list is oldest first');
        before = slot;
        listed++;
      }
      assert(this.accountTail[account] === before, 'ORDERS-2: an account list ends at its tail');
    }
    assert(listed === this.openCount, 'ORDERS-2: every open order is in the list of its account');
  }

  /** Adds an order to the end of its account's list. */
  #list(slot: number, account: number): void {
    const { words } = this;
    const row = slot << WORD_SHIFT;
    if (account >= this.accountHead.length) this.#growAccounts(account);
    const tail = this.accountTail[account];
    words[row | WORD_AT.ACCOUNT_PREVIOUS] = tail;
    words[row | WORD_AT.ACCOUNT_NEXT] = NONE;
    if (tail === NONE) this.accountHead[account] = slot;
    else words[(tail << WORD_SHIFT) | WORD_AT.ACCOUNT_NEXT] = slot;
    this.accountTail[account] = slot;
  }

  /** Numbers of orders are of the shard that accepted them: those of two shards may be equal. */
  #isOlder(before: number, slot: number): boolean {
    const [a, b] = [this.sequence[before << DOUBLE_SHIFT], this.sequence[slot << DOUBLE_SHIFT]];
    return a < b || (a === b && this.origin[before << WORD_SHIFT] !== this.origin[slot << WORD_SHIFT]);
  }

  #linkFree(from: number, to: number): void {
    // The lowest slots are used first, so a small book stays in few cache lines.
    for (let slot = from; slot < to; slot++) this.next[slot << WORD_SHIFT] = slot + 1 < to ? slot + 1 : this.#freeHead;
    this.#freeHead = from;
  }

  #grow(): void {
    const from = this.capacity;
    const n = from * 2;
    this.signed.grow(n);
    this.#useRows(extend(this.#rows, new Uint8Array(n * ROW_BYTES)));
    this.capacity = n;
    this.#linkFree(from, n);
  }

  /** The views reach as far as the memory does; the drawing above shows where each starts. */
  #useRows(rows: Uint8Array<ArrayBuffer>): void {
    const { buffer } = rows;
    this.#rows = rows;
    this.words = new Int32Array(buffer);
    this.doubles = new Float64Array(buffer);
    this.remainingLots = new Float64Array(buffer, DOUBLE_AT.REMAINING_LOTS * 8);
    this.account = new Uint32Array(buffer, WORD_AT.ACCOUNT * 4);
    this.market = new Uint32Array(buffer, WORD_AT.MARKET * 4);
    this.kind = new Uint32Array(buffer, WORD_AT.KIND * 4);
    this.state = new Int32Array(buffer, WORD_AT.STATE * 4);
    this.isBid = new Int32Array(buffer, WORD_AT.IS_BID * 4);
    this.limitTicks = new Int32Array(buffer, WORD_AT.LIMIT_TICKS * 4);
    this.yesTicks = new Int32Array(buffer, WORD_AT.YES_TICKS * 4);
    this.feeBps = new Int32Array(buffer, WORD_AT.FEE_BPS * 4);
    this.next = new Int32Array(buffer, WORD_AT.NEXT * 4);
    this.previous = new Int32Array(buffer, WORD_AT.PREVIOUS * 4);
    this.accountNext = new Int32Array(buffer, WORD_AT.ACCOUNT_NEXT * 4);
    this.accountPrevious = new Int32Array(buffer, WORD_AT.ACCOUNT_PREVIOUS * 4);
    this.heapIndex = new Int32Array(buffer, WORD_AT.HEAP_INDEX * 4);
    this.tag = new Int32Array(buffer, WORD_AT.TAG * 4);
    this.quantityLots = new Float64Array(buffer, DOUBLE_AT.QUANTITY_LOTS * 8);
    this.filledNotionalMicro = new Float64Array(buffer, DOUBLE_AT.FILLED_NOTIONAL * 8);
    this.sequence = new Float64Array(buffer, DOUBLE_AT.SEQUENCE * 8);
    this.makerAmount = new Float64Array(buffer, DOUBLE_AT.MAKER_AMOUNT * 8);
    this.takerAmount = new Float64Array(buffer, DOUBLE_AT.TAKER_AMOUNT * 8);
    this.expirationSec = new Float64Array(buffer, DOUBLE_AT.EXPIRATION_SEC * 8);
    this.createdMs = new Float64Array(buffer, DOUBLE_AT.CREATED_MS * 8);
    this.origin = new Uint32Array(buffer, WORD_AT.ORIGIN * 4);
    this.grant = new Uint32Array(buffer, WORD_AT.GRANT * 4);
  }

  #growAccounts(account: number): void {
    let n = this.accountHead.length * 2;
    while (n <= account) n *= 2;
    this.accountHead = extend(this.accountHead, new Int32Array(n).fill(NONE));
    this.accountTail = extend(this.accountTail, new Int32Array(n).fill(NONE));
  }
}

type Field = Uint32Array | Int32Array | Float64Array;

const strideOf = (field: Field): number => (field instanceof Float64Array ? DOUBLE_SHIFT : WORD_SHIFT);

/** One field of all rows, in contiguous memory, as a snapshot stores it. */
function gather<T extends Uint8Array | Uint16Array | Field>(field: Field, into: T): T {
  const stride = strideOf(field);
  for (let slot = 0; slot < into.length; slot++) into[slot] = field[slot << stride];
  return into;
}

function spread(column: ArrayLike<number>, field: Field): void {
  const stride = strideOf(field);
  for (let slot = 0; slot < column.length; slot++) field[slot << stride] = column[slot];
}
