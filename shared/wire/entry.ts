/**
 * Order entry in binary: the records of the subprotocol `svc.bin.1` of the stream (RULES.md 8.17 to 8.22). A client's
 * have the layout of the commands in the rings (commands.ts) in their first version, with zeros in every field that the
 * gateway fills in. A message of the socket is one frame: records one after the other, in either direction. RECORDS.md
 * draws them.
 *
 * Invariants:
 *   ENTRY-1  The layout of a version never changes: a change is another subprotocol. A field that a command gets later
 *            (ages.ts) is not in ENTRY, and the gateway gives it its value of absence (encodeOrder.ts).
 *   ENTRY-2  Nothing that a client sends is trusted: gateway/stream/binaryEntry.ts and
 *            gateway/trading/binaryOrder.ts check every word.
 */
import { ANY_COMMAND, COMMAND, EXTENDED_PLACE, PLACE_BIT_POST_ONLY, PLACE_SELF_TRADE_SHIFT } from './commands.ts';
import { bytes, family, firstForm, member, octets, record, safe, u32, unused } from './layout.ts';

export const ENTRY_PROTOCOL = 'svc.bin.1';
export const ENTRY_VERSION = 1;

/** Types of requests that are no command; commands have the types of commands.ts. */
const HEARTBEAT_TYPE = 0x8001;

/** Commands as clients send them. */
export const ENTRY = {
  PLACE: firstForm(COMMAND.PLACE),
  EXTENDED_PLACE: firstForm(EXTENDED_PLACE),
  REPLACE: firstForm(COMMAND.REPLACE),
  CANCEL: firstForm(COMMAND.CANCEL),
  CANCEL_MANY: firstForm(COMMAND.CANCEL_MANY),
};
/** Cancels the orders of one market: a CANCEL_MANY with the market's id. */
export const MARKET_CANCEL = record(
  'MARKET_CANCEL',
  { ...ENTRY.CANCEL_MANY.DECLARATION.fields, marketId: bytes(16, 'the UUID of the market') },
  'A CANCEL_MANY of one market; without the id it cancels the orders of all.',
  COMMAND.CANCEL_MANY.TYPE,
);
export const HEARTBEAT = record(
  'HEARTBEAT',
  firstForm(ANY_COMMAND).DECLARATION.fields,
  "Keeps the dead-man's switch from going off, and arms it.",
  HEARTBEAT_TYPE,
);

/** In `bits` of a client's `kind`: the self-trade bits hold in place of the setting of its key. */
export const PLACE_BIT_SELF_TRADE = 128;
/** The bits that are a client's, beside PLACE_BIT_EXTENDED; all others are the gateway's. */
export const CLIENT_BITS = PLACE_BIT_POST_ONLY | (3 << PLACE_SELF_TRADE_SHIFT) | PLACE_BIT_SELF_TRADE;

/** Requests by type with the lengths that each may have, in bytes. */
export const ENTRY_LENGTHS: ReadonlyMap<number, readonly number[]> = new Map([
  [ENTRY.PLACE.TYPE, [ENTRY.PLACE.BYTES, ENTRY.EXTENDED_PLACE.BYTES]],
  [ENTRY.REPLACE.TYPE, [ENTRY.REPLACE.BYTES]],
  [ENTRY.CANCEL.TYPE, [ENTRY.CANCEL.BYTES]],
  [ENTRY.CANCEL_MANY.TYPE, [ENTRY.CANCEL_MANY.BYTES, MARKET_CANCEL.BYTES]],
  [HEARTBEAT_TYPE, [HEARTBEAT.BYTES]],
]);

const ANSWER = {
  length: u32('bytes with all that follows it, a multiple of 8'),
  type: u32('type (16 bits) | version (8 bits) | unused'),
  requestId: u32('of the request; 0 in an answer to none'),
  status: u32('the HTTP status of the route'),
};

export const ENTRY_ANSWER = family(ANSWER, {
  PLACED: member(1, 'An order was accepted. Its fills follow it.', {
    orderId: bytes(16, 'a UUID'),
    hash: bytes(32, 'the EIP-712 hash of the order'),
    kind: octets(['status', 'remainder', 'bits'], 'ORDER_STATUS | REMAINDER | PLACED_BIT_*'),
    fills: u32('PLACED_FILL records after this one'),
    remaining: safe('what is left, in the asset of the maker'),
    ticksPerUnit: u32('of the market'),
    unused: unused(1),
  }),
  RESULT: member(2, 'The answer as text: that of the route over HTTP.', {
    code: u32('number of the error, 0 for none'),
    retryAfterSec: u32('the header Retry-After, 0 for none'),
    replayed: u32('1: the stored answer to an earlier request'),
    textBytes: u32('bytes of JSON after this record, in ASCII, with zeros to a multiple of 8'),
  }),
});

/** One fill of an accepted order, in terms of its own outcome. */
export const PLACED_FILL = record(
  'PLACED_FILL',
  {
    tradeId: bytes(16, 'a UUID'),
    makerOrderId: bytes(16, 'a UUID'),
    quantityAtomic: safe('tokens'),
    notionalMicro: safe(),
    priceTicks: u32(),
    matchType: u32('MATCH_TYPE'),
  },
  'A fill of an accepted order. It has no header: PLACED says how many there are.',
);

/** The end of what an accepted order has not traded. */
export const REMAINDER = { OPEN: 0, CANCELLED: 1, NONE: 2 } as const;
export const REMAINDER_NAMES = ['open', 'cancelled', 'none'] as const;

/** Of a replacement: the order has kept the time priority of the one before, and its price has changed. */
export const PLACED_BIT_KEPT_PRIORITY = 1;
export const PLACED_BIT_CHANGED_PRICE = 2;

/** The word `type` of a record of this version. */
export function entryType(type: number): number {
  return type | (ENTRY_VERSION << 16);
}
