/**
 * The record of a public frame that is kept for replays: sixteen words instead of the frame's 400 characters, which
 * marketFrames.ts formats when a client asks for it. The frame's sequence follows from its position in the log.
 */
import { octets, record, safe, u32 } from '../../shared/wire/layout.ts';

export const MARKET_FRAME = record(
  'MARKET_FRAME',
  {
    kind: octets(['kind', 'outcome', 'side', 'matchType'], 'kind: RECORD_KIND; of the taker in a trade'),
    ticks: u32('Yes terms in the low 16 bits; REC_HAS_CHECKSUM; above it the origin of the order (orderViews.ts)'),
    idMs: safe('time of the order or trade; with idSequence and the shard it makes its id'),
    idSequence: safe(),
    lots: safe(),
    remainingLots: safe('this, levelLots and checksum are 0 in a trade'),
    levelLots: safe(),
    levelOrders: u32('orders at the level; in a trade how many microseconds after timeMs it was'),
    checksum: u32(),
    timeMs: safe(),
  },
  'A trade, or what an order did to a level of the book.',
);

export const RECORD_KIND = { TRADE: 0, OPEN: 1, FILL: 2, CANCEL: 3, EXPIRE: 4, DORMANT: 5, WAKE: 6 } as const;
export type RecordKind = (typeof RECORD_KIND)[keyof typeof RECORD_KIND];
/** The `event` of a delta, by kind. */
export const DELTA_EVENT_NAMES = ['', 'open', 'fill', 'cancel', 'expire', 'dormant', 'wake'] as const;

export const REC_TICKS_MASK = 0xffff;
export const REC_HAS_CHECKSUM = 0x10000;
const REC_ORIGIN_SHIFT = 17;

export function packRecordKind(kind: RecordKind, outcome: number, side: number, matchType: number): number {
  return kind | (outcome << 8) | (side << 16) | (matchType << 24);
}
export function packRecordTicks(yesTicks: number, origin: number): number {
  return yesTicks | (origin << REC_ORIGIN_SHIFT);
}
/** The shard that the id of the order names. @param shard of the market */
export function recordIdShard(ticks: number, shard: number): number {
  const origin = ticks >>> REC_ORIGIN_SHIFT;
  return origin === 0 ? shard : origin - 1;
}
export const recordKind = (word: number): RecordKind => (word & 0xff) as RecordKind;
export const recordOutcome = (word: number): number => (word >>> 8) & 0xff;
export const recordSide = (word: number): number => (word >>> 16) & 0xff;
export const recordMatchType = (word: number): number => word >>> 24;
