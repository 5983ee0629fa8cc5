import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Invalid } from '../../../../gateway/base/refusal.ts';
import { compileBody, compileQuery } from '../../../../gateway/http/validate.ts';

const ORDER = {
  type: 'object',
  additionalProperties: false,
  required: ['side', 'maker_amount', 'salt', 'signature'],
  properties: {
    side: { type: 'string', enum: ['BUY', 'SELL'] },
    maker_amount: { type: 'string', format: 'amount' },
    salt: { type: 'string', format: 'uint256' },
    signature: { type: 'string', maxLength: 10 },
    nonce: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    market_id: { type: 'string', format: 'uuid' },
    maker: { type: 'string', format: 'address' },
    since: { type: 'string', format: 'date-time' },
    ends_sec: { type: 'integer', minimum: 0, maximum: 0xffff_ffff, 'x-unit': 'Unix seconds' },
  },
};
const GOOD = { side: 'BUY', maker_amount: '1', salt: '0', signature: 'x' };

describe('compileBody', () => {
  const check = compileBody(ORDER);
  const batch = compileBody({
    type: 'object',
    required: ['orders'],
    properties: { orders: { type: 'array', minItems: 1, items: ORDER }, note: { type: ['string', 'null'] } },
  });

  function refused(body: unknown): Invalid {
    return check(body) ?? assert.fail(`accepted ${JSON.stringify(body)}`);
  }

  it('passes a good body', () => {
    assert.equal(check(GOOD), null);
  });

  it('says invalid <field> with the rule and the value', () => {
    assert.deepEqual(refused({ ...GOOD, side: 'HOLD' }), {
      message: 'invalid side',
      details: { field: 'side', rule: 'enum', value: 'HOLD', expected: 'BUY, SELL' },
    });
    assert.deepEqual(refused({ ...GOOD, nonce: '7' }), {
      message: 'invalid nonce',
      details: { field: 'nonce', rule: 'type', value: '7', expected: 'integer' },
    });
  });

  it('names an unknown field and a missing one', () => {
    assert.equal(refused({ ...GOOD, sied: 'BUY' }).message, 'unknown field: sied');
    const { salt: _, ...withoutSalt } = GOOD;
    assert.deepEqual(refused(withoutSalt), {
      message: 'missing field: salt',
      details: { field: 'salt', rule: 'required' },
    });
  });

  it('calls a missing side or amount invalid, as documented', () => {
    assert.equal(refused({ ...GOOD, side: undefined, maker_amount: '1' }).message, 'invalid side');
    const { maker_amount: _, ...withoutAmount } = GOOD;
    assert.equal(refused(withoutAmount).message, 'invalid maker_amount');
  });

  it('refuses every other way to write an amount', () => {
    for (const amount of ['0', '01', '-1', '1.0', '1e3', ' 1', '', '0x1', '1000000000000001', '9'.repeat(5000)]) {
      assert.equal(refused({ ...GOOD, maker_amount: amount }).message, 'invalid maker_amount', amount);
    }
    assert.equal(check({ ...GOOD, maker_amount: '1000000000000000' }), null);
    assert.equal(refused({ ...GOOD, maker_amount: 1 }).message, 'invalid maker_amount');
  });

  it('reads the other formats totally', () => {
    const max = (2n ** 256n - 1n).toString();
    assert.equal(check({ ...GOOD, salt: max, maker: `0x${'aB'.repeat(20)}`, since: '2026-01-01T00:00:00.000Z' }), null);
    assert.equal(refused({ ...GOOD, salt: (2n ** 256n).toString() }).message, 'invalid salt');
    assert.equal(refused({ ...GOOD, market_id: 'not-a-uuid' }).message, 'invalid market_id');
    assert.equal(refused({ ...GOOD, maker: '0x12' }).message, 'invalid maker');
    for (const since of ['2026-01-01', '2026-13-01T00:00:00Z', '2026-02-29T00:00:00Z', 'yesterday']) {
      assert.equal(refused({ ...GOOD, since }).message, 'invalid since');
    }
  });

  it('refuses an integer that a double cannot hold', () => {
    assert.equal(
      refused(JSON.parse(JSON.stringify(GOOD).replace('}', ',"nonce":9007199254740993}'))).message,
      'invalid nonce',
    );
    assert.equal(refused(JSON.parse(JSON.stringify(GOOD).replace('}', ',"nonce":1e999}'))).message, 'invalid nonce');
  });

  it('shows no secret and no more than 100 characters', () => {
    assert.deepEqual(refused({ ...GOOD, signature: 'x'.repeat(11) }).details, {
      field: 'signature',
      rule: 'maxLength',
      expected: 'at most 10 characters',
    });
    assert.equal(String(refused({ ...GOOD, side: 'y'.repeat(5000) }).details.value).length, 100);
    assert.ok(refused({ ...GOOD, ['z'.repeat(5000)]: 1 }).message.length < 120);
  });

  it('says what is expected, with its unit', () => {
    const expected: Record<string, [unknown, string]> = {
      nonce: [-1, '0 to 9007199254740991'],
      maker_amount: ['1.5', 'an integer from 1 to 10^15 as a text of digits'],
      salt: [7, 'string'],
      market_id: ['x', 'a UUID'],
      maker: ['0x12', '20 bytes in hex after 0x'],
      since: ['yesterday', 'a time with its zone, as in 2026-10-01T12:00:00Z'],
      signature: ['x'.repeat(11), 'at most 10 characters'],
      ends_sec: [1_900_000_000_000, '0 to 4294967295, in Unix seconds'],
    };
    for (const [name, [value, words]] of Object.entries(expected)) {
      assert.equal(refused({ ...GOOD, [name]: value }).details.expected, words, name);
    }
  });

  it('reads null in an optional field as absent, however deep, and nowhere else', () => {
    const body = { orders: [{ ...GOOD, nonce: null, since: null }], note: null, unlisted: null };
    assert.equal(batch(body), null);
    assert.deepEqual(body, { orders: [GOOD], note: null, unlisted: null });
    assert.equal(refused({ ...GOOD, side: null }).message, 'invalid side');
    assert.equal(refused({ ...GOOD, nonce: null, sied: null }).message, 'unknown field: sied');
    assert.equal(refused({ ...GOOD, nonce: null, salt: '-' }).message, 'invalid salt');
  });

  it('says where in a nested body the field is', () => {
    const invalid = batch({ orders: [GOOD, { ...GOOD, side: 'HOLD' }] });
    assert.equal(invalid?.message, 'invalid side');
    assert.equal(invalid?.details.field, 'orders.1.side');
    assert.equal(batch({ orders: [7] })?.message, 'invalid orders');
    assert.equal(batch([])?.message, 'invalid body');
  });
});

