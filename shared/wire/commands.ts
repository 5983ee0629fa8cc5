/**
 * Commands: requests of the gateway to a shard. The journal stores the same bytes before the events they caused, so a
 * field or a command that is added says since which version it exists (ages.ts). RECORDS.md draws every record.
 *
 * Invariants:
 *   COMMAND-1  Writer and reader of a command agree on COMMAND_VERSION.
 *   COMMAND-2  A command has the length of its type. A PLACE may also have that of EXTENDED_PLACE, a CANCEL that of
 *              KEYED_CANCEL, a CONVERT that of KEYED_CONVERT.
 */
import { assert } from '../base/assert.ts';
import { OUTCOME, SIDE } from '../base/codes.ts';
import { MOST_MEMBERS } from '../base/eventSets.ts';
import { MOST_MOVEMENT_FEE_MICRO } from '../base/movementFee.ts';
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
import { writeSafe } from './record.ts';
import type { RingProducer } from './ring.ts';
import { FIRST_WITH_RULES, FIRST_WITH_SETS, RECORD_VERSION } from './version.ts';

export const COMMAND_VERSION = RECORD_VERSION;
export const CLIENT_ID_MAX_BYTES = 64;

const HEADER = {
  length: u32('bytes, a multiple of 8'),
  type: u32('type (16 bits) | version (8 bits) | unused'),
  requestId: u32('of the reply inside one gateway process; means nothing in a journal'),
  account: u32(),
  timeMs: safe(),
  market: u32('NO_MARKET where it concerns none'),
  flags: u32(),
};

const ORDER = {
  hash: bytes(32, 'written by the shard before it journals the command'),
  salt: bytes(32),
  tokenId: bytes(32),
  makerAddress: bytes(20),
  signerAddress: bytes(20),
  signature: bytes(65, 'r | s | v'),
  kind: octets(['side', 'outcome', 'timeInForce', 'bits'], 'bits: PLACE_BIT_*'),
  makerAmount: safe(),
  takerAmount: safe(),
  expirationSec: safe('0 for none'),
  nonce: safe(),
  feeBps: u32(),
  grant: u32('of the signer, or UNKNOWN_GRANT'),
  minTakerNet: safe('0 for none'),
};

const KEY = {
  key: bytes(16, 'the idempotency key'),
  fingerprint: bytes(16, 'of the payload that the key was used with; 0: no key'),
};

/** Fields that only some orders have; zero in the others. */
const EXTENSION = {
  ...KEY,
  deadlineMs: safe('0 for none'),
  group: u32('order group, or NO_GROUP'),
  keyUse: octets(['route', 'row'], 'route: EXT_ROUTE; row: of the order in a batch'),
  clientIdBytes: u32(),
  clientId: text(CLIENT_ID_MAX_BYTES),
  /** Zero in a PLACE, and in every journal. */
  expectedLow: u32('with REPLACE_EXPECTS: low word of what has to remain'),
};

const GROUP = { group: u32() };

/** Zero in older journals. */
const AND_FEE = 'and above its 8 bits what the account pays for it, in micro-USDC';

/** Written by the shard before it journals the command. */
const ROWS = alias('flags', u32('orders and holders handled in this record'));

