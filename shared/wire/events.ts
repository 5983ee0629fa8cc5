/**
 * Events: the output of a shard. All except RECORD, REPLY, READY and PUBLISHED are stored in the journal after the
 * command that caused them, so a field or an event that is added says since which version it exists (ages.ts).
 * RECORDS.md draws every record.
 *
 * An accepted command emits, in this order: RECORD, its events, REPLY. A refused one emits a REPLY only. None of
 * them reaches the event ring before the journal transaction of the command is durable. In a cluster a batch ends with
 * PUBLISHED.
 *
 * Invariants:
 *   EVENT-1  Writer and reader of an event agree on EVENT_VERSION.
 *   EVENT-2  An event has the length of its type.
 */

import { assert } from '../base/assert.ts';
import type { CloseReason } from '../base/codes.ts';
import { CLIENT_ID_MAX_BYTES } from './commands.ts';
import {
  type AnyLayout,
  alias,
  bytes,
  type DecodedOf,
  decode,
  family,
  lengthsByType,
  member,
  octets,
  record,
  safe,
  signed,
  since,
  text,
  u32,
  unused,
} from './layout.ts';
import { FIRST_WITH_SETS, RECORD_VERSION } from './version.ts';

export const EVENT_VERSION = RECORD_VERSION;

const HEADER = {
  length: u32('bytes, a multiple of 8'),
  type: u32('type (16 bits) | version (8 bits) | unused'),
  slot: u32("the order's index in the pool of the shard: unique among its open orders, used again later"),
  account: u32(),
  marketSequence: safe('number of the public frame in its market, never reset; 0 where the event is not public'),
  market: u32('NO_MARKET where it concerns none'),
  flags: u32(),
};

const ORDER = {
  kind: alias('flags', octets(['side', 'outcome', 'timeInForce', 'bits'], 'as in PLACE')),
  hash: bytes(32),
  makerAmount: safe(),
  takerAmount: safe(),
  quantityLots: safe(),
  limitTicks: u32("of the order's own outcome"),
  feeBps: u32(),
  expirationSec: safe(),
  sequence: safe('of the order in its shard'),
  remainingLots: safe(),
  filledNotionalMicro: safe(),
  createdMs: safe(),
  isDormant: u32('0 or 1'),
};

/** The meaning of the last fields depends on the command. */
const REPLY_NOTE =
  'The reply to a command. The meaning of a, b and c depends on both. INSUFFICIENT_BALANCE: required, available, ' +
  'reserved. FEE_RATE_MISMATCH: the canonical fee. NONCE_BELOW_FLOOR: the floor. ' +
  'CANCEL_MANY, SWEEP, CONTRACTS and NONCE_FLOOR: how many orders were cancelled. ' +
  'REPLACE: whether the queue position was kept and whether the price changed, 0 or 1 each, and the lots that were ' +
  'left of the old order. REMAINING_CHANGED: what remains. A CANCEL that left a tombstone: its untilMs. ' +
  'A refusal of an order that may have been accepted and forgotten: the start of its hash, or that its signature is ' +
  'wrong (hashStart.ts).';