describe('compileQuery', () => {
  const check = compileQuery({
    type: 'object',
    properties: {
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      both: { type: 'boolean' },
      search: { type: 'string' },
      min_size_usd: { type: 'number' },
    },
  });

  it('reads each parameter as its type and fills defaults in', () => {
    const result = check('both=1&search=a%20b+c%2B&min_size_usd=0.5');
    assert.ok(result.ok);
    assert.deepEqual({ ...result.query }, { both: true, search: 'a b c+', min_size_usd: 0.5, limit: 20 });
  });

  it('reads a zone whose plus is not encoded, and small letters', () => {
    const times = compileQuery({
      type: 'object',
      properties: {
        since: { type: 'string', format: 'date-time-or-utc' },
        until: { type: 'string', format: 'date-time' },
      },
    });
    for (const text of ['2026-10-01T12:00:00+02:00', '2026-10-01t12:00:00.5z', '2026-10-01T12:00:00%2B02:00']) {
      const result = times(`since=${text}&until=${text}`);
      assert.ok(result.ok, text);
      assert.equal(result.query['since'], text.replace('%2B', '+'));
    }
    for (const text of ['2026-10-01T12:00:00%2002:00', '2026-10-01T12:00:00+2:00', '2026-02-30t12:00:00z']) {
      assert.equal(times(`since=${text}`).ok, false, text);
    }
  });

  it('ignores parameters it does not know', () => {
    const result = check('limit=5&_=123&__proto__=1&constructor=2');
    assert.ok(result.ok);
    assert.deepEqual({ ...result.query }, { limit: 5 });
  });

  it('refuses unknown parameters where the schema says so', () => {
    const strict = compileQuery({ type: 'object', additionalProperties: false, properties: { a: { type: 'string' } } });
    const result = strict('a=1&b=2');
    assert.ok(!result.ok);
    assert.equal(result.invalid.message, 'unknown field: b');
  });

  it('refuses a value that is not wholly of its type, out of range, given twice or badly encoded', () => {
    const bad = ['limit=', 'limit', 'limit=1e1', 'limit=%205', 'limit=0x10', 'limit=5.0', 'limit=0', 'limit=101'];
    for (const raw of [...bad, 'limit=1&limit=1', 'limit=99999999999999999999', 'limit=%zz']) {
      const result = check(raw);
      assert.ok(!result.ok, raw);
      assert.equal(result.invalid.message, 'invalid limit', raw);
    }
    for (const raw of ['both=yes', 'min_size_usd=1e3', 'min_size_usd=NaN', '%zz=1']) assert.ok(!check(raw).ok, raw);
  });
});
