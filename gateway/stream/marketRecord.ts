/**
 * A public frame as it is kept for replays: sixteen words instead of the 400 characters that clients read, which
 * marketFrames.ts writes when somebody asks. The frame's sequence is its place in the log.
 *
 * In words ("2" marks a safe integer over two words):
 *   0 kind, outcome, side, match type (one byte each)   1 yesTicks in the low 16 bits, REC_HAS_CHECKSUM
 *   2 timeMs of the order or trade (2)   4 sequence of the order or trade (2): with the shard they make its id
 *   6 lots (2)   8 remainingLots (2)   10 levelLots (2)   12 orders at the level   13 checksum   14 timeMs (2)
 * A trade leaves 8 … 13 zero; outcome and side are those of its taker, in a delta those of the order.
 */
export const MARKET_RECORD_WORDS = 16;

export const RECORD_KIND = { TRADE: 0, OPEN: 1, FILL: 2, CANCEL: 3, EXPIRE: 4, DORMANT: 5, WAKE: 6 } as const;
export type RecordKind = (typeof RECORD_KIND)[keyof typeof RECORD_KIND];
/** What a delta calls itself, by kind. */
export const DELTA_EVENT_NAMES = ['', 'open', 'fill', 'cancel', 'expire', 'dormant', 'wake'] as const;

export const REC_KIND = 0;
export const REC_TICKS = 1;
export const REC_ID_MS = 2;
export const REC_ID_SEQUENCE = 4;
export const REC_LOTS = 6;
export const REC_REMAINING_LOTS = 8;
export const REC_LEVEL_LOTS = 10;
export const REC_LEVEL_ORDERS = 12;
export const REC_CHECKSUM = 13;
export const REC_TIME_MS = 14;

export const REC_TICKS_MASK = 0xffff;
export const REC_HAS_CHECKSUM = 0x10000;

export function packRecordKind(kind: RecordKind, outcome: number, side: number, matchType: number): number {
  return kind | (outcome << 8) | (side << 16) | (matchType << 24);
}
export const recordKind = (word: number): RecordKind => (word & 0xff) as RecordKind;
export const recordOutcome = (word: number): number => (word >>> 8) & 0xff;
export const recordSide = (word: number): number => (word >>> 16) & 0xff;
export const recordMatchType = (word: number): number => word >>> 24;
