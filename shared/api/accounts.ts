/**
 * Schemas of an account's balances, limits and preferences, and of the administrator's commands for users and their
 * funds.
 */

import { ACCOUNT_STATE_NAMES, MAX_OPEN_ORDERS, MOVEMENT_NAMES, SELF_TRADE_NAMES } from '../base/codes.ts';
import { namesOf } from '../base/namesOf.ts';
import { COMPARED_CHAIN } from './chainMoney.ts';
import {
  ADDRESS,
  AMOUNT,
  COUNT,
  FLAG,
  HASH,
  HIDDEN,
  LINE,
  MESSAGE_TEXT,
  OUTCOME_INDEX,
  SIGNED_UNITS,
  TIME,
  UNITS,
  UUID,
} from './fields.ts';
import { arrayOf, described, type FromSchema, inUnit, object, orNull } from './schema.ts';

/** The rights that a key may have. */
export const SCOPE_NAMES = [
  'read:account',
  'trade:orders',
  'trade:bulk',
  'stream:market',
  'stream:user',
  'manage:account',
] as const;
export type Scope = (typeof SCOPE_NAMES)[number];

/** The number of requests that a key of each tier may send to each endpoint (RULES.md 4.6). */
export const TIER_REQUESTS_PER_SECOND = { standard: 10, premium: 50, market_maker: 100 } as const;
export type TierName = keyof typeof TIER_REQUESTS_PER_SECOND;
export const TIER_NAMES = namesOf(TIER_REQUESTS_PER_SECOND);

const MICRO = inUnit(UNITS, 'micro-USDC');
const ATOMIC = inUnit(UNITS, 'atomic tokens (10^-6)');
const USDC_HOLDING = object({ available: MICRO, reserved: MICRO });

export const BALANCES = object({
  usdc: USDC_HOLDING,
  tokens: arrayOf(object({ market_id: UUID, outcome_index: OUTCOME_INDEX, available: ATOMIC, reserved: ATOMIC })),
});
export type Balances = FromSchema<typeof BALANCES>;

export const CONVERSION = {
  type: 'object',
  additionalProperties: false,
  required: ['amount'],
  properties: { amount: AMOUNT },
} as const;
/** The answer of split and merge. */
export const FULL_SETS = object(
  { message: MESSAGE_TEXT, market_id: UUID, amount: AMOUNT },
  { fee_usdc_micro: described(UNITS, 'With a chain: what the account has paid for it beside the amount.') },
);
export type FullSets = FromSchema<typeof FULL_SETS>;

/** The payout of the account's tokens of one outcome of a decided market. */
export const REDEEMABLE = object({
  market_id: UUID,
  outcome_index: OUTCOME_INDEX,
  quantity: UNITS,
  payout: UNITS,
  resolution: { type: 'string', examples: ['Yes'] },
  resolved_at: TIME,
});
export type Redeemable = FromSchema<typeof REDEEMABLE>;
export const REDEEMABLES = arrayOf(REDEEMABLE);
export type Redeemables = FromSchema<typeof REDEEMABLES>;

export const CLAIM_RESPONSE = object({ message: MESSAGE_TEXT, market_id: UUID, tx_hash: orNull(HASH) });
export type ClaimResponse = FromSchema<typeof CLAIM_RESPONSE>;

const RATE_LIMIT_FIELDS = { requests: COUNT, window_seconds: COUNT } as const;
export const RATE_LIMIT = object(RATE_LIMIT_FIELDS);
export type RateLimit = FromSchema<typeof RATE_LIMIT>;
export const RATE_LIMITS = object({
  /** Null for a session. */
  tier: { type: ['string', 'null'], enum: [...TIER_NAMES, null] },
  rate_limit_override: orNull(RATE_LIMIT),
  enforced: FLAG,
  address: {
    type: 'string',
    description: 'The address of the client, as the exchange sees it.',
    examples: ['203.0.113.9'],
  },
  unread_forwarded_for: {
    type: ['string', 'null'],
    description: 'What a proxy of the exchange wrote as the address and is none: then `address` is the proxy.',
    examples: [null],
  },
  limits: arrayOf(
    object({
      method: { type: 'string', examples: ['POST'] },
      path: { type: 'string', examples: ['/v1/orders'] },
      ...RATE_LIMIT_FIELDS,
      remaining: inUnit(COUNT, 'requests'),
      reset: { type: 'integer', description: 'Unix seconds.', examples: [1_790_856_000] },
    }),
  ),
});
export type RateLimits = FromSchema<typeof RATE_LIMITS>;

