/**
 * The pool of open orders of one shard: one row per order, rows reused through a free list.
 * Owner: the shard thread; nobody else reads or writes it. Memory grows by doubling, never per order.
 *
 * Units: lots and ticks of the order's market; notional in micro-USDC; `limitTicks` in the order's own outcome.
 *
 * A row is two cache lines: what a command does to an order takes as long as fetching them, and a column of its own for
 * every field would be a line for every field. Each field is a view of all rows that begins at its first row's field:
 * field f of an order is `f[slot << WORDS]` where f is made of words, `f[slot << NUMBERS]` where it is made of doubles.
 * `words` and `numbers` are the rows themselves (AT).
 *
 *   word  0 remainingLots   2 account   3 market   4 kind   5 place   6 isBid   7 limitTicks   8 yesTicks   9 feeBps
 *        10 next   11 previous   12 accountNext   13 accountPrevious   14 heapIndex   15 tag
 *   ──── second line
 *        16 quantityLots   18 filledNotionalMicro   20 sequence   22 makerAmount   24 takerAmount   26 expirationSec
 *        28 createdMs   30 hashEntry   31 –
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

/** Powers of two: how many words, or doubles, a row has. */
export const WORDS = 5;
export const NUMBERS = 4;
const ROW_BYTES = 4 << WORDS;

/**
 * Where the fields begin in a row of words and, below, in a row of doubles: for the few who touch many fields of one
 * order and go through `words` and `numbers`, `words[row | AT.KIND]` with `row = slot << WORDS`. A view of its own for
 * every field is a load and two checks more at each of them, which is most of the machine code of such a function.
 */
export const AT = {
  ACCOUNT: 2,
  MARKET: 3,
  KIND: 4,
  PLACE: 5,
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
  HASH_ENTRY: 30,
} as const;
export const NUMBER_AT = {
  REMAINING_LOTS: 0,
  QUANTITY_LOTS: 8,
  FILLED_NOTIONAL: 9,
  SEQUENCE: 10,
  MAKER_AMOUNT: 11,
  TAKER_AMOUNT: 12,
  EXPIRATION_SEC: 13,
  CREATED_MS: 14,
} as const;
const HASH_WORDS = 8;

export class Orders {
  capacity: number;
  openCount = 0;

  hash: Uint32Array;
  /** All rows, as words and as doubles: see AT. */
  words!: Int32Array;
  numbers!: Float64Array;
  remainingLots!: Float64Array;
  account!: Uint32Array;
  market!: Uint32Array;
  /** Side, outcome, time in force and bits as in the PLACE command. */
  kind!: Uint32Array;
  place!: Int32Array;
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
  /** Position in the expiry heap, or NONE. */
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
  /** Number of its entry in the hash index. */
  hashEntry!: Int32Array;
  readonly tags = new Tags();

  accountHead: Int32Array;
  accountTail: Int32Array;

  #rows = new Uint8Array(0);
  #freeHead = NONE;

  constructor(initialCapacity = 1024) {
    this.capacity = initialCapacity;
    this.hash = new Uint32Array(initialCapacity * HASH_WORDS);
    this.#useRows(new Uint8Array(initialCapacity * ROW_BYTES));
    this.accountHead = new Int32Array(64).fill(NONE);
    this.accountTail = new Int32Array(64).fill(NONE);
    this.#linkFree(0, initialCapacity);
  }

