/**
 * Events: what a shard answers, as fixed-offset records (ringLayout.ts has the two header words). All but RECORD, REPLY
 * and READY rest in the journal behind the command that caused them, so a layout change is a new EVENT_VERSION.
 *
 * One accepted command gives, in this order: RECORD, its events, REPLY. A refused one gives a REPLY alone. Nothing of
 * it reaches the event ring before its journal transaction is durable.
 *
 * Every event, in words ("2" marks a safe integer over two words):
 *   0 length   1 type|version   2 slot   3 account   4 marketSequence (2)   6 market   7 flags
 * slot is the order's place in the shard's order pool: unique among its open orders, reused later. marketSequence
 * counts a market's public frames and never resets; 0 where the event is not public.
 *
 * RECORD, 16 words:   8 shardSequence (2)   10 timeMs (2)   12 command type   13 –   14 –
 * ORDER and ORDER_STATE, 36 words (ORDER: accepted just now; ORDER_STATE: how an open order stands, at recovery):
 *   7 kind as in PLACE   8…15 order hash   16 makerAmount (2)   18 takerAmount (2)   20 quantityLots (2)
 *   22 limitTicks, of the order's own outcome   23 feeRateBps   24 expirationSec (2)   26 orderSequence (2)
 *   28 remainingLots (2)   30 filledNotionalMicro (2)   32 createdMs (2)   34 dormant 0/1   35 –
 * REST, 10 words:     8 remainingLots (2): the order now rests at its limit, last in its queue (frame "open")
 * FILL, 26 words:     slot = maker's, account = maker's
 *   marketSequence is the trade frame's, the maker's delta has the next
 *   7 match type   8 yesTicks: the maker's price in Yes terms   9 taker slot   10 quantityLots (2)
 *   12 tradeSequence (2)   14 makerFee (2)   16 takerFee (2)   18 makerRemainingLots (2)   20 taker account   21 –
 *   22 takerRemainingLots (2)
 *   A fee is in what that party receives: atomic tokens for a BUY, micro-USDC for a SELL.
 * CLOSED, 10 words:   7 = close reason   8 remainingLots (2) at the close; public unless marketSequence is 0
 * DORMANT, WOKEN, 8 words
 * ACCOUNT, 20 words:  how one account stands in this shard, absolute:
 *   8 netMicro (2, signed): its USDC here, credits less debits and reservations; available is the sum over shards
 *   10 reservedMicro (2)   12 yesAvailable (2, signed)   14 yesReserved (2)   16 noAvailable (2, signed)
 *   18 noReserved (2), all atomic; words 12… belong to `market`, or market is NO_MARKET and they are 0
 * MARKET, 32 words:   how a market stands, absolute:
 *   7 status   8 collateralMicro (2, signed)   10 feeBps   11 ticksPerUnit   12 startMs (2)   14 endMs (2)
 *   16 marketSequence (2), last used   18 minOrderAtomic (2)   20…23 uuid
 *   24 payoutYesPpm (payout.ts)   25 –   26 resolvedMs (2), when it was resolved or cancelled   28 settledMs (2)
 *   30 roundingPpm (2), millionths of a micro-USDC in the collateral that no token is worth; 24… are 0 until decided
 * FUNDS, 18 words:    7 movement   8 amountMicro (2)   10…17 reference hash (zero for split, merge and claim)
 * REPLY, 16 words:    2 requestId   7 code (errors.ts, 0 = done)   8 shardSequence (2; 0 for a refusal)
 *   10, 12, 14: three numbers of the code's own (2 each): INSUFFICIENT_BALANCE required, available, reserved;
 *   FEE_RATE_MISMATCH the canonical fee; CANCEL_MANY how many were cancelled; REPLACE whether time priority was kept
 *   (0/1) and whether the price changed (0/1); a CANCEL that left a TOMBSTONE its untilMs
 * DIGEST, 10 words:   8…9 the shard's state digest after the record it ends (digest.ts in the engine), two lanes
 * ORDER_TAG, 28 words, behind the ORDER or ORDER_STATE of an order that carries any of this:
 *   7 order group   8 bytes of the client order id   9…24 client order id   25 –
 *   26 priority (2): the orderSequence whose place in the queue it has, its own unless an amend kept an older one
 * GROUP, 16 words:    how an order group stands, absolute: 8 group   9 windowSec   10 maxTokenAtomic (2)
 *   12 token quantity filled inside the window (2)   14 tripped 0/1   15 –
 *   7 = 1 when it tripped in this record by what happened in this shard: the other shards are to be told
 * TOMBSTONE, 18 words: 8…15 order hash   16 untilMs (2)
 * CONTRACTS, 16 words: 8 chainId (2)   10…14 exchange address   15 –
 * READY, 12 words:    8 shardSequence (2)   10 timeMs (2): recovery is done, commands may come
 */
