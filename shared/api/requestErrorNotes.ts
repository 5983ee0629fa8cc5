/** Notes about the errors of any request: transport, identity, limits, form. */
import { note } from './errorNote.ts';

const SIGN_IN = 'Sign in again.';
const READ_DETAILS = 'Read `details`: the field, the rule it breaks and the value that was sent.';
const WAIT = 'Wait for `Retry-After`, then send it again. Cancels and heartbeats are taken meanwhile.';

export const REQUEST_ERROR_NOTES = {
  PAYLOAD_TOO_LARGE: note(
    'changed',
    'The body is over 64 KiB, or over 256 KiB on a batch route.',
    'Send fewer rows in a request.',
  ),
  PATH_NOT_FOUND: note(
    'changed',
    'No route has this path. A trailing slash or an encoded character makes another path.',
    'Compare the path with the reference.',
  ),
  METHOD_NOT_ALLOWED: note('changed', 'The path exists, with other methods.', 'Use a method of the header `Allow`.'),
  MALFORMED_REQUEST: note(
    'changed',
    'The body is no JSON, repeats a key, is too deep, or is sent where the route has none.',
    READ_DETAILS,
  ),
  TWO_CREDENTIALS: note(
    'changed',
    'The request has the headers of an API key and a bearer token.',
    'Send the one or the other.',
  ),

  MISSING_API_KEY_HEADERS: note(
    'signed',
    'The route needs a key, and one of its headers is missing.',
    'Send all of them: see [Signing](signing.md). A person can sign in instead.',
  ),
  UNSUPPORTED_SIGNING_VERSION: note(
    'signed',
    '`X-SVC-SIGNING-VERSION` is neither 1 nor 2, or the key requires the other one.',
    'Use version 2.',
  ),
  INVALID_API_KEY: note('changed', 'No key has this id.', 'Check `X-SVC-API-KEY` and the address of the exchange.'),
  API_KEY_REVOKED: note('changed', 'The key was revoked or has expired.', 'Ask the administrator for another key.'),
  INVALID_TIMESTAMP: note(
    'signed',
    '`X-SVC-TIMESTAMP` is not a whole number of Unix seconds.',
    'Send seconds, not milliseconds.',
  ),
  TIMESTAMP_OUTSIDE_WINDOW: note(
    'signed',
    'The timestamp is more than 30 seconds from the clock of the exchange, or from before its start.',
    'Compare your clock with `server_time` in `details`, or with `GET /v1/time`.',
  ),
  INVALID_PASSPHRASE: note('changed', 'The passphrase is not that of the key.', 'Use the one issued with this key.'),
  INVALID_HMAC_SIGNATURE: note(
    'signed',
    'The signature is not the HMAC of this request under the secret of the key.',
    'Compare your text to sign with the vectors in [Signing](signing.md). The usual causes: the query was left out, ' +
      'the body was formatted again after it was signed, the secret was not decoded.',
  ),
  INVALID_NONCE: note(
    'signed',
    '`X-SVC-NONCE` is missing or not 16 to 64 characters of `A-Z a-z 0-9 _ -`.',
    'Send a fresh random nonce with each request.',
  ),
  NONCE_USED: note(
    'signed',
    'The key has used this nonce in the last 90 seconds.',
    'Sign again. If the first answer was lost, the request may have been carried out.',
  ),
  SIGNATURE_USED: note(
    'signed',
    'The same request was sent twice within a second (signing version 1).',
    'Use signing version 2.',
  ),
  INVALID_ACCESS_TOKEN: note('changed', 'The bearer token is not one of this exchange.', SIGN_IN),
  ACCESS_TOKEN_EXPIRED: note(
    'changed',
    'An access token is valid for 15 minutes.',
    'Refresh the session, then send the request with the new token.',
  ),
  SESSION_ENDED: note('changed', 'The session was signed out, revoked or has ended.', SIGN_IN),
  INVALID_REFRESH_TOKEN: note('changed', 'The refresh token is unknown, was used before, or has expired.', SIGN_IN),
  INVALID_TICKET: note(
    'changed',
    'A ticket opens one socket, once, within 30 seconds.',
    'Ask for another with `POST /v1/auth/ws-ticket`.',
  ),
  SESSION_REQUIRED: note('changed', 'An API key may not do this.', 'Use the access token of a session.'),
  WALLET_REMOVED: note(
    'changed',
    'The wallet was unlinked from its account and signs in no more.',
    'Link it again from that account, or sign in with another.',
  ),
  STEP_UP_REQUIRED: note(
    'later',
    'The last sign-in or wallet proof of the session is older than ten minutes.',
    'Prove a wallet with `POST /v1/auth/step-up`, then send the request again.',
  ),
  OTHER_SITE: note(
    'changed',
    'A browser sent the cookie or a sign-in from a page of another site.',
    'Call from a page of the exchange, or have the operator name your origin.',
  ),
  INVALID_CODE: note('changed', 'The code of the provider is wrong, used or of another sign-in.', 'Start again.'),
  PROVIDER_UNAVAILABLE: note(
    'same',
    'The provider that signs people in does not answer.',
    'Wait for `Retry-After`, or sign in another way.',
  ),
  INVALID_ADMIN_TOKEN: note('changed', 'The token is not that of an operator.', 'Check the token.'),
  IP_BLOCKED: note(
    'later',
    'The key is bound to addresses, and this is none of them.',
    'Call from an allowed address, or have the key changed.',
  ),
  INSUFFICIENT_SCOPE: note(
    'changed',
    'The key or session lacks the scope that the route needs.',
    'Ask for a key with that scope: the reference names it for each route.',
  ),
  INSUFFICIENT_ROLE: note(
    'changed',
    'The operator lacks the role that the route needs.',
    'Ask an operator who has it: the reference names it for each route.',
  ),

  RATE_LIMITED: note(
    'same',
    'The limit of this endpoint is used up, too many order signatures were wrong, or too many accounts are new.',
    'Wait for `Retry-After`. See [Rate limits](rate-limits.md).',
  ),
  RATE_LIMIT_DEPENDENCY_UNAVAILABLE: note(
    'same',
    'The gateways cannot count requests together just now. It says nothing about your quota.',
    'Wait for `Retry-After`. Cancels and heartbeats go on.',
  ),
  PLATFORM_PAUSED: note('same', 'The administrator has paused trading.', WAIT),
  NOT_MATCHING_LEADER: note('same', 'This machine does not match orders now.', WAIT),
  SETTLEMENT_UNHEALTHY: note('same', 'New risk is refused until settlement works again.', WAIT),
  FIAT_UNAVAILABLE: note('same', 'No provider is open, or it does not answer. What is under way goes on.', WAIT),
  FUNDING_UNAVAILABLE: note(
    'same',
    'The chain does not answer, or there is none. Deposit nowhere else meanwhile.',
    WAIT,
  ),
  TRADING_TIMEOUT_ACTIVE: note(
    'later',
    'The account asked not to trade for a while. Cancels work.',
    'Wait until it ends: `Retry-After` says when.',
  ),

  IDEMPOTENCY_KEY_MALFORMED: note('changed', '`Idempotency-Key` is no UUID.', 'Send a UUID.'),
  IDEMPOTENCY_KEY_PAYLOAD_MISMATCH: note(
    'changed',
    'The key was used for another method, path, query or body.',
    'Use one key for one request. Derive it from the content and this cannot happen.',
  ),
  IDEMPOTENCY_KEY_IN_PROGRESS: note(
    'finds',
    'The first request with this key is still being carried out.',
    'Wait a moment and repeat it: you get the answer of the first.',
  ),
  VALIDATION_ERROR: note('changed', 'A field or parameter is missing, unknown or out of its bounds.', READ_DETAILS),
  INVALID_SIDE: note('changed', '`side` is neither `BUY` nor `SELL`.', READ_DETAILS),
  INVALID_MAKER_AMOUNT: note(
    'changed',
    '`maker_amount` is not a text of digits from 1 to 10^15.',
    'Send atomic units as text: `"5500000"` is 5.5. See [Money and units](money.md).',
  ),
  INVALID_TAKER_AMOUNT: note(
    'changed',
    '`taker_amount` is not a text of digits from 1 to 10^15.',
    'Send atomic units as text: `"10000000"` is 10. See [Money and units](money.md).',
  ),
  INVALID_TIME_IN_FORCE: note('changed', '`time_in_force` is not GTC, GTD, FOK or FAK.', READ_DETAILS),
  GTD_NEEDS_EXPIRATION: note(
    'changed',
    'A GTD order has no `expiration`.',
    'Sign it again with an `expiration` in Unix seconds.',
  ),
  INVALID_REQUEST: note('changed', 'The request has more rows than it may.', 'Send fewer rows in a request.'),
  INVALID_INPUT: note('changed', 'A preference is out of its range.', READ_DETAILS),
  TOO_MANY_ORDERS: note('changed', 'A batch has 16 to 50 orders.', 'Send at most 15 in a batch.'),
  FAR_TOO_MANY_ORDERS: note('changed', 'A batch has more than 50 orders.', 'Send at most 15 in a batch.'),
  TOO_MANY_HASHES: note('changed', 'A batch cancel has more than 200 hashes.', 'Send at most 200 in a batch.'),
  NO_ORDERS: note('changed', 'The batch is empty.', 'Send at least one order.'),
  NO_ORDER_HASHES: note('changed', 'The batch is empty.', 'Send at least one hash.'),
  SEARCH_TOO_BROAD: note(
    'changed',
    'A search would have to look at more of the catalogue than one request may.',
    'Write more of each word, or leave the most common ones out.',
  ),
  AMEND_RESIGN_REQUIRED: note(
    'changed',
    'An amend gives amounts without a newly signed order.',
    'Sign an order over the new amounts and send it as `new_order`.',
  ),
  RESOURCE_NOT_FOUND: note(
    'changed',
    'There is no such thing, or it belongs to another account.',
    'Check the id in the path.',
  ),
  NO_HISTORY: note(
    'later',
    'The exchange writes no files of its history.',
    'Ask its operator, who can set `HISTORY_DIR`.',
  ),
  RANGE_NOT_SATISFIABLE: note(
    'changed',
    'The file ends before the part that `Range` asks for.',
    'Compare with the length in the manifest, or in `Content-Range`.',
  ),
  MARKET_NOT_FOUND: note('changed', 'No market has this id.', 'Read `GET /v1/markets`.'),
  CONFLICT: note('later', 'The present state does not allow this. The message says what is in the way.', 'Read it.'),
  ACCOUNT_FROZEN: note(
    'later',
    'The administrator has frozen the account. Cancels and reads work.',
    'Ask the administrator.',
  ),
  ACCOUNT_CLOSE_ONLY: note(
    'later',
    'The account may only reduce its positions, and this would add to one.',
    'Sell what the account holds, merge or cancel.',
  ),

  ENGINE_BUSY: note(
    'same',
    'The exchange cannot take it now: a full queue, a recovering shard, a start, or a disk that is nearly full.',
    'Wait for `Retry-After` and send it again.',
  ),
  OUTCOME_UNKNOWN: note(
    'finds',
    'The acknowledgement was lost in a crash, or not every shard could be reached.',
    'Send the same request again, with the same order and the same `Idempotency-Key`.',
  ),
  INTERNAL_ERROR: note(
    'finds',
    'A fault of the exchange.',
    'Read the order or the balance before you act again. Report it, with the time and the path.',
  ),
} as const;