export const COMMAND = family(HEADER, {
  PLACE: member(1, 'Place an order.', { flags: u32('ORDER_NONCE_KEPT'), ...ORDER }),
  CANCEL: member(2, 'Cancel one order.', {
    flags: u32('close reason; CANCEL_TOMBSTONE refuses the order for a while if it has not arrived yet'),
    hash: bytes(32),
  }),
  CANCEL_MANY: member(3, 'Cancel all orders of an account, or those of a market.', {
    reason: alias('flags', u32('CLOSE_REASON')),
    outcome: u32('or BOTH_OUTCOMES'),
    unused: unused(1),
  }),
  CONVERT: member(4, 'Split USDC into full sets of tokens, or merge sets.', {
    movementAndFee: alias('flags', u32(`MOVEMENT.SPLIT or MERGE, ${AND_FEE}`)),
    amountAtomic: safe(),
  }),
  FUNDS: member(5, 'Deposit or withdraw; a deposit with a market is one of full sets.', {
    movementAndFee: alias('flags', u32(`MOVEMENT.DEPOSIT or WITHDRAWAL, ${AND_FEE}`)),
    amountMicro: safe(),
    reference: bytes(32, 'hash of the reference: each is applied once'),
  }),
  MARKET_OPEN: member(6, 'Open a market.', {
    uuid: bytes(16),
    ticksPerUnit: u32(),
    feeBps: u32(),
    minOrderAtomic: safe(),
    startMs: safe(),
    endMs: safe(),
    status: u32(),
    stage: u32('STAGE; that of the shard if that is stricter'),
    set: since(FIRST_WITH_SETS, u32('1 + the index of the first market of its set; 0: it is in none')),
    place: since(FIRST_WITH_SETS, octets(['ordinal', 'members'], 'its place in the set, and the number of places')),
  }),
  MARKET_PATCH: member(7, 'Change a market.', {
    rows: ROWS,
    status: u32('or UNCHANGED'),
    feeBps: u32('or UNCHANGED'),
    startMs: safe('always given'),
    endMs: safe('always given'),
  }),
  TICK: member(8, 'Time passes: what is due happens.', { rows: ROWS }),
  RESOLVE: member(9, 'Decide what the tokens of a market pay.', {
    rows: ROWS,
    status: u32('RESOLVED or CANCELLED'),
    payoutYesPpm: u32('payout.ts'),
  }),
  CLAIM: member(10, 'Pay an account for its tokens of a decided market.'),
  SETTLE: member(11, 'Pay every account for its tokens of a decided market.', { rows: ROWS }),
  REPLACE: member(12, 'Place an order instead of another.', {
    flags: u32('REPLACE_MODE | REPLACE_ELSEWHERE | REPLACE_EXPECTS with its high bits; ORDER_NONCE_KEPT'),
    ...ORDER,
    ...EXTENSION,
    oldHash: bytes(32),
  }),
  GROUP_SET: member(13, 'Make or change an order group.', { ...GROUP, windowSec: u32(), maxAtomic: safe() }),
  GROUP_RESET: member(14, 'Let a tripped order group trade again.', { ...GROUP, unused: unused(1) }),
  GROUP_TRIP: member(15, 'The order group has tripped in another shard.', { ...GROUP, unused: unused(1) }),
  CONTRACTS: member(16, 'From here on orders are signed for these contracts.', {
    chainId: safe(),
    exchange: bytes(20, 'address of the exchange contract'),
    unused: unused(1),
  }),
  SWEEP: member(17, 'Cancel orders that an account may not have any more.', {
    reason: alias('flags', u32('CLOSE_REASON')),
    side: u32('or BOTH_SIDES'),
    grant: u32('ANY_GRANT: of all; unknown grants count as this one'),
  }),
  STEP: member(18, 'Written by the shard itself: ends more of the markets that are being ended.', {
    rows: ROWS,
  }),
  UNWIND: member(19, 'Undo a fill that the chain refuses.', {
    takerAccount: alias('flags', u32('the account is that of the maker')),
    reference: bytes(32, 'each is carried out once'),
    tradeSequence: safe(),
    makerMicro: signed(),
    makerYes: signed(),
    makerNo: signed(),
    takerMicro: signed(),
    takerYes: signed(),
    takerNo: signed(),
    feeMicro: signed('of the fee account'),
    feeYes: signed(),
    feeNo: signed(),
  }),
  STAGE: member(20, 'Step a market, or all of the shard, to another stage.', {
    stage: alias('flags', u32('STAGE')),
    from: u32('the stage before, or ANY_STAGE: then the step is to a stricter one'),
    unused: unused(1),
  }),
  RAISE: member(21, 'Written by a restore: numbers go on above a floor.', {
    floor: safe('floors.ts'),
  }),
  NONCE_FLOOR: member(22, 'Refuse orders of a wallet with lower nonces, for ever.', {
    floor: safe(),
    wallet: bytes(20, 'the maker of the orders'),
    unused: unused(1),
  }),
  RULES: member(
    23,
    'Written by the shard itself: these rules and their layouts are in force from here on.',
    { rules: alias('flags', u32('engine/core/rules.ts')) },
    FIRST_WITH_RULES,
  ),
  CONVERT_SET: member(
    24,
    'Convert tokens of an event set; the market is the first of the set, as in the two below.',
    {
      direction: alias('flags', u32('CONVERSION')),
      chosen: bytes(8, 'a bit for each market of the set whose No is converted'),
      amountAtomic: safe(),
      ...KEY,
    },
    FIRST_WITH_SETS,
  ),
  DECIDE_SET: member(
    25,
    'Decide what the tokens of all markets of a set pay.',
    {
      rows: ROWS,
      status: u32('RESOLVED or CANCELLED'),
      unused: unused(1),
      payoutsYesPpm: bytes(4 * MOST_MEMBERS, 'a word for each market; all 0: equal parts'),
    },
    FIRST_WITH_SETS,
  ),
  SETTLE_SET: member(26, 'Pay every account for its tokens of a decided set.', { rows: ROWS }, FIRST_WITH_SETS),
});
/** The fields that every command has. */
export const ANY_COMMAND = record('ANY_COMMAND', HEADER, 'The header of every command.');
/** The long form of a PLACE: its kind has PLACE_BIT_EXTENDED. */
export const EXTENDED_PLACE = record(
  'EXTENDED_PLACE',
  { ...COMMAND.PLACE.DECLARATION.fields, ...EXTENSION },
  'A PLACE with PLACE_BIT_EXTENDED.',
  COMMAND.PLACE.TYPE,
);
/** The long form of a CANCEL. */
export const KEYED_CANCEL = record(
  'KEYED_CANCEL',
  { ...COMMAND.CANCEL.DECLARATION.fields, ...KEY },
  'A CANCEL with an idempotency key.',
  COMMAND.CANCEL.TYPE,
);
/** The long form of a CONVERT. */
export const KEYED_CONVERT = record(
  'KEYED_CONVERT',
  { ...COMMAND.CONVERT.DECLARATION.fields, ...KEY },
  'A CONVERT with an idempotency key.',
  COMMAND.CONVERT.TYPE,
);
export type CommandType = (typeof COMMAND)[keyof typeof COMMAND]['TYPE'];