import { assert } from './assert.ts';

export const EVENT_VERSION = 1;

export const EVENT = {
  RECORD: 1,
  ORDER: 2,
  ORDER_STATE: 3,
  REST: 4,
  FILL: 5,
  CLOSED: 6,
  DORMANT: 7,
  WOKEN: 8,
  ACCOUNT: 9,
  MARKET: 10,
  FUNDS: 11,
  REPLY: 12,
  READY: 13,
  DIGEST: 14,
  ORDER_TAG: 15,
  GROUP: 16,
  TOMBSTONE: 17,
  CONTRACTS: 18,
} as const;
export type EventType = (typeof EVENT)[keyof typeof EVENT];

/** Length in bytes by type, index = EVENT value. */
export const EVENT_BYTES = [0, 16, 36, 36, 10, 26, 10, 8, 8, 20, 32, 18, 16, 12, 10, 28, 16, 18, 16].map(
  (words) => words * 4,
);
for (const bytes of EVENT_BYTES) assert(bytes % 8 === 0, 'events: lengths are multiples of 8');

/** Word offsets. */
export const EV_TYPE = 1;
export const EV_SLOT = 2;
export const EV_ACCOUNT = 3;
export const EV_MARKET_SEQUENCE = 4;
export const EV_MARKET = 6;
export const EV_FLAGS = 7;

export const RECORD_SEQUENCE = 8;
export const RECORD_TIME_MS = 10;
export const RECORD_COMMAND = 12;

export const ORDER_HASH = 8;
export const ORDER_MAKER_AMOUNT = 16;
export const ORDER_TAKER_AMOUNT = 18;
export const ORDER_LOTS = 20;
export const ORDER_LIMIT_TICKS = 22;
export const ORDER_FEE_BPS = 23;
export const ORDER_EXPIRATION_SEC = 24;
export const ORDER_SEQUENCE = 26;
export const ORDER_REMAINING_LOTS = 28;
export const ORDER_FILLED_NOTIONAL = 30;
export const ORDER_CREATED_MS = 32;
export const ORDER_DORMANT = 34;

export const REST_REMAINING_LOTS = 8;

export const FILL_YES_TICKS = 8;
export const FILL_TAKER_SLOT = 9;
export const FILL_LOTS = 10;
export const FILL_TRADE_SEQUENCE = 12;
export const FILL_MAKER_FEE = 14;
export const FILL_TAKER_FEE = 16;
export const FILL_MAKER_REMAINING_LOTS = 18;
export const FILL_TAKER_ACCOUNT = 20;
export const FILL_TAKER_REMAINING_LOTS = 22;

export const CLOSED_REMAINING_LOTS = 8;

export const ACCOUNT_NET = 8;
export const ACCOUNT_RESERVED = 10;
export const ACCOUNT_YES_AVAILABLE = 12;
export const ACCOUNT_YES_RESERVED = 14;
export const ACCOUNT_NO_AVAILABLE = 16;
export const ACCOUNT_NO_RESERVED = 18;

export const MARKET_COLLATERAL = 8;
export const MARKET_FEE_BPS = 10;
export const MARKET_TICKS_PER_UNIT = 11;
export const MARKET_START_MS = 12;
export const MARKET_END_MS = 14;
export const MARKET_LAST_SEQUENCE = 16;
export const MARKET_MIN_ORDER = 18;
export const MARKET_UUID = 20;
export const MARKET_PAYOUT_YES_PPM = 24;
export const MARKET_RESOLVED_MS = 26;
export const MARKET_SETTLED_MS = 28;
export const MARKET_ROUNDING_PPM = 30;

export const FUNDS_EV_AMOUNT = 8;
export const FUNDS_EV_REFERENCE = 10;

export const REPLY_REQUEST = 2;
export const REPLY_SEQUENCE = 8;
export const REPLY_A = 10;
export const REPLY_B = 12;
export const REPLY_C = 14;

export const DIGEST_LANES = 8;

export const TAG_CLIENT_ID_BYTES = 8;
export const TAG_CLIENT_ID = 9;
export const TAG_PRIORITY = 26;

export const GROUP_EV_INDEX = 8;
export const GROUP_EV_WINDOW_SEC = 9;
export const GROUP_EV_MAX_ATOMIC = 10;
export const GROUP_EV_FILLED_ATOMIC = 12;
export const GROUP_EV_TRIPPED = 14;

export const TOMBSTONE_HASH = 8;
export const TOMBSTONE_UNTIL_MS = 16;

export const CONTRACTS_EV_CHAIN_ID = 8;
export const CONTRACTS_EV_EXCHANGE = 10;

export const READY_SEQUENCE = 8;
export const READY_TIME_MS = 10;

export const typeOf = (word1: number): number => word1 & 0xffff;
export const versionOf = (word1: number): number => (word1 >>> 16) & 0xff;
