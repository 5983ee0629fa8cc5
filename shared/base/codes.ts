/**
 * The small enumerations that travel as integers in rings, journal and read.db, each an `as const` table with its wire
 * names beside it. A number once written to a journal keeps its meaning for ever: append, never renumber.
 */

export const SIDE = { BUY: 0, SELL: 1 } as const;
export type Side = (typeof SIDE)[keyof typeof SIDE];
export const SIDE_NAMES = ['BUY', 'SELL'] as const;

export const OUTCOME = { YES: 0, NO: 1 } as const;
export type Outcome = (typeof OUTCOME)[keyof typeof OUTCOME];

export const TIME_IN_FORCE = { GTC: 0, GTD: 1, FOK: 2, FAK: 3 } as const;
export const TIME_IN_FORCE_NAMES = ['GTC', 'GTD', 'FOK', 'FAK'] as const;

/** True for an order that never rests. */
export function isImmediate(timeInForce: number): boolean {
  return timeInForce === TIME_IN_FORCE.FOK || timeInForce === TIME_IN_FORCE.FAK;
}

export const SELF_TRADE = { NONE: 0, CANCEL_NEWEST: 1, CANCEL_OLDEST: 2, CANCEL_BOTH: 3 } as const;
export type SelfTrade = (typeof SELF_TRADE)[keyof typeof SELF_TRADE];
export const SELF_TRADE_NAMES = ['none', 'cancel_newest', 'cancel_oldest', 'cancel_both'] as const;

export const MATCH_TYPE = { STANDARD: 0, MINT: 1, MERGE: 2 } as const;
export const MATCH_TYPE_NAMES = ['standard', 'mint', 'merge'] as const;

export const ORDER_STATUS = { OPEN: 0, PARTIALLY_FILLED: 1, FILLED: 2, CANCELLED: 3, EXPIRED: 4 } as const;
export type OrderStatus = (typeof ORDER_STATUS)[keyof typeof ORDER_STATUS];
export const ORDER_STATUS_NAMES = ['open', 'partially_filled', 'filled', 'cancelled', 'expired'] as const;

/** The status of an order as far as its fills decide it. */
export function statusOfFills(quantityLots: number, remainingLots: number): OrderStatus {
  if (remainingLots === quantityLots) return ORDER_STATUS.OPEN;
  return remainingLots === 0 ? ORDER_STATUS.FILLED : ORDER_STATUS.PARTIALLY_FILLED;
}

/** The reasons for which an order is closed. */
export const CLOSE_REASON = {
  FILLED: 0,
  USER: 1,
  HEARTBEAT: 2,
  EXPIRED: 3,
  MARKET_CLOSED: 4,
  SELF_TRADE: 5,
  ADMIN: 6,
  FAK_REMAINDER: 7,
  GROUP_LIMIT: 8,
  NONCE_FLOOR: 9,
} as const;
export type CloseReason = (typeof CLOSE_REASON)[keyof typeof CLOSE_REASON];
export const CLOSE_REASON_NAMES = [
  'filled',
  'user',
  'heartbeat',
  'expired',
  'market_closed',
  'self_trade',
  'admin',
  'fak_remainder',
  'group_limit',
  'nonce_floor',
] as const;

/** The status of an order that was closed for this reason. */
export function closedStatus(reason: CloseReason): OrderStatus {
  if (reason === CLOSE_REASON.FILLED) return ORDER_STATUS.FILLED;
  return reason === CLOSE_REASON.EXPIRED ? ORDER_STATUS.EXPIRED : ORDER_STATUS.CANCELLED;
}

export const MARKET_STATUS = {
  DRAFT: 0,
  PENDING: 1,
  ACTIVE: 2,
  LOCKED: 3,
  RESOLVING: 4,
  RESOLVED: 5,
  SETTLED: 6,
  CANCELLED: 7,
} as const;
export type MarketStatus = (typeof MARKET_STATUS)[keyof typeof MARKET_STATUS];
export const MARKET_STATUS_NAMES = [
  'draft',
  'pending',
  'active',
  'locked',
  'resolving',
  'resolved',
  'settled',
  'cancelled',
] as const;

/** Stages of a market after a halt (RULES.md 9.70), the strictest last. */
export const STAGE = { OPEN: 0, POST_ONLY: 1, CANCEL_ONLY: 2 } as const;
export type Stage = (typeof STAGE)[keyof typeof STAGE];
export const STAGE_NAMES = ['open', 'post_only', 'cancel_only'] as const;
export type StageName = (typeof STAGE_NAMES)[number];