const OPEN_ORDERS = { type: 'integer', minimum: 1, maximum: MAX_OPEN_ORDERS, examples: [10_000] } as const;
export const OPEN_ORDER_BOUNDS = object({ max_open_orders: OPEN_ORDERS, max_open_orders_per_market: OPEN_ORDERS });
export type OpenOrderBounds = FromSchema<typeof OPEN_ORDER_BOUNDS>;
const OWN_OPEN_ORDERS = { ...OPEN_ORDERS, type: ['integer', 'null'] } as const;
export const OPEN_ORDER_BOUNDS_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['max_open_orders', 'max_open_orders_per_market'],
  properties: { max_open_orders: OWN_OPEN_ORDERS, max_open_orders_per_market: OWN_OPEN_ORDERS },
} as const;

export const REALITY_CHECK_MINUTES = [15, 30, 60, 120] as const;
export const SESSION_TIMEOUT_MINUTES = [60, 120, 240, 480] as const;
const DURATION_LABELS = ['24h', '7d', '30d', 'custom'] as const;
export const MAX_CUSTOM_HOURS = 8760;

/** Null: no reminder. */
const REALITY_CHECK = { type: ['integer', 'null'], enum: [...REALITY_CHECK_MINUTES, null] } as const;
const SESSION_TIMEOUT = { type: ['integer', 'null'], enum: [...SESSION_TIMEOUT_MINUTES, null] } as const;
export const PREFERENCES = object({
  reality_check_interval_minutes: REALITY_CHECK,
  session_timeout_minutes: SESSION_TIMEOUT,
});
export type Preferences = FromSchema<typeof PREFERENCES>;

/** The handlers validate fields and values, because a wrong value has its own error code here. */
export const PREFERENCES_BODY = {
  type: 'object',
  properties: { reality_check_interval_minutes: {}, session_timeout_minutes: {} },
} as const;
export const PREFERENCES_BODY_DOCUMENTED = {
  type: 'object',
  additionalProperties: false,
  properties: { reality_check_interval_minutes: REALITY_CHECK, session_timeout_minutes: SESSION_TIMEOUT },
} as const;
export const TIMEOUT_BODY = { type: 'object', properties: { duration_label: {}, custom_hours: {} } } as const;
export const TIMEOUT_BODY_DOCUMENTED = {
  type: 'object',
  additionalProperties: false,
  required: ['duration_label'],
  properties: {
    duration_label: { type: 'string', enum: DURATION_LABELS },
    custom_hours: {
      type: ['integer', 'null'],
      minimum: 1,
      maximum: MAX_CUSTOM_HOURS,
      description: 'Required by the label custom, and for no other.',
      examples: [null],
    },
  },
} as const;
export type NewTimeout = FromSchema<typeof TIMEOUT_BODY_DOCUMENTED>;

const TIMEOUT_FIELDS = {
  id: UUID,
  started_at: TIME,
  ends_at: TIME,
  duration_label: { type: 'string', enum: DURATION_LABELS },
} as const;
export const TRADING_TIMEOUT = object(TIMEOUT_FIELDS);
export type TradingTimeout = FromSchema<typeof TRADING_TIMEOUT>;
export const ACTIVE_TIMEOUT = orNull(TRADING_TIMEOUT);
export const CANCELLED_TIMEOUT = object({ ...TIMEOUT_FIELDS, cancelled_at: TIME });
export type CancelledTimeout = FromSchema<typeof CANCELLED_TIMEOUT>;

export const DISPLAY_NAME = { type: 'string', minLength: 1, maxLength: 100, ...LINE, examples: ['Ada'] } as const;
export const EMAIL = {
  type: 'string',
  maxLength: 254,
  pattern: `^[^@\\s${HIDDEN}]+@[^@\\s${HIDDEN}]+$`,
  examples: ['ada@example.org'],
} as const;
const ROLE = { type: 'string', pattern: '^[a-z][a-z_]{0,31}$', examples: ['user'] } as const;

