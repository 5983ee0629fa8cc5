/**
 * Ids that are time-ordered and the same at every replay: UUIDs in the layout of version 7 whose random part is the
 * shard, the kind and the shard's own counter (RULES.md 2.10).
 *
 *   48 bits time in ms | 0111 | 12 bits shard | 10 | 6 bits kind | 56 bits sequence
 */
import { assert } from './assert.ts';
import { MAX_ACCOUNTS } from './codes.ts';

export const ID_KIND = { CARRIED: 0, ORDER: 1, TRADE: 2, MOVEMENT: 3, ENDING: 4, REBATE: 5 } as const;
type IdKind = (typeof ID_KIND)[keyof typeof ID_KIND];

const TWO_32 = 4_294_967_296;
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The lowest 16 bits. */
function hex16(value: number): string {
  return HEX[(value >>> 8) & 0xff] + HEX[value & 0xff];
}

export function timeOrderedId(timeMs: number, shard: number, kind: IdKind, sequence: number): string {
  assert(shard < 4096, 'ids: a shard index has 12 bits');
  const lowTime = timeMs >>> 0;
  const time = hex16((timeMs - lowTime) / TWO_32) + hex16(lowTime >>> 16);
  const low = sequence >>> 0;
  const high = (sequence - low) / TWO_32;
  const variantAndKind = HEX[0x80 | kind] + HEX[(high >>> 16) & 0xff];
  const rest = hex16(high) + hex16(low >>> 16) + hex16(low);
  return `${time}-${hex16(lowTime)}-${hex16(0x7000 | shard)}-${variantAndKind}-${rest}`;
}

/** The largest number of movements in one record: a record pays at most so many holders (engine/core/steps.ts). */
const MOVEMENTS_PER_RECORD = 512;

/**
 * The bytes of the id of a movement of funds: the n-th of a record. Old journals have records with more movements;
 * these pay each account once, and ids need only be unique among the movements of an account.
 */
export function movementIdBytes(timeMs: number, shard: number, shardSequence: number, n: number): Uint8Array {
  const sequence = shardSequence * MOVEMENTS_PER_RECORD + Math.min(n, MOVEMENTS_PER_RECORD - 1);
  assert(Number.isSafeInteger(sequence), 'ids: the number of a movement is exact');
  return timeOrderedIdBytes(timeMs, shard, ID_KIND.MOVEMENT, sequence);
}

/**
 * Accounts below this have the account and 32 bits of the market as the sequence of a carried id, as exchanges gave it
 * when that was all accounts there could be. The others have bit 55, 26 bits of the account and 29 bits of the market.
 */
const SHORT_ACCOUNTS = 2 ** 20;
const MARKET_BITS = 29;
const LONG_ACCOUNT = 2 ** 23;
assert(MAX_ACCOUNTS <= 2 ** 26, 'ids: an account has 26 bits');

/**
 * The bytes of the id for an account's tokens of a market, or its USDC, at the beginning of history: it sorts before
 * all other ids.
 * @param market NO_MARKET for USDC
 */
export function carriedIdBytes(timeMs: number, shard: number, account: number, market: number): Uint8Array {
  if (account < SHORT_ACCOUNTS) return timeOrderedIdBytes(timeMs, shard, ID_KIND.CARRIED, account * TWO_32 + market);
  assert(account < MAX_ACCOUNTS, 'ids: an account has 26 bits');
  assert(market < 2 ** MARKET_BITS - 1 || market === 0xffff_ffff, 'ids: the market of a carried id has 29 bits');
  const bytes = timeOrderedIdBytes(timeMs, shard, ID_KIND.CARRIED, 0);
  // Both halves are written apart, because the whole is no safe integer.
  const low = ((account << MARKET_BITS) | (market & (2 ** MARKET_BITS - 1))) >>> 0;
  writeBigEndian(bytes, 9, 3, LONG_ACCOUNT + (account >>> (32 - MARKET_BITS)));
  writeBigEndian(bytes, 12, 4, low);
  return bytes;
}

/** The bytes of the id of a trade's rebate. */
export function rebateIdBytes(tradeId: Uint8Array): Uint8Array {
  const id = Uint8Array.from(tradeId);
  id[8] = 0x80 | ID_KIND.REBATE;
  return id;
}

/** The record from which a movement's id was made. */
export function shardSequenceOfMovement(id: Uint8Array): number {
  return Math.floor(sequenceOfId(id) / MOVEMENTS_PER_RECORD);
}

/** Returns true for an id that `carriedIdBytes` has made. */
export function isCarriedId(id: Uint8Array): boolean {
  return (id[8] & 0x3f) === ID_KIND.CARRIED;
}

/** The shard in the bytes of a time-ordered id. */
export function shardOfId(id: Uint8Array): number {
  return ((id[6] & 0x0f) << 8) | id[7];
}

/** The sequence number in the bytes of a time-ordered id. */
export function sequenceOfId(id: Uint8Array): number {
  let sequence = 0;
  for (let at = 9; at < 16; at++) sequence = sequence * 256 + id[at];
  return sequence;
}

/** The same id as its 16 bytes. */
export function timeOrderedIdBytes(timeMs: number, shard: number, kind: IdKind, sequence: number): Uint8Array {
  const bytes = new Uint8Array(16);
  writeTimeOrderedId(bytes, 0, timeMs, shard, kind, sequence);
  return bytes;
}

/** Writes those bytes from `offset` on. */
export function writeTimeOrderedId(
  bytes: Uint8Array,
  offset: number,
  timeMs: number,
  shard: number,
  kind: IdKind,
  sequence: number,
): void {
  assert(shard < 4096, 'ids: a shard index has 12 bits');
  writeBigEndian(bytes, offset, 6, timeMs);
  writeBigEndian(bytes, offset + 6, 2, 0x7000 | shard);
  bytes[offset + 8] = 0x80 | kind;
  writeBigEndian(bytes, offset + 9, 7, sequence);
}

function writeBigEndian(bytes: Uint8Array, offset: number, length: number, value: number): void {
  // Two shifts of halves: the remainder of a division of such numbers takes tens of times as long.
  const low = value >>> 0;
  const high = (value - low) / TWO_32;
  for (let index = 0; index < length; index++) {
    bytes[offset + length - 1 - index] = index < 4 ? low >>> (8 * index) : high >>> (8 * (index - 4));
  }
}