export const EVENT = family(HEADER, {
  RECORD: member(1, 'The events up to the next REPLY belong to this row of the journal.', {
    shardSequence: safe(),
    timeMs: safe(),
    command: u32('type of the command'),
    unused: unused(3),
  }),
  ORDER: member(2, 'An order was accepted.', { ...ORDER, unused: unused(1) }),
  ORDER_STATE: member(3, 'The state of an open order, after a recovery.', {
    ...ORDER,
    origin: u32('the shard that its id names, plus one; 0: the shard that sends this'),
  }),
  REST: member(4, 'The order now rests at its limit, where its priority puts it: mostly last (public frame "open").', {
    remainingLots: safe(),
  }),
  FILL: member(5, "One match of two orders. marketSequence is the trade frame's; the maker's delta has the next one.", {
    makerSlot: alias('slot', u32()),
    makerAccount: alias('account', u32()),
    matchType: alias('flags', u32()),
    yesTicks: u32("the maker's price in Yes terms"),
    takerSlot: u32(),
    lots: safe(),
    tradeSequence: safe(),
    makerFee: safe('in what that party receives: atomic tokens for a BUY, micro-USDC for a SELL'),
    takerFee: safe(),
    makerRemainingLots: safe(),
    takerAccount: u32(),
    unused: unused(1),
    takerRemainingLots: safe(),
    unusedAtEnd: unused(2),
  }),
  CLOSED: member(6, 'The order has left the book for good; public unless marketSequence is 0.', {
    reason: alias('flags', u32('CLOSE_REASON')),
    remainingLots: safe('at the close'),
  }),
  DORMANT: member(7, 'The order has left its queue until the fee of its market is its own again.'),
  WOKEN: member(8, 'The dormant order is back in its queue, where its priority puts it.'),
  ACCOUNT: member(9, 'The balances of an account in this shard, in absolute terms.', {
    netMicro: signed('USDC: credits less debits and reservations; available is the sum over shards'),
    reservedMicro: safe(),
    yesAvailable: signed('atomic tokens of `market`, as the next three; 0 where that is NO_MARKET'),
    yesReserved: safe(),
    noAvailable: signed(),
    noReserved: safe(),
  }),
  MARKET: member(10, 'The state of a market, in absolute terms.', {
    status: alias('flags', u32('MARKET_STATUS')),
    collateralMicro: signed(),
    feeBps: u32(),
    ticksPerUnit: u32(),
    startMs: safe(),
    endMs: safe(),
    lastMarketSequence: safe(),
    minOrderAtomic: safe(),
    uuid: bytes(16),
    payoutYesPpm: u32('payout.ts; this and the times and the remainder below are 0 until the market is decided'),
    stage: u32('STAGE'),
    resolvedMs: safe('when it was resolved or cancelled'),
    settledMs: safe(),
    roundingPpm: safe('millionths of a micro-USDC in the collateral that no token is worth'),
    set: since(FIRST_WITH_SETS, u32('1 + the index of the first market of its event set; 0: it is in none')),
    place: since(FIRST_WITH_SETS, octets(['ordinal', 'members'], 'its place there, and how many markets the set has')),
  }),
  FUNDS: member(11, 'A deposit, withdrawal, split, merge or claim, or the fee of one of them.', {
    movement: alias('flags', u32('MOVEMENT')),
    amount: safe('micro-USDC, or atomic tokens of a split or merge'),
    reference: bytes(32, 'zero but for a deposit or withdrawal'),
  }),
  REPLY: member(12, REPLY_NOTE, {
    requestId: alias('slot', u32()),
    gateway: alias('account', u32('number of the gateway thread in the shard (engine/shard/gateways.ts)')),
    code: alias('flags', u32('errors.ts; 0: done')),
    shardSequence: safe('0 for a refusal'),
    a: safe(),
    b: safe(),
    c: safe(),
  }),
  READY: member(13, 'Recovery is done and commands may come.', { shardSequence: safe(), timeMs: safe() }),
  DIGEST: member(14, 'The state digest of the shard after the record that this event ends.', { lanes: bytes(8) }),
  ORDER_TAG: member(15, 'After the ORDER or ORDER_STATE of an order that carries any of this.', {
    group: alias('flags', u32('order group, or NO_GROUP')),
    clientIdBytes: u32(),
    clientId: text(CLIENT_ID_MAX_BYTES),
    unused: unused(1),
    priority: safe('the sequence of the order whose queue position it has: its own unless an amend kept an older one'),
  }),
  GROUP: member(16, 'The state of an order group, in absolute terms.', {
    hasJustTripped: alias('flags', u32('1 when it tripped in this record and shard, so the other shards must trip it')),
    group: u32(),
    windowSec: u32(),
    maxAtomic: safe(),
    filledAtomic: safe('token quantity filled inside the window'),
    isTripped: u32('0 or 1'),
    unused: unused(1),
  }),
  TOMBSTONE: member(17, 'An order that has not arrived is refused for a while.', { hash: bytes(32), untilMs: safe() }),
  CONTRACTS: member(18, 'The contracts that orders are signed for.', {
    chainId: safe(),
    exchange: bytes(20, 'address of the exchange contract'),
    unused: unused(1),
  }),
  UNWOUND: member(19, 'A party of a fill got back what it gave, and gave back what it received.', {
    tradeSequence: safe('of the fill'),
    micro: signed('the change of its USDC'),
    yesAtomic: signed('and of its tokens'),
    noAtomic: signed(),
  }),
  PUBLISHED: member(20, 'In a cluster: every event up to this record has come.', { shardSequence: safe() }),
  STAGE: member(21, 'Every market of the shard is what stageAfter (codes.ts) says, and a new one begins here.', {
    stage: alias('flags', u32('STAGE')),
    from: u32('of the step; the stage itself after a recovery, when MARKET events follow'),
    unused: unused(1),
  }),
  RAISED: member(22, 'The next public frame of every market has a number above this floor.', {
    floor: safe('floors.ts'),
  }),
  LAST_FILL: member(23, 'The time of the last fill of a market, after a recovery.', {
    filledMicros: safe('fillTimes.ts'),
  }),
  NONCE_FLOOR: member(24, 'The floor under the nonces of the orders of a wallet.', {
    floor: safe(),
    wallet: bytes(20),
    unused: unused(1),
  }),
  SET: member(
    25,
    'The money of an event set beyond the collateral of its markets; the market is the first of the set.',
    { excessMicro: signed('in absolute terms; RULES.md 19.2') },
    FIRST_WITH_SETS,
  ),
  SET_CONVERTED: member(
    26,
    'What an account gave and got in one market when it converted tokens of an event set; one event for each market.',
    {
      direction: alias('flags', u32('CONVERSION')),
      micro: signed('the change of its USDC, whole in the first event of the conversion'),
      yesAtomic: signed('and of its tokens'),
      noAtomic: signed(),
    },
    FIRST_WITH_SETS,
  ),
});
/** The fields that every event has. */
export const ANY_EVENT = record('ANY_EVENT', HEADER, 'The header of every event.');
export type EventType = (typeof EVENT)[keyof typeof EVENT]['TYPE'];
export type Event = {
  readonly [Name in keyof typeof EVENT]: { readonly name: Name } & DecodedOf<(typeof EVENT)[Name]>;
}[keyof typeof EVENT];

