/**
 * Commands: what the gateway asks of a shard, as fixed-offset records (ringLayout.ts has the two header words). The
 * journal stores the same bytes in front of the events they caused, so a layout change is a new COMMAND_VERSION.
 *
 * Every command, in words (1 word = 4 bytes, "2" marks a safe integer over two words):
 *   0 length   1 type|version   2 requestId   3 account   4 timeMs (2)   6 market   7 flags
 * requestId correlates the reply inside one gateway process and means nothing in a journal.
 *
 * PLACE, 72 words:
 *   8…15  order hash, filled in by the shard before it journals   16…23 salt   24…31 token id
 *   32…36 maker address   37…41 signer address   42…58 signature r|s|v and three zero bytes
 *   59 side, outcome, time in force, bits (one byte each; PLACE_BIT_*)
 *   60 makerAmount (2)   62 takerAmount (2)   64 expirationSec (2)   66 nonce (2)   68 feeRateBps   69 –
 *   70 minTakerNet (2)
 * PLACE with PLACE_BIT_EXTENDED, 102 words: the same, and behind it what only some orders carry, else zero:
 *   72…75 idempotency key   76…79 fingerprint of its payload   80 deadlineMs (2)   82 order group
 *   83 route and row of the key (one byte each, EXT_ROUTE)   84 bytes of the client order id   85…100 client order id
 *   101 –
 * REPLACE, 110 words:      an extended PLACE; 102…109 hash of the order that gives way; flags = REPLACE_MODE, and
 *                          REPLACE_ELSEWHERE
 * CANCEL, 16 words:        8…15 order hash; flags = close reason, and CANCEL_TOMBSTONE to refuse the order for a while
 *                          when it has not arrived yet; 24 words with an idempotency key: 16…19 key   20…23 fingerprint
 * CANCEL_MANY, 10 words:   market or NO_MARKET for all; 8 outcome or BOTH_OUTCOMES; flags = close reason
 * CONVERT, 10 words:       8 amountAtomic (2); flags = MOVEMENT.SPLIT or MERGE
 * FUNDS, 18 words:         8 amountMicro (2); 10…17 reference hash; flags = MOVEMENT.DEPOSIT or WITHDRAWAL
 * MARKET_OPEN, 22 words:   8…11 uuid   12 ticksPerUnit   13 feeBps   14 minOrderAtomic (2)   16 startMs (2)
 *                          18 endMs (2)   20 status   21 –
 * MARKET_PATCH, 14 words:  8 status or UNCHANGED   9 feeBps or UNCHANGED   10 startMs (2)   12 endMs (2), always given
 * TICK, 8 words:           nothing but its time
 * RESOLVE, 10 words:       8 status, RESOLVED or CANCELLED   9 payoutYesPpm (payout.ts)
 * CLAIM, 8 words:          account, market
 * SETTLE, 8 words:         market
 * GROUP_SET, 12 words:     account; 8 group   9 windowSec   10 maxTokenAtomic (2)
 * GROUP_RESET, 10 words:   account; 8 group   9 –
 * GROUP_TRIP, 10 words:    account; 8 group   9 –   the group has tripped in another shard
 * CONTRACTS, 16 words:     8 chainId (2)   10…14 exchange address   15 –   from here on orders are signed for these
 */
import { assert } from './assert.ts';
import { writeSafe } from './record.ts';
import type { RingProducer } from './ring.ts';

export const COMMAND_VERSION = 1;

export const COMMAND = {
  PLACE: 1,
  CANCEL: 2,
  CANCEL_MANY: 3,
  CONVERT: 4,
  FUNDS: 5,
  MARKET_OPEN: 6,
  MARKET_PATCH: 7,
  TICK: 8,
  RESOLVE: 9,
  CLAIM: 10,
  SETTLE: 11,
  REPLACE: 12,
  GROUP_SET: 13,
  GROUP_RESET: 14,
  GROUP_TRIP: 15,
  CONTRACTS: 16,
} as const;
export type CommandType = (typeof COMMAND)[keyof typeof COMMAND];

export const NO_MARKET = 0xffff_ffff;
export const BOTH_OUTCOMES = 2;
export const UNCHANGED = 0xffff_ffff;

export const PLACE_BIT_POST_ONLY = 1;
/** The gateway found `maker` among the caller's wallets and `signer` entitled to sign for it. */
export const PLACE_BIT_AUTHORIZED = 2;
/** Two bits: a SELF_TRADE mode. */
export const PLACE_SELF_TRADE_SHIFT = 2;
/** The command has the extension. */
export const PLACE_BIT_EXTENDED = 16;
/**
 * The gateway found the client order id among the account's open orders or those on their way. The account's orders are
 * spread over the shards, so only the gateway knows; the shard answers it in its turn, behind a duplicate.
 */
export const PLACE_BIT_CLIENT_ID_TAKEN = 32;

/** Which of the routes that take one an idempotency key was used on; 0 for none. */
export const EXT_ROUTE = { NONE: 0, PLACE: 1, BATCH: 2, CANCEL_REPLACE: 3, AMEND: 4, BATCH_CANCEL: 5 } as const;
/** An amend keeps the time priority of the old order where RULES.md 7 lets it; a cancel-replace never does. */
export const REPLACE_MODE = { CANCEL_REPLACE: 0, AMEND: 1 } as const;
/** In the flags of a REPLACE, above the mode: the old order is open in another shard, so in another market. */
export const REPLACE_ELSEWHERE = 1 << 8;
/** In the flags of a CANCEL, beside the close reason in the low byte. */
export const CANCEL_TOMBSTONE = 1 << 8;
export const CLIENT_ID_MAX_BYTES = 64;
export const NO_GROUP = 0;