  /** A free row, marked incoming and linked at the end of its account's list. The caller fills the other columns. */
  allocate(account: number): number {
    if (this.#freeHead === NONE) this.#grow();
    const slot = this.#freeHead;
    const row = slot << WORDS;
    const { words } = this;
    assert(words[row | AT.PLACE] === PLACE_OF.FREE, 'O1: a row from the free list is free');
    this.#freeHead = words[row | AT.NEXT]!;
    this.openCount++;
    words[row | AT.PLACE] = PLACE_OF.INCOMING;
    words[row | AT.ACCOUNT] = account;
    words[row | AT.NEXT] = NONE;
    words[row | AT.PREVIOUS] = NONE;
    words[row | AT.HEAP_INDEX] = NONE;
    words[row | AT.TAG] = NO_TAG;
    if (account >= this.accountHead.length) this.#growAccounts(account);
    const tail = this.accountTail[account]!;
    words[row | AT.ACCOUNT_PREVIOUS] = tail;
    words[row | AT.ACCOUNT_NEXT] = NONE;
    if (tail === NONE) this.accountHead[account] = slot;
    else words[(tail << WORDS) | AT.ACCOUNT_NEXT] = slot;
    this.accountTail[account] = slot;
    return slot;
  }

  /** Gives a row back; it must already be out of its queue and of the expiry heap. */
  free(slot: number): void {
    const row = slot << WORDS;
    const { words } = this;
    assert(words[row | AT.PLACE] === PLACE_OF.INCOMING, 'O1: a row leaves its queue before it is freed');
    assert(words[row | AT.HEAP_INDEX] === NONE, 'O1: a row leaves the expiry heap before it is freed');
    const account = words[row | AT.ACCOUNT]!;
    const before = words[row | AT.ACCOUNT_PREVIOUS]!;
    const after = words[row | AT.ACCOUNT_NEXT]!;
    if (before === NONE) this.accountHead[account] = after;
    else words[(before << WORDS) | AT.ACCOUNT_NEXT] = after;
    if (after === NONE) this.accountTail[account] = before;
    else words[(after << WORDS) | AT.ACCOUNT_PREVIOUS] = before;
    if (words[row | AT.TAG] !== NO_TAG) this.tags.free(words[row | AT.TAG]!);
    words[row | AT.PLACE] = PLACE_OF.FREE;
    words[row | AT.NEXT] = this.#freeHead;
    this.#freeHead = slot;
    this.openCount--;
  }

  /** Its order group, or NO_GROUP. */
  groupOf(slot: number): number {
    const tag = this.tag[slot << WORDS]!;
    return tag === NO_TAG ? NO_GROUP : this.tags.group[tag]!;
  }

  /** Its time priority inside a queue, and among the sleeping (RULES.md 2.1, 7.10). */
  priorityOf(slot: number): number {
    const tag = this.tag[slot << WORDS]!;
    return tag === NO_TAG ? this.sequence[slot << NUMBERS]! : this.tags.priority[tag]!;
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
    if (this.#rows.length !== this.capacity * ROW_BYTES) this.#useRows(new Uint8Array(this.capacity * ROW_BYTES));
    const n = this.capacity;
    const u8 = (field: Field) => spread(io.u8(gather(field, new Uint8Array(n))), field);
    const u16 = (field: Field) => spread(io.u16(gather(field, new Uint16Array(n))), field);
    const u32 = (field: Field) => spread(io.u32(gather(field, new Uint32Array(n))), field);
    const i32 = (field: Field) => spread(io.i32(gather(field, new Int32Array(n))), field);
    const f64 = (field: Field) => spread(io.f64(gather(field, new Float64Array(n))), field);
    for (const field of [this.account, this.market, this.kind]) u32(field);
    for (const field of [this.place, this.isBid]) u8(field);
    for (const field of [this.limitTicks, this.yesTicks, this.feeBps]) u16(field);
    for (const field of [this.quantityLots, this.remainingLots, this.filledNotionalMicro]) f64(field);
    for (const field of [this.makerAmount, this.takerAmount, this.expirationSec]) f64(field);
    for (const field of [this.sequence, this.createdMs]) f64(field);
    for (const field of [this.next, this.previous, this.accountNext, this.accountPrevious]) i32(field);
    for (const field of [this.heapIndex, this.tag]) i32(field);
    this.tags.persist(io);
    this.accountHead = io.i32(this.accountHead);
    this.accountTail = io.i32(this.accountTail);
  }

  #linkFree(from: number, to: number): void {
    // Lowest row first, so a small book stays in few cache lines.
    for (let slot = from; slot < to; slot++) this.next[slot << WORDS] = slot + 1 < to ? slot + 1 : this.#freeHead;
    this.#freeHead = from;
  }

  #grow(): void {
    const from = this.capacity;
    const n = from * 2;
    this.hash = extend(this.hash, new Uint32Array(n * HASH_WORDS));
    this.#useRows(extend(this.#rows, new Uint8Array(n * ROW_BYTES)));
    this.capacity = n;
    this.#linkFree(from, n);
  }

