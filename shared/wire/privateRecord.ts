/**
 * The record of a private frame: fixed words, so that storing one is cheap while no client reads it, and so that a file
 * of frames needs no parser. The gateway writes the text when a frame is sent (gateway/stream/privateFrames.ts).
 * RECORDS.md draws the two kinds; privateProjection.ts makes them from events.
 */
import { assert } from '../base/assert.ts';
import { CLOSE_REASON_NAMES } from '../base/codes.ts';
import { HASH_BYTES } from '../base/hex.ts';
import { CLIENT_ID_MAX_BYTES } from './commands.ts';
import { bytes, octets, record, safe, text, u32, unused } from './layout.ts';
import { readText } from './texts.ts';

const BEFORE = {
  kind: u32('PRIVATE_KIND'),
  market: u32(),
  userSequence: safe('number of the frame among those of its account'),
  timeMs: safe(),
  shard: u32('of the record; in the upper 16 bits the shard that accepted the order, plus one, or 0: the same'),
  shardSequence: safe('of the journal record that the frame comes from'),
  orderKind: octets(['side', 'outcome', 'timeInForce'], 'as in PLACE, without its bits'),
  hash: bytes(HASH_BYTES),
  createdMs: safe('with orderSequence and shard it makes the id of the order'),
  orderSequence: safe(),
  status: u32('ORDER_STATUS'),
  remaining: safe("in the maker's asset"),
};
const AFTER = {
  account: u32(),
  group: u32('order group, or NO_GROUP'),
  clientId: text(CLIENT_ID_MAX_BYTES),
};
export const FILL_FRAME = record(
  'FILL_FRAME',
  {
    ...BEFORE,
    role: u32('ROLE in the lowest bit; above it how many microseconds after timeMs, and one; 0: not known'),
    ticks: u32("of the order's own outcome"),
    lots: safe(),
    tradeSequence: safe(),
    fee: safe('in what the party receives'),
    ...AFTER,
  },
  "One party's side of a fill.",
  1,
);
export const STATUS_FRAME = record(
  'STATUS_FRAME',
  {
    ...BEFORE,
    reason: u32('CLOSE_REASON, or REASON_PLACED in the first status of an order'),
    unused: unused(1),
    filled: safe("in the maker's asset"),
    unusedBeforeAccount: unused(4),
    ...AFTER,
  },
  'An order has a new status.',
  2,
);
/** The fields that every private frame has. */
export const PRIVATE_FRAME = record(
  'PRIVATE_FRAME',
  { ...BEFORE, ofTheKind: unused(8), ...AFTER },
  'The fields that every private frame has; the empty cells depend on its kind.',
);
assert(FILL_FRAME.WORDS === PRIVATE_FRAME.WORDS, 'private: frames of both kinds have one length');
assert(STATUS_FRAME.WORDS === PRIVATE_FRAME.WORDS, 'private: frames of both kinds have one length');
assert(STATUS_FRAME.account === FILL_FRAME.account, 'private: common fields have one offset');

export const PRIVATE_KIND = { FILL: FILL_FRAME.TYPE, ORDER_STATUS: STATUS_FRAME.TYPE } as const;
export type PrivateKind = (typeof PRIVATE_KIND)[keyof typeof PRIVATE_KIND];

export const ROLE = { MAKER: 0, TAKER: 1 } as const;
export type Role = (typeof ROLE)[keyof typeof ROLE];
export const ROLE_NAMES = ['maker', 'taker'] as const;

/** Keeps the time of a fill in the word of the role. */
export function packRole(role: Role, afterMicros: number): number {
  return (role | ((afterMicros + 1) << 1)) >>> 0;
}
export const roleOf = (word: number): Role => (word & 1) as Role;
/** Null in a frame of a version without this field. */
export const afterMicrosOf = (word: number): number | null => (word >>> 1 === 0 ? null : (word >>> 1) - 1);

export const packShards = (shard: number, origin: number): number => (shard | (origin << 16)) >>> 0;
/** The shard of the record. */
export const shardOf = (word: number): number => word & 0xffff;
/** The shard that the id of the order names. */
export const idShardOf = (word: number): number => (word >>> 16 === 0 ? shardOf(word) : (word >>> 16) - 1);

export const REASON_PLACED = 0xff;
export const PLACED_NAME = 'placed';
/** Every reason an order_status may have. */
export const REASON_NAMES: readonly string[] = [PLACED_NAME, ...CLOSE_REASON_NAMES];

/** A record in memory: the words and its offset. */
export type RecordView = { readonly words: Uint32Array; readonly word: number };

/** The client order id of a frame's order; null if it has none. */
export function clientIdOf({ words, word }: RecordView): string | null {
  return readText(words, word + PRIVATE_FRAME.clientId, CLIENT_ID_MAX_BYTES) || null;
}
