/**
 * A private frame as it is kept: fixed words, so that keeping one costs little while nobody listens, and so that a file
 * of them needs no parser. privateFrames.ts writes the text when it is sent.
 *
 * In words ("2" marks a safe integer over two words):
 *   0 kind, PRIVATE_KIND   1 market   2 userSequence (2)   4 timeMs (2)
 *   6 shard   7 shardSequence (2), of the journal record it comes from   9 order kind as in PLACE
 *   10…17 order hash   18 createdMs (2)   20 orderSequence (2)
 *   22 status   23 remaining (2), in the maker's asset
 *   fill:          25 role   26 ticks, of the order's own outcome   27 lots (2)   29 tradeSequence (2)   31 fee (2)
 *   order_status:  25 reason   26 –   27 filled amount (2)   29…32 –
 *   33 –
 * `PLACED` stands beside the close reasons: an order's first status has it.
 */
import { CLOSE_REASON_NAMES } from '../../shared/codes.ts';

export const PRIVATE_RECORD_WORDS = 34;

export const PRIVATE_KIND = { FILL: 1, ORDER_STATUS: 2 } as const;
export type PrivateKind = (typeof PRIVATE_KIND)[keyof typeof PRIVATE_KIND];

export const ROLE = { MAKER: 0, TAKER: 1 } as const;
export type Role = (typeof ROLE)[keyof typeof ROLE];
export const ROLE_NAMES = ['maker', 'taker'] as const;

export const REASON_PLACED = 0xff;
export const PLACED_NAME = 'placed';
/** Every reason an order_status may have. */
export const REASON_NAMES: readonly string[] = [PLACED_NAME, ...CLOSE_REASON_NAMES];

export const PRV_KIND = 0;
export const PRV_MARKET = 1;
export const PRV_USER_SEQUENCE = 2;
export const PRV_TIME_MS = 4;
export const PRV_SHARD = 6;
export const PRV_SHARD_SEQUENCE = 7;
export const PRV_ORDER_KIND = 9;
export const PRV_HASH = 10;
export const PRV_CREATED_MS = 18;
export const PRV_ORDER_SEQUENCE = 20;
export const PRV_STATUS = 22;
export const PRV_REMAINING = 23;
export const PRV_ROLE = 25;
export const PRV_TICKS = 26;
export const PRV_LOTS = 27;
export const PRV_TRADE_SEQUENCE = 29;
export const PRV_FEE = 31;
export const PRV_REASON = 25;
export const PRV_FILLED = 27;
