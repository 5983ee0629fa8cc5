/**
 * Open orders as snapshots have them: a row of what cannot be computed for each, in about 60 to 100 bytes, and the free
 * slots in the order in which they will be used, because events name slots. Closed orders leave nothing else.
 *
 * Rows stand account by account, oldest first, so that lists of accounts need no links, and neighbours have much in
 * common. Queues and the expiry heap are made by `rebuild` (core/state.ts).
 *
 * Invariants:
 *   PACKED-1  Reading gives every field of an open order the value that it had, but for the row of its tag and what
 *             `rebuild` makes.
 *   PACKED-2  Reading gives the same free slots, in the same order.
 */
import { assert } from '../../shared/base/assert.ts';
import {
  CLIENT_ID_MAX_BYTES,
  isBidInYes,
  kindBits,
  kindOutcome,
  kindSide,
  kindTimeInForce,
  packKind,
} from '../../shared/wire/commands.ts';
import { Packing } from '../base/packing.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { DOUBLE_SHIFT, NONE, type Orders, SLOT_STATE, WORD_SHIFT } from './orders.ts';
import { CLIENT_ID_WORDS, NO_TAG } from './tags.ts';

/** The first version of snapshots in which orders are packed. */
const PACKED_VERSION = 18;
const NO_BYTES = new Uint8Array(0);
/** Rows of one part of a snapshot. */
const ROWS_OF_PART = 4096;
/** More than any row has: numbers of eight bytes, a hash, an address, a client order id. */
const MOST_ROW_BYTES = 30 * 8 + 32 + 20 + CLIENT_ID_MAX_BYTES;
/** Bytes of the longest number. */
const MOST_NUMBER_BYTES = 8;
const FLAG = { DORMANT: 1, SAME_MAKER: 2, TAG: 4 } as const;
const clientId = new Uint32Array(CLIENT_ID_WORDS);

/** The row that the next one is compared with. */
class RowBefore {
  slot = 0;
  account = 0;
  sequence = 0;
  createdMs = 0;
  /** Where its maker is in the signed lines, or NONE. */
  maker: number = NONE;
}

/** Writes or reads the open orders. */
export function persistOrders(io: SnapshotIo, orders: Orders): void {
  if (io.version < PACKED_VERSION) {
    orders.persistColumns(io);
    return;
  }
  const capacity = io.number(orders.capacity);
  const openCount = io.number(orders.openCount);
  const own = packedRows(orders);
  const ownFree = packedFree(orders);
  const free = io.u8(ownFree);
  const isRead = free !== ownFree;
  if (isRead) {
    orders.reserve(capacity);
    orders.useFree(unpackFree(free, capacity - openCount, orders));
  }
  for (let left = openCount; left > 0; left -= ROWS_OF_PART) {
    const next = own.next();
    const rows = io.u8(next.done === true ? NO_BYTES : next.value);
    if (isRead) unpackRows(rows, Math.min(left, ROWS_OF_PART), orders);
  }
}

function* packedRows(orders: Orders): Generator<Uint8Array> {
  const packing = new Packing(new Uint8Array(ROWS_OF_PART * MOST_ROW_BYTES), false);
  let before = new RowBefore();
  let rows = 0;
  for (let account = 0; account < orders.accountHead.length; account++) {
    for (let slot = orders.firstOf(account); slot !== NONE; slot = orders.accountNext[slot << WORD_SHIFT]) {
      passRow(packing, orders, slot, before);
      if (++rows < ROWS_OF_PART) continue;
      yield packing.written();
      packing.clear();
      before = new RowBefore();
      rows = 0;
    }
  }
  if (rows > 0) yield packing.written();
}

function unpackRows(bytes: Uint8Array, count: number, orders: Orders): void {
  const packing = new Packing(bytes, true);
  const before = new RowBefore();
  for (let row = 0; row < count; row++) {
    const slot = passRow(packing, orders, NONE, before);
    orders.addRead(slot, before.account);
  }
  packing.requireEnd();
}

function packedFree(orders: Orders): Uint8Array {
  const packing = new Packing(new Uint8Array((orders.capacity - orders.openCount) * MOST_NUMBER_BYTES), false);
  let before: number = NONE;
  for (let slot = orders.firstFree; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) {
    packing.near(slot, before + 1);
    before = slot;
  }
  return packing.written();
}

/** @returns the first of the free slots, or NONE */
function unpackFree(bytes: Uint8Array, count: number, orders: Orders): number {
  const packing = new Packing(bytes, true);
  let first: number = NONE;
  let before: number = NONE;
  for (let each = 0; each < count; each++) {
    const slot = packing.near(0, before + 1);
    assert(slot >= 0 && slot < orders.capacity, 'PACKED-2: a free slot is in the pool');
    if (before === NONE) first = slot;
    else orders.next[before << WORD_SHIFT] = slot;
    orders.next[slot << WORD_SHIFT] = NONE;
    before = slot;
  }
  packing.requireEnd();
  return first;
}