export const NEW_USER = {
  type: 'object',
  additionalProperties: false,
  properties: {
    display_name: DISPLAY_NAME,
    email: EMAIL,
    wallet_address: ADDRESS,
    role: ROLE,
    referral_code: { type: 'string', minLength: 1, maxLength: 32, examples: ['H7K2M9QX'] },
  },
} as const;
export type NewUser = FromSchema<typeof NEW_USER>;

const STATE = { type: 'string', enum: ACCOUNT_STATE_NAMES } as const;
const PROFILE_FIELDS = {
  id: UUID,
  state: STATE,
  email: orNull(EMAIL),
  display_name: orNull(DISPLAY_NAME),
  wallet_address: orNull(ADDRESS),
  linked_wallets: arrayOf(ADDRESS),
  role: ROLE,
  referral_code: { type: 'string', examples: ['H7K2M9QX'] },
  created_at: TIME,
} as const;
export const PROFILE = object(PROFILE_FIELDS);
export type Profile = FromSchema<typeof PROFILE>;
export const REFERRAL = object({
  referral_code: PROFILE_FIELDS.referral_code,
  referrals_count: COUNT,
  is_referred: FLAG,
  referred_by: described(orNull(UUID), 'The id of the user whose code it was.'),
});
export type Referral = FromSchema<typeof REFERRAL>;
export const PROFILE_WITH_BALANCE = object({ ...PROFILE_FIELDS, usdc: USDC_HOLDING });
export type ProfileWithBalance = FromSchema<typeof PROFILE_WITH_BALANCE>;

/** The whole profile, after a wallet, a delegate or a right was taken from the account. */
export const RESTRICTED = object({
  ...PROFILE_FIELDS,
  orders_cancelled: COUNT,
  is_complete: {
    type: 'boolean',
    description: 'False while a shard is away: it cancels the other orders before it trades again.',
  },
});
export type Restricted = FromSchema<typeof RESTRICTED>;

export const ACCOUNT_STATE_BODY = {
  type: 'object',
  additionalProperties: false,
  required: ['state'],
  properties: { state: STATE },
} as const;
export type AccountStateName = (typeof ACCOUNT_STATE_NAMES)[number];

export const USER_QUERY = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    cursor: { type: 'integer', minimum: 0, description: 'The `next_cursor` of the page before.', examples: [100] },
    wallet: described(ADDRESS, 'Only the account that owns this wallet, or ever owned it.'),
  },
} as const;
export const USER_PAGE = object({
  users: arrayOf(PROFILE),
  next_cursor: orNull({ type: 'integer', examples: [100] }),
});
export type UserPage = FromSchema<typeof USER_PAGE>;

export const WALLETS = object({ wallets: arrayOf(ADDRESS) });
export type Wallets = FromSchema<typeof WALLETS>;

export const WALLET = {
  type: 'object',
  additionalProperties: false,
  required: ['address'],
  properties: { address: ADDRESS },
} as const;

/** `signer` may sign orders that `maker` pays for. */
export const DELEGATE = {
  type: 'object',
  additionalProperties: false,
  required: ['maker', 'signer'],
  properties: { maker: ADDRESS, signer: ADDRESS },
} as const;
export type Delegate = FromSchema<typeof DELEGATE>;
export const DELEGATES = object({ delegates: arrayOf(DELEGATE) });
export type Delegates = FromSchema<typeof DELEGATES>;

export const NEW_API_KEY = {
  type: 'object',
  additionalProperties: false,
  required: ['scopes'],
  properties: {
    scopes: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: SCOPE_NAMES } },
    tier: { type: 'string', enum: TIER_NAMES },
    rate_limit_override: {
      type: ['object', 'null'],
      additionalProperties: false,
      required: ['requests', 'window_seconds'],
      properties: {
        requests: { type: 'integer', minimum: 1, maximum: 1_000_000, examples: [200] },
        window_seconds: { type: 'integer', minimum: 1, maximum: 86_400, examples: [1] },
      },
    },
    expires_at: { type: ['string', 'null'], format: 'date-time', examples: [null] },
    require_signing_version: {
      type: ['integer', 'null'],
      enum: [1, 2, null],
      description: '2 when left out; null admits both.',
    },
    self_trade_prevention: { type: 'string', enum: SELF_TRADE_NAMES },
    allowed_ips: {
      type: ['array', 'null'],
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      items: { type: 'string', maxLength: 50, examples: ['10.0.0.0/8'] },
      description: 'Addresses and networks from which the key may be used; everywhere when left out.',
    },
  },
} as const;
export type NewApiKey = FromSchema<typeof NEW_API_KEY>;