/** A command as a plain object, without the fields that only a long form has. */
export type Command = {
  readonly [Name in keyof typeof COMMAND]: { readonly name: Name } & DecodedOf<(typeof COMMAND)[Name]>;
}[keyof typeof COMMAND];
export type CommandOf<Name extends Command['name']> = Extract<Command, { readonly name: Name }>;

/** The request id of a command whose reply is ignored; a TICK with it has none. */
export const NO_REQUEST = 0;
/** Length in bytes by type; the long forms apart. */
export const COMMAND_BYTES = /* @__PURE__ */ lengthsByType(COMMAND);

const BY_TYPE: readonly AnyLayout[] = Object.values<AnyLayout>(COMMAND).toSorted((a, b) => a.TYPE - b.TYPE);

/** A movement and its fee as the flags of a CONVERT and of a FUNDS have them. */
const MOVEMENT_BITS = 8;

export function withFee(movement: number, feeMicro: number): number {
  assert(feeMicro >= 0 && feeMicro <= MOST_MOVEMENT_FEE_MICRO, 'COMMAND-1: a fee of a movement has its bits');
  return movement | (feeMicro << MOVEMENT_BITS);
}

export function movementIn(flags: number): number {
  return flags & ((1 << MOVEMENT_BITS) - 1);
}

export function feeIn(flags: number): number {
  return flags >>> MOVEMENT_BITS;
}

export const NO_MARKET = 0xffff_ffff;
export const BOTH_OUTCOMES = 2;
export const BOTH_SIDES = 2;
export const ANY_GRANT = 0;
export const UNCHANGED = 0xffff_ffff;
export const ANY_STAGE = 0xffff_ffff;
export const NO_GROUP = 0;

export const PLACE_BIT_POST_ONLY = 1;
/** The gateway found `maker` among the caller's wallets and `signer` entitled to sign for it. */
export const PLACE_BIT_AUTHORIZED = 2;
/** Two bits: a SELF_TRADE mode. */
export const PLACE_SELF_TRADE_SHIFT = 2;
/** The command is an EXTENDED_PLACE or a REPLACE. */
export const PLACE_BIT_EXTENDED = 16;
/**
 * The gateway found the client order id among the account's open orders or those not yet answered. The account's orders
 * are spread over the shards, so only the gateway knows them; the shard refuses such an order in its turn, after the
 * check for duplicates.
 */
export const PLACE_BIT_CLIENT_ID_TAKEN = 32;
/**
 * With this order the account could have more open orders than it may (RULES.md 2.11). Only the gateway
 * knows those of all shards; the shard refuses the order in its turn.
 */
export const PLACE_BIT_TOO_MANY_OPEN = 64;