export type EventOf<Name extends Event['name']> = Extract<Event, { readonly name: Name }>;

/** Length in bytes by type. */
export const EVENT_BYTES = lengthsByType(EVENT);

const BY_TYPE: readonly AnyLayout[] = Object.values<AnyLayout>(EVENT).toSorted((a, b) => a.TYPE - b.TYPE);

export const typeOf = (word1: number): number => word1 & 0xffff;

/** Asserts EVENT-1 and EVENT-2 for an event that another thread or an earlier run has written. */
export function assertEvent(words: Uint32Array, word: number): void {
  const typeAndVersion = words[word + ANY_EVENT.type];
  assert(typeAndVersion >>> 16 === EVENT_VERSION, 'EVENT-1: writer and reader agree on the version');
  assert(words[word] === EVENT_BYTES[typeOf(typeAndVersion)], 'EVENT-2: an event has the length of its type');
}

/** The event at `word` as a plain object, for tools and tests; hot code reads the words. */
export function decodeEvent(words: Uint32Array, word: number): Event {
  assertEvent(words, word);
  const layout = BY_TYPE[typeOf(words[word + ANY_EVENT.type]) - 1];
  return { name: layout.DECLARATION.name, ...decode(layout, words, word) } as Event;
}

/** All events from `word` up to `end`. */
export function decodeEvents(words: Uint32Array, word: number, end: number): Event[] {
  const events: Event[] = [];
  for (let at = word; at < end; at += words[at] >>> 2) events.push(decodeEvent(words, at));
  return events;
}

/** Of the CLOSED event at `word`. */
export function closeReasonAt(words: Uint32Array, word: number): CloseReason {
  return words[word + EVENT.CLOSED.reason] as CloseReason;
}