  /** The views reach as far as the memory does; the drawing above says where each begins. */
  #useRows(rows: Uint8Array<ArrayBuffer>): void {
    const { buffer } = rows;
    this.#rows = rows;
    this.words = new Int32Array(buffer);
    this.numbers = new Float64Array(buffer);
    this.remainingLots = new Float64Array(buffer, NUMBER_AT.REMAINING_LOTS * 8);
    this.account = new Uint32Array(buffer, AT.ACCOUNT * 4);
    this.market = new Uint32Array(buffer, AT.MARKET * 4);
    this.kind = new Uint32Array(buffer, AT.KIND * 4);
    this.place = new Int32Array(buffer, AT.PLACE * 4);
    this.isBid = new Int32Array(buffer, AT.IS_BID * 4);
    this.limitTicks = new Int32Array(buffer, AT.LIMIT_TICKS * 4);
    this.yesTicks = new Int32Array(buffer, AT.YES_TICKS * 4);
    this.feeBps = new Int32Array(buffer, AT.FEE_BPS * 4);
    this.next = new Int32Array(buffer, AT.NEXT * 4);
    this.previous = new Int32Array(buffer, AT.PREVIOUS * 4);
    this.accountNext = new Int32Array(buffer, AT.ACCOUNT_NEXT * 4);
    this.accountPrevious = new Int32Array(buffer, AT.ACCOUNT_PREVIOUS * 4);
    this.heapIndex = new Int32Array(buffer, AT.HEAP_INDEX * 4);
    this.tag = new Int32Array(buffer, AT.TAG * 4);
    this.quantityLots = new Float64Array(buffer, NUMBER_AT.QUANTITY_LOTS * 8);
    this.filledNotionalMicro = new Float64Array(buffer, NUMBER_AT.FILLED_NOTIONAL * 8);
    this.sequence = new Float64Array(buffer, NUMBER_AT.SEQUENCE * 8);
    this.makerAmount = new Float64Array(buffer, NUMBER_AT.MAKER_AMOUNT * 8);
    this.takerAmount = new Float64Array(buffer, NUMBER_AT.TAKER_AMOUNT * 8);
    this.expirationSec = new Float64Array(buffer, NUMBER_AT.EXPIRATION_SEC * 8);
    this.createdMs = new Float64Array(buffer, NUMBER_AT.CREATED_MS * 8);
    this.hashEntry = new Int32Array(buffer, AT.HASH_ENTRY * 4);
  }

  #growAccounts(account: number): void {
    let n = this.accountHead.length * 2;
    while (n <= account) n *= 2;
    this.accountHead = extend(this.accountHead, new Int32Array(n).fill(NONE));
    this.accountTail = extend(this.accountTail, new Int32Array(n).fill(NONE));
  }
}

type Field = Uint32Array | Int32Array | Float64Array;

const strideOf = (field: Field): number => (field instanceof Float64Array ? NUMBERS : WORDS);

/** One field of all rows, close together as a snapshot keeps it. */
function gather<T extends Uint8Array | Uint16Array | Field>(field: Field, into: T): T {
  const stride = strideOf(field);
  for (let slot = 0; slot < into.length; slot++) into[slot] = field[slot << stride]!;
  return into;
}

function spread(column: ArrayLike<number>, field: Field): void {
  const stride = strideOf(field);
  for (let slot = 0; slot < column.length; slot++) field[slot << stride] = column[slot]!;
}