/** The route on which an idempotency key was used; 0 for none. */
export const EXT_ROUTE = {
  NONE: 0,
  PLACE: 1,
  BATCH: 2,
  CANCEL_REPLACE: 3,
  AMEND: 4,
  BATCH_CANCEL: 5,
  /** Split, merge and conversions of sets: the path is part of the fingerprint. */
  CONVERT: 6,
} as const;
/** An amend keeps the time priority of the old order where RULES.md 7.10 allows it; a cancel-replace never does. */
export const REPLACE_MODE = { CANCEL_REPLACE: 0, AMEND: 1 } as const;
/** In the flags of a REPLACE, above the mode: the old order is open in another shard, so in another market. */
export const REPLACE_ELSEWHERE = 1 << 8;
/**
 * In the flags of a PLACE or REPLACE, written by the shard before it journals the command: it keeps the nonce and the
 * maker of the order while that is open. Orders without it, in older journals, count as signed with the nonce 0 by any
 * wallet of their account when a floor is raised.
 */
export const ORDER_NONCE_KEPT = 1 << 10;
/** In the flags of a CANCEL, beside the close reason in the low byte. */
export const CANCEL_TOMBSTONE = 1 << 8;

const { CLAIM, CONVERT, CONVERT_SET, PLACE, REPLACE } = COMMAND;
/** Commands that leave the last tenth of the ring to those that reduce risk or run the exchange. */
const PATIENT: readonly CommandType[] = [PLACE.TYPE, REPLACE.TYPE, CONVERT.TYPE, CONVERT_SET.TYPE, CLAIM.TYPE];

/**
 * Claims a command in the ring and writes its header; the caller fills the body words and publishes.
 * @returns the word offset, or -1 when the ring is full (answer ENGINE_BUSY; nothing was enqueued).
 */
export function claimCommand(
  ring: RingProducer,
  type: CommandType,
  requestId: number,
  account: number,
  timeMs: number,
  market: number,
  flags: number,
  lengthBytes = COMMAND_BYTES[type],
): number {
  const word = ring.tryClaim(lengthBytes, PATIENT.includes(type) ? ring.capacity / 10 : 0);
  if (word < 0) return -1;
  const words = ring.words;
  words[word + ANY_COMMAND.type] = type | (COMMAND_VERSION << 16);
  assertCommand(words, word);
  words[word + ANY_COMMAND.requestId] = requestId;
  words[word + ANY_COMMAND.account] = account;
  writeSafe(words, word + ANY_COMMAND.timeMs, timeMs);
  words[word + ANY_COMMAND.market] = market;
  words[word + ANY_COMMAND.flags] = flags;
  words.fill(0, word + ANY_COMMAND.WORDS, word + (lengthBytes >>> 2));
  return word;
}

/** Asserts COMMAND-1 and COMMAND-2 for a command that another thread or an earlier run has written. */
export function assertCommand(words: Uint32Array, word: number): void {
  const type = words[word + ANY_COMMAND.type] & 0xffff;
  const lengthBytes = words[word];
  assert(
    words[word + ANY_COMMAND.type] >>> 16 === COMMAND_VERSION,
    'COMMAND-1: writer and reader agree on the version',
  );
  assert(
    lengthBytes === COMMAND_BYTES[type] || isLongForm(type, lengthBytes),
    'COMMAND-2: a command has a length of its type',
  );
}

/** The command at `word` as a plain object, for tools and tests; hot code reads the words. */
export function decodeCommand(words: Uint32Array, word: number): Command {
  assertCommand(words, word);
  const layout = BY_TYPE[(words[word + ANY_COMMAND.type] & 0xffff) - 1];
  return { name: layout.DECLARATION.name, ...decode(layout, words, word) } as Command;
}

function isLongForm(type: number, lengthBytes: number): boolean {
  if (type === COMMAND.PLACE.TYPE) return lengthBytes === EXTENDED_PLACE.BYTES;
  if (type === COMMAND.CONVERT.TYPE) return lengthBytes === KEYED_CONVERT.BYTES;
  return type === COMMAND.CANCEL.TYPE && lengthBytes === KEYED_CANCEL.BYTES;
}

/** The four one-byte fields of an order's kind. */
export function packKind(side: number, outcome: number, timeInForce: number, bits: number): number {
  return side | (outcome << 8) | (timeInForce << 16) | (bits << 24);
}
export const kindSide = (kind: number): number => kind & 0xff;
export const kindOutcome = (kind: number): number => (kind >>> 8) & 0xff;
export const kindTimeInForce = (kind: number): number => (kind >>> 16) & 0xff;
export const kindBits = (kind: number): number => kind >>> 24;
/** 1 for the side of the Yes book where bids rest: a sale of No is a bid for Yes at the mirrored price. */
export const isBidInYes = (kind: number): number =>
  (kindSide(kind) === SIDE.BUY) === (kindOutcome(kind) === OUTCOME.YES) ? 1 : 0;
