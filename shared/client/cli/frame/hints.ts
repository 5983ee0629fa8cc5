/** Remedies for refusals, by code, and by message if a code has several causes. */

type Hint = { readonly code: string; readonly message?: string; readonly hint: string };

const SIGN_IN = 'sign in again with `pmx login`; `pmx doctor` says what is wrong with a key';

/** The first matching hint is used. */
const HINTS: readonly Hint[] = [
  {
    code: 'UNAUTHORIZED',
    message: 'timestamp outside acceptable window',
    hint: 'set the clock; `pmx doctor` measures it',
  },
  { code: 'UNAUTHORIZED', message: 'invalid admin token', hint: 'check ADMIN_TOKEN, or `pmx login --operator` again' },
  { code: 'UNAUTHORIZED', hint: SIGN_IN },
  { code: 'API_KEY_UNAUTHORIZED', hint: SIGN_IN },
  { code: 'STEP_UP_REQUIRED', hint: 'give your wallet again: `pmx wallet step-up`, then repeat the command' },
  { code: 'INSUFFICIENT_SCOPE', hint: 'use a key with this scope; `pmx doctor` lists the scopes of yours' },
  { code: 'INSUFFICIENT_ROLE', hint: 'an operator with this role has to do it; `pmx admin operators` lists them' },
  { code: 'INSUFFICIENT_BALANCE', hint: '`pmx balances` shows what is available; open orders reserve the rest' },
  { code: 'INVALID_TICK', hint: '`pmx markets show MARKET` has the tick and the lot' },
  { code: 'INVALID_LOT', hint: '`pmx markets show MARKET` has the tick and the lot' },
  { code: 'BELOW_MIN_SIZE', hint: '`pmx markets show MARKET` has the smallest size' },
  { code: 'INVALID_SIGNATURE', hint: '`pmx doctor` tries a signature without placing an order' },
  { code: 'FORBIDDEN', message: 'maker is not a wallet of this account', hint: 'link the wallet: `pmx wallet link`' },
  { code: 'NOT_FOUND', message: 'market not found', hint: '`pmx markets search WORDS` finds it' },
  { code: 'NOT_FOUND', message: 'order not found', hint: '`pmx orders` lists yours with their hashes' },
  { code: 'MARKET_NOT_ACTIVE', hint: '`pmx markets show MARKET` has its status' },
  { code: 'FEE_RATE_MISMATCH', hint: 'the fee has changed: sign the order again' },
  { code: 'PLATFORM_PAUSED', hint: 'cancels still work; try again later' },
  { code: 'TRADING_TIMEOUT_ACTIVE', hint: '`pmx timeout show` says until when' },
  { code: 'ACCOUNT_FROZEN', hint: 'ask the operator of the exchange' },
  { code: 'ACCOUNT_CLOSE_ONLY', hint: 'orders that reduce a position are accepted' },
  { code: 'ORDER_GROUP_TRIGGERED', hint: '`pmx groups reset NAME` accepts its orders again' },
  { code: 'VALIDATION_ERROR', message: 'unknown order group', hint: 'make it first: `pmx groups set NAME`' },
  { code: 'RATE_LIMITED', hint: '`pmx limits` shows what is left of every limit' },
  {
    code: 'ORDER_PLACEMENT_FAILED',
    message: 'duplicate order',
    hint: 'it was placed before: `pmx order HASH` shows it',
  },
];

export function hintFor(code: string, message: string): string | undefined {
  return HINTS.find((row) => row.code === code && (row.message === undefined || row.message === message))?.hint;
}
