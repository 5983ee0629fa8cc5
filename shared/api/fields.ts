/** Fields that many requests and answers have. Amounts that could pass 2^53 are decimal texts. */
import { OUTCOME, SIDE_NAMES } from '../base/codes.ts';
import { MAX_SAFE } from '../base/int.ts';

const HASH_EXAMPLE = '0x5f1c2a8be3d94e7f60a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607';
const ADDRESS_EXAMPLE = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';

export const UUID = {
  type: 'string',
  format: 'uuid',
  examples: ['0190a0b0-c0d0-7000-8000-0000000000af'],
} as const;
/** `hash`, `address`, `uint256`, `amount` and the format of SINCE belong to this interface, and have patterns. */
export const ADDRESS = { type: 'string', format: 'address', examples: [ADDRESS_EXAMPLE] } as const;
export const HASH = { type: 'string', format: 'hash', examples: [HASH_EXAMPLE] } as const;
export const UINT256 = {
  type: 'string',
  format: 'uint256',
  examples: ['73470541315377973562501025254719659796416'],
} as const;
/** Atomic units of an order or a conversion: 1 to 10^15. */
export const AMOUNT = { type: 'string', format: 'amount', examples: ['10000000'] } as const;
/** A time in a query: without a zone it is in UTC, and a day stands for its first moment. */
export const SINCE = {
  type: 'string',
  format: 'date-time-or-utc',
  description: 'From this time on, itself included: a poller meets the last rows again and loses none.',
  examples: ['2026-10-01T12:00:00'],
} as const;
export const TIME = { type: 'string', format: 'date-time', examples: ['2026-10-01T12:00:00.000Z'] } as const;

/** The time of a fill (RULES.md 13.12). */
export const FILL_TIME = {
  type: 'string',
  format: 'date-time',
  description: 'With microseconds; each fill of a market has its own.',
  examples: ['2026-10-01T12:00:00.000001Z'],
} as const;

/** A non-negative integer as decimal text; money and tokens in answers. */
export const UNITS = { type: 'string', pattern: '^(?:0|[1-9][0-9]*)$', examples: ['6500000'] } as const;
/** An integer as decimal text that may be negative: a change, or a debt. */
export const SIGNED_UNITS = { type: 'string', pattern: '^(?:0|-?[1-9][0-9]*)$', examples: ['6500000'] } as const;
/** USDC per token, exact: "0.65". */
export const PRICE = { type: 'string', pattern: '^[0-9]+(?:\\.[0-9]+)?$', examples: ['0.65'] } as const;
/** In brackets of a regular expression: what no text that people read has (RULES.md 9.4). */
export const HIDDEN = '\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\u2800';
/**
 * One line of text that people read. It has no control or format characters, which control a terminal or hide other
 * text, no line separators, no unpaired surrogates, and no other invisible characters except the two selectors of how
 * an emoji is drawn (RULES.md 9.4).
 */
export const LINE = { pattern: `^(?:[\\ufe0e\\ufe0f]|[^${HIDDEN}])*$` } as const;
/** The same of text that has several lines: ends of lines and tabs besides. */
export const LINES = { pattern: `^(?:[\\n\\r\\t\\ufe0e\\ufe0f]|[^${HIDDEN}])*$` } as const;
export const TEXT = { type: 'string' } as const;
export const TITLE = { type: 'string', examples: ['Will it rain tomorrow?'] } as const;
/** An exact amount of dollars, in the shortest form. */
export const USD = { type: 'string', pattern: '^[0-9]+(?:\\.[0-9]{1,6})?$', examples: ['6.5'] } as const;
/** The public name of an account (RULES.md 13.3). */
export const HANDLE = { type: 'string', examples: ['anon-K7QD'] } as const;
export const MESSAGE_TEXT = { type: 'string', examples: ['done'] } as const;
export const COUNT = { type: 'integer', minimum: 0 } as const;
/** An object whose members belong to another schema, or differ from case to case. */
export const ANY_MEMBERS = { type: 'object', additionalProperties: true } as const;
export const FLAG = { type: 'boolean' } as const;
export const MARKET_SEQUENCE = { type: 'integer', minimum: 0, examples: [1042] } as const;

export const OUTCOME_INDEX = { type: 'integer', enum: [OUTCOME.YES, OUTCOME.NO] } as const;
export const SIDE_FIELD = { type: 'string', enum: SIDE_NAMES } as const;

/**
 * RULES.md 7.7 and 7.9. The name of a group is also a segment of a path, so it has no character that a path would
 * encode.
 */
export const CLIENT_ORDER_ID_FORM = '^[ -~]{1,64}$';
export const GROUP_NAME_FORM = '^[A-Za-z0-9._~-]{1,64}$';
export const CLIENT_ORDER_ID = { type: 'string', pattern: CLIENT_ORDER_ID_FORM, examples: ['quote 17'] } as const;
export const GROUP_NAME = { type: 'string', pattern: GROUP_NAME_FORM, examples: ['quotes'] } as const;

export const OFFSET = { type: 'integer', minimum: 0, default: 0, description: 'So many rows are left out.' } as const;
export const CHAIN_ID = { type: 'integer', minimum: 1, maximum: MAX_SAFE, examples: [31_337] } as const;