/**
 * The stage of a market after a step of many. A step to a stricter stage affects every market in a looser stage; a step
 * to a looser stage affects only markets in the stage that it starts from.
 */
export function stageAfter<S extends number>(stage: S, from: number, to: S): S {
  if (to > from) return stage > to ? stage : to;
  return stage === from ? to : stage;
}

type CodesOf<Names extends readonly string[]> =
  Extract<keyof Names, `${number}`> extends `${infer Code extends number}` ? Code : never;

/** The code of a name is its place among the names. */
export function codeOf<const Names extends readonly string[]>(names: Names, name: Names[number]): CodesOf<Names> {
  return names.indexOf(name) as CodesOf<Names>;
}

export const DEPLOY_STATUS_NAMES = [
  'not_deployed',
  'pending_deploy',
  'deploying',
  'deployed',
  'failed',
  'permanently_failed',
] as const;

/** True once the payouts of the outcomes are decided, which is final. */
export function isDecided(status: number): boolean {
  return status >= MARKET_STATUS.RESOLVED;
}

/** FEE is paid for a withdrawal, split or merge on a chain. 5 to 8 and 10 are used only by FUND_MOVEMENT. */
export const MOVEMENT = { DEPOSIT: 0, WITHDRAWAL: 1, SPLIT: 2, MERGE: 3, CLAIM: 4, FEE: 9 } as const;
/** Movements that are requested. */
export const MOVEMENT_NAMES = ['deposit', 'withdrawal', 'split', 'merge', 'claim'] as const;

/**
 * Changes of an account's funds other than trades. Tokens of a decided market are paid by a claim of their holder or by
 * the settlement; those of a cancelled one are refunded by either. CARRIED is no movement: an account had it when
 * history began (RULES.md 10.17). UNWINDING takes back a fill that the chain refuses. SET_CONVERSION is the part of one
 * market in a conversion of an event set (19.9).
 */
export const FUND_MOVEMENT = {
  ...MOVEMENT,
  SETTLEMENT: 5,
  REFUND: 6,
  CARRIED: 7,
  UNWINDING: 8,
  SET_CONVERSION: 10,
} as const;

/** The progress of a trade on a chain (RULES.md 14.8). */
export const SETTLEMENT_STATUS_NAMES = ['pending', 'submitted', 'mined', 'settled', 'failed'] as const;
export type SettlementStatus = (typeof SETTLEMENT_STATUS_NAMES)[number];

/** Grants are numbered from 1: no grant, or the one of an order that was placed by a version without grants. */
export const UNKNOWN_GRANT = 0;

/** The states of an account (RULES.md 9.15). */
export const ACCOUNT_STATE = { ACTIVE: 0, CLOSE_ONLY: 1, FROZEN: 2 } as const;
export type AccountState = (typeof ACCOUNT_STATE)[keyof typeof ACCOUNT_STATE];
export const ACCOUNT_STATE_NAMES = ['active', 'close_only', 'frozen'] as const;

/**
 * Price steps per USDC that a market may choose: the divisors of 10,000 from 10 up, so a price has four decimals at
 * most. The lot is as many atomic tokens.
 */
export const TICKS_PER_UNIT = [
  10, 16, 20, 25, 40, 50, 80, 100, 125, 200, 250, 400, 500, 625, 1000, 1250, 2000, 2500, 5000, 10_000,
] as const;

/**
 * Largest maker_amount or taker_amount of one order: a billion units, so every product in matching stays a safe
 * integer.
 */
export const MAX_ORDER_AMOUNT = 1_000_000_000_000_000;

/**
 * Latest expiration of an order, in the year 2106. A time in milliseconds is later for every day since February 1970,
 * so that none is taken for seconds, whatever a clock says.
 */
export const MAX_EXPIRATION_SEC = 0xffff_ffff;

/** Account 0 collects fees; users start at 1. */
export const FEE_ACCOUNT = 0;
/** Tables by account have memory only for accounts that exist; this bounds the addresses that they reserve. */
export const MAX_ACCOUNTS = 1 << 26;
/** The largest bound on the open orders of an account that can be set. */
export const MAX_OPEN_ORDERS = 1_000_000;
