/**
 * The one table of refusals. Row order is precedence: when several errors apply, the first row is answered (RULES.md
 * 6.5). `test/unit/engine/core/admission.test.ts` proves it with an order that is wrong in every way and is corrected
 * one fault at a time.
 *
 * A row has its permanent number (it travels in rings and journals, is never used again and survives moving its row),
 * the code that clients see, the HTTP status, the default message (part of the contract, never reworded), and whether
 * an idempotency key keeps this answer: always, only where a request has many orders, or never (RULES.md 6.7).
 */
import { assert } from './assert.ts';
import { namesOf, recordOf } from './namesOf.ts';

export type Storable = 'always' | 'batch' | 'never';

type Row = {
  readonly number: number;
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly storable: Storable;
};

function row(number: number, code: string, status: number, message: string, storable: Storable = 'always'): Row {
  return { number, code, status, message, storable };
}

export const ERRORS = {
  // 100 transport
  PAYLOAD_TOO_LARGE: row(100, 'PAYLOAD_TOO_LARGE', 413, 'request body too large'),
  PATH_NOT_FOUND: row(101, 'NOT_FOUND', 404, 'not found'),
  METHOD_NOT_ALLOWED: row(102, 'METHOD_NOT_ALLOWED', 405, 'method not allowed'),
  MALFORMED_REQUEST: row(103, 'VALIDATION_ERROR', 400, 'malformed request'),
  TWO_CREDENTIALS: row(104, 'VALIDATION_ERROR', 400, 'API key headers and a bearer token exclude each other'),

  // 200 identity
  MISSING_API_KEY_HEADERS: row(200, 'UNAUTHORIZED', 401, 'missing required API key headers'),
  UNSUPPORTED_SIGNING_VERSION: row(201, 'UNAUTHORIZED', 401, 'unsupported signing version'),
  INVALID_API_KEY: row(202, 'API_KEY_UNAUTHORIZED', 401, 'invalid API key'),
  API_KEY_REVOKED: row(203, 'API_KEY_UNAUTHORIZED', 401, 'API key is revoked or expired'),
  INVALID_TIMESTAMP: row(204, 'UNAUTHORIZED', 401, 'invalid timestamp'),
  TIMESTAMP_OUTSIDE_WINDOW: row(205, 'UNAUTHORIZED', 401, 'timestamp outside acceptable window'),
  INVALID_PASSPHRASE: row(206, 'UNAUTHORIZED', 401, 'invalid passphrase'),
  INVALID_HMAC_SIGNATURE: row(207, 'UNAUTHORIZED', 401, 'invalid signature'),
  INVALID_NONCE: row(208, 'UNAUTHORIZED', 401, 'invalid nonce'),
  NONCE_USED: row(209, 'UNAUTHORIZED', 401, 'nonce already used'),
  SIGNATURE_USED: row(214, 'UNAUTHORIZED', 401, 'signature already used'),
  INVALID_ACCESS_TOKEN: row(215, 'UNAUTHORIZED', 401, 'invalid access token'),
  ACCESS_TOKEN_EXPIRED: row(216, 'UNAUTHORIZED', 401, 'access token has expired'),
  SESSION_ENDED: row(217, 'UNAUTHORIZED', 401, 'session has ended'),
  INVALID_REFRESH_TOKEN: row(218, 'UNAUTHORIZED', 401, 'invalid refresh token'),
  INVALID_TICKET: row(219, 'UNAUTHORIZED', 401, 'invalid ticket'),
  SESSION_REQUIRED: row(220, 'FORBIDDEN', 403, 'only a session may do this'),
  OTHER_SITE: row(221, 'FORBIDDEN', 403, 'the request comes from another site'),
  WALLET_REMOVED: row(222, 'FORBIDDEN', 403, 'the wallet was removed from its account'),
  STEP_UP_REQUIRED: row(223, 'STEP_UP_REQUIRED', 403, 'prove with a sign-in or a wallet that it is still you'),
  INVALID_CODE: row(231, 'UNAUTHORIZED', 401, 'invalid code'),
  PROVIDER_UNAVAILABLE: row(230, 'PROVIDER_UNAVAILABLE', 503, 'the sign-in provider does not answer', 'never'),
  INVALID_ADMIN_TOKEN: row(210, 'UNAUTHORIZED', 401, 'invalid admin token'),
  IP_BLOCKED: row(212, 'FORBIDDEN', 403, 'this address is not allowed for the API key'),
  INSUFFICIENT_SCOPE: row(211, 'INSUFFICIENT_SCOPE', 403, 'API key lacks the required scope'),
  INSUFFICIENT_ROLE: row(213, 'INSUFFICIENT_ROLE', 403, 'operator lacks the required role'),

  // 300 admission
  RATE_LIMITED: row(300, 'RATE_LIMITED', 429, 'rate limit exceeded', 'never'),
  RATE_LIMIT_DEPENDENCY_UNAVAILABLE: row(
    301,
    'RATE_LIMIT_DEPENDENCY_UNAVAILABLE',
    429,
    'rate limit authority unavailable',
  ),
  PLATFORM_PAUSED: row(302, 'PLATFORM_PAUSED', 503, 'platform is paused', 'batch'),
  NOT_MATCHING_LEADER: row(303, 'NOT_MATCHING_LEADER', 503, 'not the matching leader', 'batch'),
  SETTLEMENT_UNHEALTHY: row(304, 'SETTLEMENT_UNHEALTHY', 503, 'settlement is unhealthy', 'batch'),

  TRADING_TIMEOUT_ACTIVE: row(305, 'TRADING_TIMEOUT_ACTIVE', 423, 'trading timeout active'),

  FIAT_UNAVAILABLE: row(308, 'FIAT_UNAVAILABLE', 503, 'cashing in and out is not available now', 'never'),
  FUNDING_UNAVAILABLE: row(309, 'FUNDING_UNAVAILABLE', 503, 'no deposit can be authorized now', 'never'),

  // 400 request form; the key comes before the form of the body, because a refusal of form is an answer it keeps
  IDEMPOTENCY_KEY_MALFORMED: row(420, 'IDEMPOTENCY_KEY_MALFORMED', 400, 'idempotency key is not a UUID'),
  IDEMPOTENCY_KEY_PAYLOAD_MISMATCH: row(
    421,
    'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH',
    409,
    'idempotency key was used with another payload',
    'never',
  ),
  SEARCH_TOO_BROAD: row(
    416,
    'SEARCH_TOO_BROAD',
    400,
    'the words of the search are too common: write more of each, or fewer of them',
    'never',
  ),
  IDEMPOTENCY_KEY_IN_PROGRESS: row(
    422,
    'IDEMPOTENCY_KEY_IN_PROGRESS',
    409,
    'the request with this idempotency key is still in flight',
    'never',
  ),
  VALIDATION_ERROR: row(400, 'VALIDATION_ERROR', 400, 'invalid request'),
  // The schema finds the next four, and gateway/http/validate.ts words them by the name of the field. The rows give
  // them their numbers in records (gateway/stream/errorNumbers.ts) and their place in this order.
  INVALID_SIDE: row(401, 'VALIDATION_ERROR', 400, 'invalid side'),
  INVALID_MAKER_AMOUNT: row(402, 'VALIDATION_ERROR', 400, 'invalid maker_amount'),
  INVALID_TAKER_AMOUNT: row(403, 'VALIDATION_ERROR', 400, 'invalid taker_amount'),
  INVALID_TIME_IN_FORCE: row(404, 'VALIDATION_ERROR', 400, 'invalid time_in_force'),
  GTD_NEEDS_EXPIRATION: row(405, 'VALIDATION_ERROR', 400, 'GTD orders require an expiration time'),
  INVALID_REQUEST: row(406, 'INVALID_REQUEST', 400, 'invalid request'),
  INVALID_INPUT: row(407, 'INVALID_INPUT', 400, 'invalid input'),
  TOO_MANY_ORDERS: row(411, 'INVALID_REQUEST', 400, 'too many orders (max 15)'),
  FAR_TOO_MANY_ORDERS: row(412, 'INVALID_REQUEST', 400, 'too many orders (max 50)'),
  TOO_MANY_HASHES: row(413, 'INVALID_REQUEST', 400, 'too many order hashes (max 200)'),
  NO_ORDERS: row(414, 'VALIDATION_ERROR', 400, 'no orders provided'),
  NO_ORDER_HASHES: row(415, 'VALIDATION_ERROR', 400, 'no order hashes provided'),
  AMEND_RESIGN_REQUIRED: row(
    512,
    'AMEND_RESIGN_REQUIRED',
    422,
    'a change of amounts needs new_order, signed again over the new amounts',
  ),
  NO_HISTORY: row(417, 'NOT_FOUND', 404, 'no history is published here'),
  RESOURCE_NOT_FOUND: row(408, 'NOT_FOUND', 404, 'not found'),
  MARKET_NOT_FOUND: row(409, 'NOT_FOUND', 404, 'market not found'),
  RANGE_NOT_SATISFIABLE: row(418, 'VALIDATION_ERROR', 416, 'the file has no such part'),
  CONFLICT: row(410, 'CONFLICT', 409, 'conflict'),
  ACCOUNT_FROZEN: row(306, 'ACCOUNT_FROZEN', 403, 'the account is frozen'),
  ACCOUNT_CLOSE_ONLY: row(307, 'ACCOUNT_CLOSE_ONLY', 403, 'the account may only reduce its positions'),

  // 500 order form
  DUPLICATE_ORDER: row(500, 'ORDER_PLACEMENT_FAILED', 409, 'duplicate order'),
  ORDER_TOMBSTONED: row(509, 'ORDER_TOMBSTONED', 409, 'order cancelled before arrival'),
  DEADLINE_PASSED: row(510, 'DEADLINE_PASSED', 400, 'deadline passed'),
  DUPLICATE_CLIENT_ORDER_ID: row(511, 'DUPLICATE_CLIENT_ORDER_ID', 409, 'client_order_id is used by an open order'),
  MARKET_NOT_ACTIVE: row(501, 'MARKET_NOT_ACTIVE', 400, 'market not active'),
  CANCEL_ONLY_PHASE: row(514, 'CANCEL_ONLY_PHASE', 503, 'the market takes nothing but cancels now', 'never'),
  ORDER_EXPIRED: row(502, 'ORDER_EXPIRED', 400, 'order already expired'),
  INVALID_TICK: row(503, 'INVALID_TICK', 400, 'price is not a multiple of the tick size'),
  INVALID_LOT: row(504, 'INVALID_LOT', 400, 'amount is not a multiple of the lot size'),
  BELOW_MIN_SIZE: row(505, 'BELOW_MIN_SIZE', 400, 'order below minimum size'),
  INVALID_SIGNATURE: row(506, 'INVALID_SIGNATURE', 400, 'invalid order signature'),
  FORBIDDEN: row(507, 'FORBIDDEN', 403, 'maker is not a wallet of this account'),
  NONCE_BELOW_FLOOR: row(515, 'NONCE_BELOW_FLOOR', 400, 'nonce is below the floor of the wallet'),
  FEE_RATE_MISMATCH: row(508, 'FEE_RATE_MISMATCH', 422, 'fee_rate_bps mismatch'),
  REPLACES_ANOTHER_MARKET: row(513, 'VALIDATION_ERROR', 400, 'new_order is for another market, outcome or side'),

  // 600 risk and state
  ORDER_NOT_FOUND: row(600, 'NOT_FOUND', 404, 'order not found'),
  ORDER_NOT_CANCELLABLE: row(601, 'ORDER_NOT_CANCELLABLE', 409, 'order cannot be cancelled'),
  REMAINING_CHANGED: row(612, 'REMAINING_CHANGED', 409, 'another amount remains of the order'),
  ORDER_GROUP_TRIGGERED: row(605, 'ORDER_GROUP_TRIGGERED', 400, 'the order group has reached its limit'),
  TOO_MANY_OPEN_ORDERS: row(608, 'TOO_MANY_OPEN_ORDERS', 400, 'too many open orders'),
  ORDER_CAPACITY_REACHED: row(
    609,
    'ORDER_CAPACITY_REACHED',
    503,
    'there is no room for further orders of this account',
    'never',
  ),
  TIMEOUT_ALREADY_ACTIVE: row(606, 'TIMEOUT_ALREADY_ACTIVE', 409, 'a trading timeout is already active'),
  NO_ACTIVE_TIMEOUT: row(607, 'NO_ACTIVE_TIMEOUT', 404, 'no active timeout'),
  INSUFFICIENT_BALANCE: row(602, 'INSUFFICIENT_BALANCE', 400, 'insufficient balance'),
  INVALID_TRANSITION: row(603, 'CONFLICT', 409, 'market status does not allow this'),
  OTHER_STAGE: row(610, 'CONFLICT', 409, 'the stage is another one than the step comes from'),
  SECOND_OPERATOR_REQUIRED: row(620, 'SECOND_OPERATOR_REQUIRED', 403, 'another operator has to decide this'),
  NOT_A_SET: row(614, 'NOT_A_SET', 409, 'the event is not a set'),
  SETS_UNAVAILABLE: row(616, 'SETS_UNAVAILABLE', 409, 'event sets are not available here'),
  MEMBER_OF_SET: row(613, 'MEMBER_OF_SET', 409, 'the market belongs to a set, which is changed and decided as a whole'),
  TOO_FEW_MEMBERS: row(615, 'TOO_FEW_MEMBERS', 409, 'at least two markets of a set stay until it is decided'),
  NOTHING_TO_CLAIM: row(604, 'NOT_FOUND', 404, 'nothing to claim'),

  // 700 matching
  POST_ONLY_PHASE: row(704, 'POST_ONLY_PHASE', 503, 'only orders that do not cross are taken now', 'never'),
  POST_ONLY_WOULD_CROSS: row(700, 'POST_ONLY_WOULD_CROSS', 400, 'post-only order would cross the book'),
  FOK_NOT_FILLED: row(701, 'FOK_NOT_FILLED', 400, 'FOK order could not be fully filled'),
  FAK_NO_FILL: row(702, 'FAK_NO_FILL', 400, 'FAK order had no immediate fills'),
  MIN_NET_NOT_MET: row(703, 'MIN_NET_NOT_MET', 400, 'minimum net not met'),

  // 900 anywhere
  ENGINE_BUSY: row(900, 'ENGINE_BUSY', 503, 'the engine is busy', 'never'),
  OUTCOME_UNKNOWN: row(901, 'OUTCOME_UNKNOWN', 503, 'the outcome is unknown; retry with the same request', 'never'),
  INTERNAL_ERROR: row(902, 'INTERNAL_ERROR', 500, 'internal error'),
} as const satisfies Record<string, Row>;

export type ErrorKey = keyof typeof ERRORS;
export type ErrorRow = Row;

/** Numbers as they travel in rings and journal: `E.DUPLICATE_ORDER` is 500. Zero is success. */
export const E: Readonly<Record<ErrorKey, number>> = recordOf(namesOf(ERRORS), (key): number => ERRORS[key].number);
export const OK = 0;

const BY_NUMBER = new Map<number, Row>(Object.values(ERRORS).map((value) => [value.number, value]));
assert(BY_NUMBER.size === Object.keys(ERRORS).length, 'errors: no number is used twice');

/** The row of a number that came out of a ring; an unknown number is an internal error, never a crash. */
export function errorRow(number: number): Row {
  return BY_NUMBER.get(number) ?? ERRORS.INTERNAL_ERROR;
}
