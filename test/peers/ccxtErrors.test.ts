/** Every refusal of the exchange has its class of CCXT, and the class is one of those that a program acts on. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { ERRORS } from '../../shared/base/errors.ts';
import { loadCcxt, NO_CCXT } from '../support/ccxtPeer.ts';
import { ROOT } from '../support/server.ts';

/** Named by the rows of shared/base/errors.ts whose class differs from that of the rest of their kind. */
const EXPECTED: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'RateLimitExceeded',
  MARKET_NOT_FOUND: 'BadSymbol',
  ORDER_NOT_FOUND: 'OrderNotFound',
  ORDER_NOT_CANCELLABLE: 'OrderNotFound',
  DUPLICATE_ORDER: 'DuplicateOrderId',
  DUPLICATE_CLIENT_ORDER_ID: 'DuplicateOrderId',
  MARKET_NOT_ACTIVE: 'MarketClosed',
  INSUFFICIENT_BALANCE: 'InsufficientFunds',
  POST_ONLY_WOULD_CROSS: 'OrderImmediatelyFillable',
  FOK_NOT_FILLED: 'OrderNotFillable',
  FAK_NO_FILL: 'OrderNotFillable',
  INVALID_TICK: 'InvalidOrder',
  INVALID_LOT: 'InvalidOrder',
  BELOW_MIN_SIZE: 'InvalidOrder',
  INVALID_SIGNATURE: 'InvalidOrder',
  FEE_RATE_MISMATCH: 'InvalidOrder',
  INVALID_SIDE: 'InvalidOrder',
  TIMESTAMP_OUTSIDE_WINDOW: 'InvalidNonce',
  NONCE_USED: 'InvalidNonce',
  INVALID_API_KEY: 'AuthenticationError',
  INVALID_HMAC_SIGNATURE: 'AuthenticationError',
  INSUFFICIENT_SCOPE: 'PermissionDenied',
  PLATFORM_PAUSED: 'OnMaintenance',
  ENGINE_BUSY: 'ExchangeNotAvailable',
  OUTCOME_UNKNOWN: 'RequestTimeout',
  INTERNAL_ERROR: 'RequestTimeout',
  VALIDATION_ERROR: 'BadRequest',
};

test('every error of shared/base/errors.ts becomes a class of CCXT', { skip: NO_CCXT }, async () => {
  const { ccxt, pmx } = await loadCcxt();
  const exchange = new pmx({});
  const byCode = exchange.errorsByCode();
  const seen: string[] = [];
  for (const [key, { code, status, message }] of Object.entries(ERRORS)) {
    assert.ok(Object.hasOwn(byCode, code), `${code} has no class`);
    const body = { error: message, code };
    const raise = (): void => exchange.handleErrors(status, '', '', 'POST', {}, JSON.stringify(body), body);
    assert.throws(raise, (error: Error) => {
      assert.ok(error instanceof ccxt.BaseError, key);
      if (key in EXPECTED) assert.equal(error.constructor.name, EXPECTED[key], key);
      assert.ok(error.message.includes(message), 'the reason of the exchange is in the message');
      seen.push(key);
      return true;
    });
  }
  assert.deepEqual(
    Object.keys(EXPECTED).filter((key) => !seen.includes(key)),
    [],
    'each exists',
  );
  const codes = new Set<string>(Object.values(ERRORS).map(({ code }) => code));
  assert.deepEqual(
    Object.keys(byCode).filter((code) => !codes.has(code)),
    [],
    'no class for nothing',
  );
  const messages = new Set<string>(Object.values(ERRORS).map(({ message }) => message));
  assert.deepEqual(
    Object.keys(exchange.errorsByMessage()).filter((text) => !messages.has(text)),
    [],
  );
});

test('a NetworkError, which programs repeat, is only for refusals that a repeat may heal', {
  skip: NO_CCXT,
}, async () => {
  const { ccxt, pmx } = await loadCcxt();
  const byCode = new pmx({}).errorsByCode();
  for (const { code, status } of Object.values(ERRORS)) {
    const isNetwork = byCode[code].prototype instanceof ccxt.NetworkError;
    const mayHeal = status >= 500 || status === 429 || /^(?:IDEMPOTENCY_KEY_IN_PROGRESS|NONCE_BELOW_FLOOR)$/.test(code);
    assert.ok(!isNetwork || mayHeal, `${code} is no network error`);
    assert.ok(isNetwork || status < 500, `${code} of ${status} is one`);
  }
});

test('an answer that is no refusal raises nothing, and one without a code is an ExchangeError', {
  skip: NO_CCXT,
}, async () => {
  const { ccxt, pmx } = await loadCcxt();
  const exchange = new pmx({});
  assert.equal(exchange.handleErrors(200, '', '', 'GET', {}, '{}', {}), undefined);
  assert.equal(exchange.handleErrors(502, '', '', 'GET', {}, '<html>', undefined), undefined, 'left to the base class');
  const unknown = { error: 'something new', code: 'SOMETHING_NEW' };
  assert.throws(
    () => exchange.handleErrors(400, '', '', 'GET', {}, JSON.stringify(unknown), unknown),
    ccxt.ExchangeError,
  );
});

test('the compiler accepts the class with the types of CCXT', { skip: NO_CCXT }, () => {
  const { status, stdout } = spawnSync('npx', ['tsc', '--noEmit', '-p', 'test/peers'], { cwd: ROOT, encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});