const KEY_FIELDS = {
  key_id: { type: 'string', examples: ['key_Zm9vYmFyYmF6cXV1'] },
  scopes: arrayOf({ type: 'string', enum: SCOPE_NAMES }),
  tier: { type: 'string', enum: TIER_NAMES },
  rate_limit_override: orNull(RATE_LIMIT),
  expires_at: orNull(TIME),
  require_signing_version: orNull({ type: 'integer', enum: [1, 2] }),
  self_trade_prevention: { type: 'string', enum: SELF_TRADE_NAMES },
  allowed_ips: orNull(arrayOf({ type: 'string', examples: ['10.0.0.0/8'] })),
} as const;
export const KNOWN_API_KEY = object({ ...KEY_FIELDS, created_at: TIME, revoked_at: orNull(TIME) });
export const API_KEYS = object({ api_keys: arrayOf(KNOWN_API_KEY) });
export type ApiKeyList = FromSchema<typeof API_KEYS>;

const SECRET_FIELDS = {
  secret: {
    type: 'string',
    description: 'Shown this once.',
    examples: ['c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ'],
  },
  passphrase: { type: 'string', description: 'Shown this once.', examples: ['cGFzc3BocmFzZS1wYXNzcGhyYXNl'] },
} as const;
export const ISSUED_API_KEY = object({
  ...KEY_FIELDS,
  ...SECRET_FIELDS,
});
export type IssuedApiKey = FromSchema<typeof ISSUED_API_KEY>;
export const ROTATED_API_KEY = object({ key_id: KEY_FIELDS.key_id, ...SECRET_FIELDS });
export type RotatedApiKey = FromSchema<typeof ROTATED_API_KEY>;

const REFERENCE = { type: 'string', pattern: '^[ -~]{1,128}$', examples: ['wire 2026-10-01 17'] } as const;
/** A reference is unique: repeating it answers the first movement again instead of moving money twice. */
export const NEW_MOVEMENT = {
  type: 'object',
  additionalProperties: false,
  required: ['amount_usdc_micro'],
  properties: {
    amount_usdc_micro: { type: 'string', pattern: '^[1-9][0-9]{0,15}$', examples: ['100000000'] },
    // RULES.md 16.40 and 17.21: the exchange's own references begin with these texts.
    reference: { ...REFERENCE, pattern: '^(?!fiat:|rail:|chain:)[ -~]{1,128}$' },
  },
} as const;
export type NewMovement = FromSchema<typeof NEW_MOVEMENT>;

export const FUND_MOVEMENT = object(
  {
    id: UUID,
    type: { type: 'string', enum: MOVEMENT_NAMES },
    amount_usdc_micro: UNITS,
    reference: REFERENCE,
    status: described(
      { type: 'string', enum: ['pending', 'completed', 'refused'], examples: ['completed'] },
      'With a chain a withdrawal is pending here: `GET /v1/user/fund-movements` says when it is paid.',
    ),
    created_at: TIME,
  },
  {
    fee_usdc_micro: described(
      UNITS,
      'Of a withdrawal with a chain: what the account has paid for it beside the amount.',
    ),
  },
);
export type FundMovement = FromSchema<typeof FUND_MOVEMENT>;

export const LEDGER = object(
  {
    balanced: FLAG,
    total_usdc_micro: SIGNED_UNITS,
    accounts_usdc_micro: SIGNED_UNITS,
    fees_usdc_micro: SIGNED_UNITS,
    collateral_usdc_micro: SIGNED_UNITS,
    sets: arrayOf(object({ market_id: UUID, yes_atomic: SIGNED_UNITS, no_atomic: SIGNED_UNITS })),
  },
  { chain: COMPARED_CHAIN },
);
export type Ledger = FromSchema<typeof LEDGER>;