/** PACKED-1. @param known the slot of a row that is written */
function passRow(packing: Packing, o: Orders, known: number, before: RowBefore): number {
  const slot = packing.near(known, before.slot);
  assert(slot >= 0 && slot < o.capacity, 'PACKED-1: an open order is in the pool');
  const row = slot << WORD_SHIFT;
  const at = slot << DOUBLE_SHIFT;
  const flags = packing.value(packing.isReading ? 0 : flagsOf(o, slot, before));
  if (packing.isReading) {
    assert(o.state[row] === SLOT_STATE.FREE, 'PACKED-1: a slot has one order');
    o.state[row] = (flags & FLAG.DORMANT) === 0 ? SLOT_STATE.RESTING : SLOT_STATE.DORMANT;
  }
  o.account[row] = before.account + packing.value(o.account[row] - before.account);
  o.market[row] = packing.value(o.market[row]);
  passKind(packing, o, row);
  o.limitTicks[row] = packing.value(o.limitTicks[row]);
  const otherTicks = packing.value(o.yesTicks[row] === o.limitTicks[row] ? 0 : o.yesTicks[row]);
  o.yesTicks[row] = otherTicks === 0 ? o.limitTicks[row] : otherTicks;
  o.feeBps[row] = packing.value(o.feeBps[row]);
  o.quantityLots[at] = packing.value(o.quantityLots[at]);
  const quantityLots = o.quantityLots[at];
  o.remainingLots[at] = quantityLots - packing.value(quantityLots - o.remainingLots[at]);
  o.filledNotionalMicro[at] = packing.value(o.filledNotionalMicro[at]);
  o.makerAmount[at] = passMultiple(packing, o.makerAmount[at], quantityLots);
  o.takerAmount[at] = passMultiple(packing, o.takerAmount[at], quantityLots);
  o.expirationSec[at] = packing.value(o.expirationSec[at]);
  o.sequence[at] = packing.near(o.sequence[at], before.sequence);
  o.createdMs[at] = packing.near(o.createdMs[at], before.createdMs);
  o.origin[row] = packing.value(o.origin[row]);
  o.grant[row] = packing.value(o.grant[row]);
  o.signed.pass(packing, slot, (flags & FLAG.SAME_MAKER) === 0 ? NONE : before.maker);
  if ((flags & FLAG.TAG) !== 0) passTag(packing, o, slot);
  else o.tag[row] = NO_TAG;
  before.slot = slot;
  before.account = o.account[row];
  before.sequence = o.sequence[at];
  before.createdMs = o.createdMs[at];
  before.maker = o.signed.makerOffset(slot);
  return slot;
}

function flagsOf(o: Orders, slot: number, before: RowBefore): number {
  const row = slot << WORD_SHIFT;
  const isDormant = o.state[row] === SLOT_STATE.DORMANT;
  assert(isDormant || o.state[row] === SLOT_STATE.RESTING, 'ORDERS-1: an open order rests or is dormant');
  return (
    (isDormant ? FLAG.DORMANT : 0) +
    (before.maker !== NONE && o.signed.haveSameMaker(o.signed.makerOffset(slot), before.maker) ? FLAG.SAME_MAKER : 0) +
    (o.tag[row] === NO_TAG ? 0 : FLAG.TAG)
  );
}

function passKind(packing: Packing, o: Orders, row: number): void {
  const kind = o.kind[row];
  const signed = packing.value(kindSide(kind) + 2 * kindOutcome(kind) + 4 * kindTimeInForce(kind));
  const bits = packing.value(kindBits(kind));
  const passed = packKind(signed & 1, (signed >>> 1) & 1, signed >>> 2, bits);
  assert(packing.isReading || passed >>> 0 === kind, 'PACKED-1: side and outcome are a bit each');
  o.kind[row] = passed;
  o.isBid[row] = isBidInYes(o.kind[row]);
}

/** Of an order that may rest, both amounts are multiples of its lots. */
function passMultiple(packing: Packing, amount: number, lots: number): number {
  const times = packing.value(amount % lots === 0 ? amount / lots : 0);
  return times === 0 ? packing.value(amount) : times * lots;
}

function passTag(packing: Packing, o: Orders, slot: number): void {
  const { tags } = o;
  const row = slot << WORD_SHIFT;
  const at = slot << DOUBLE_SHIFT;
  if (packing.isReading) o.tag[row] = tags.allocate();
  const tag = o.tag[row];
  const bytes = packing.value(tags.clientIdBytes[tag]);
  const words = Math.min(CLIENT_ID_WORDS, Math.ceil(bytes / 4));
  clientId.fill(0);
  clientId.set(tags.clientId.subarray(tag * CLIENT_ID_WORDS, tag * CLIENT_ID_WORDS + words));
  packing.words(clientId, 0, words);
  tags.setClientId(tag, clientId, 0, bytes);
  tags.group[tag] = packing.value(tags.group[tag]);
  tags.priority[tag] = o.sequence[at] - packing.value(o.sequence[at] - tags.priority[tag]);
}