/** Word offsets. */
export const CMD_TYPE = 1;
export const CMD_REQUEST = 2;
export const CMD_ACCOUNT = 3;
export const CMD_TIME_MS = 4;
export const CMD_MARKET = 6;
export const CMD_FLAGS = 7;
export const CMD_BODY = 8;

export const PLACE_HASH = 8;
export const PLACE_SALT = 16;
export const PLACE_TOKEN_ID = 24;
export const PLACE_MAKER = 32;
export const PLACE_SIGNER = 37;
export const PLACE_SIGNATURE = 42;
export const PLACE_KIND = 59;
export const PLACE_MAKER_AMOUNT = 60;
export const PLACE_TAKER_AMOUNT = 62;
export const PLACE_EXPIRATION_SEC = 64;
export const PLACE_NONCE = 66;
export const PLACE_FEE_BPS = 68;
export const PLACE_MIN_TAKER_NET = 70;
export const EXT_KEY = 72;
export const EXT_FINGERPRINT = 76;
export const EXT_DEADLINE_MS = 80;
export const EXT_GROUP = 82;
export const EXT_ROUTE_ROW = 83;
export const EXT_CLIENT_ID_BYTES = 84;
export const EXT_CLIENT_ID = 85;
export const REPLACE_HASH = 102;

export const CANCEL_HASH = 8;
export const CANCEL_KEY = 16;
export const CANCEL_FINGERPRINT = 20;
export const CANCEL_MANY_OUTCOME = 8;
export const CONVERT_AMOUNT = 8;
export const FUNDS_AMOUNT = 8;
export const FUNDS_REFERENCE = 10;
export const OPEN_UUID = 8;
export const OPEN_TICKS_PER_UNIT = 12;
export const OPEN_FEE_BPS = 13;
export const OPEN_MIN_ORDER = 14;
export const OPEN_START_MS = 16;
export const OPEN_END_MS = 18;
export const OPEN_STATUS = 20;
export const PATCH_STATUS = 8;
export const PATCH_FEE_BPS = 9;
export const PATCH_START_MS = 10;
export const PATCH_END_MS = 12;
export const RESOLVE_STATUS = 8;
export const RESOLVE_PAYOUT_YES_PPM = 9;
export const GROUP_INDEX = 8;
export const GROUP_WINDOW_SEC = 9;
export const GROUP_MAX_ATOMIC = 10;
export const CONTRACTS_CHAIN_ID = 8;
export const CONTRACTS_EXCHANGE = 10;

/** Length in bytes of a PLACE with PLACE_BIT_EXTENDED. */
export const EXTENDED_PLACE_BYTES = 102 * 4;
/** Length in bytes of a CANCEL with an idempotency key. */
export const KEYED_CANCEL_BYTES = 24 * 4;

/** Length in bytes by type, index = COMMAND value; a PLACE or CANCEL may be longer. */
export const COMMAND_BYTES = [0, 72, 16, 10, 10, 18, 22, 14, 8, 10, 8, 8, 110, 12, 10, 10, 16].map(
  (words) => words * 4,
);
for (const bytes of COMMAND_BYTES) assert(bytes % 8 === 0, 'commands: lengths are multiples of 8');
assert(COMMAND_BYTES.length === COMMAND.CONTRACTS + 1, 'commands: the length table follows the type table');

/** Types that are worth the ring's reserved tenth: they reduce risk or run the exchange. */
export function isUrgent(type: CommandType): boolean {
  switch (type) {
    case COMMAND.PLACE:
    case COMMAND.REPLACE:
    case COMMAND.CONVERT:
    case COMMAND.CLAIM:
      return false;
    default:
      return true;
  }
}

/**
 * Claims a command in the ring and writes its header; the caller fills the body words and publishes.
 * @returns the word offset, or -1 when the ring is full (answer ENGINE_BUSY; nothing was enqueued).
 */
export function beginCommand(
  ring: RingProducer,
  type: CommandType,
  requestId: number,
  account: number,
  timeMs: number,
  market: number,
  flags: number,
  lengthBytes = COMMAND_BYTES[type]!,
): number {
  const word = ring.tryClaim(lengthBytes, isUrgent(type) ? 0 : ring.capacity / 10);
  if (word < 0) return -1;
  const words = ring.words;
  words[word + CMD_TYPE] = type | (COMMAND_VERSION << 16);
  words[word + CMD_REQUEST] = requestId;
  words[word + CMD_ACCOUNT] = account;
  writeSafe(words, word + CMD_TIME_MS, timeMs);
  words[word + CMD_MARKET] = market;
  words[word + CMD_FLAGS] = flags;
  words.fill(0, word + CMD_BODY, word + (lengthBytes >>> 2));
  return word;
}

/** The four one-byte fields of PLACE_KIND. */
export function packKind(side: number, outcome: number, timeInForce: number, bits: number): number {
  return side | (outcome << 8) | (timeInForce << 16) | (bits << 24);
}
export const kindSide = (kind: number): number => kind & 0xff;
export const kindOutcome = (kind: number): number => (kind >>> 8) & 0xff;
export const kindTimeInForce = (kind: number): number => (kind >>> 16) & 0xff;
export const kindBits = (kind: number): number => kind >>> 24;
