import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TICKS_PER_UNIT } from '../../../../shared/base/codes.ts';
import {
  bytesToUuid,
  isUint256,
  toHex,
  tryParseHex,
  tryParseUint256,
  uint256ToDecimal,
  uuidToBytes,
} from '../../../../shared/base/hex.ts';
import {
  centsHalfAway,
  centsTowardsZero,
  decimal6,
  midpointToDecimal,
  NOT_A_NUMBER,
  price8HalfUp,
  ratioToPrice8Floor,
  spreadBpsHalfUp,
  spreadToDecimal,
  sumToDecimal,
  tickToPrice,
  tickToPrice8,
  tryParsePriceTicks,
  tryParseUnits,
  unitsToDecimal,
} from '../../../../shared/base/units.ts';

test('every tick of every grid survives its shortest and its 8-digit form', () => {
  for (const ticksPerUnit of TICKS_PER_UNIT) {
    for (let ticks = 1; ticks < ticksPerUnit; ticks++) {
      const shortest = tickToPrice(ticks, ticksPerUnit);
      const eight = tickToPrice8(ticks, ticksPerUnit);
      assert.match(shortest, /^0\.\d*[1-9]$/);
      assert.match(eight, /^0\.\d{8}$/);
      assert.equal(tryParsePriceTicks(shortest, ticksPerUnit), ticks);
      assert.equal(tryParsePriceTicks(eight, ticksPerUnit), ticks);
      assert.equal(ratioToPrice8Floor(ticks * 7, ticksPerUnit * 7), eight);
      assert.equal(shortest, String(ticks / ticksPerUnit));
    }
  }
});

test('the grids are the divisors of 10,000 from 10 up', () => {
  const divisors = Array.from({ length: 10_001 }, (_, each) => each).filter(
    (each) => each >= 10 && 10_000 % each === 0,
  );
  assert.deepEqual([...TICKS_PER_UNIT], divisors);
});

test('a midpoint of any grid is exact, and a spread is a price', () => {
  for (const ticksPerUnit of TICKS_PER_UNIT) {
    for (const [bid, ask] of [
      [1, 2],
      [1, ticksPerUnit - 1],
      [Math.floor(ticksPerUnit / 2), ticksPerUnit - 1],
    ] as const) {
      const midpoint = midpointToDecimal(bid, ask, ticksPerUnit);
      assert.match(midpoint, /^0\.\d{0,4}[1-9]$/);
      assert.equal(midpoint, String((bid + ask) / (2 * ticksPerUnit)));
      assert.equal(spreadToDecimal(bid, ask, ticksPerUnit), String((ask - bid) / ticksPerUnit));
    }
  }
});

test('prices read as people write them', () => {
  assert.equal(tickToPrice(3, 16), '0.1875');
  assert.equal(tickToPrice(1, 400), '0.0025');
  assert.equal(tickToPrice8(1, 625), '0.00160000');
  assert.equal(midpointToDecimal(1, 2, 16), '0.09375');
  assert.equal(tickToPrice(65, 100), '0.65');
  assert.equal(tickToPrice(50, 100), '0.5');
  assert.equal(tickToPrice(1, 10_000), '0.0001');
  assert.equal(tickToPrice(100, 100), '1');
  assert.equal(tickToPrice(0, 100), '0');
  assert.equal(tickToPrice8(65, 100), '0.65000000');
  assert.equal(tickToPrice8(1, 10), '0.10000000');
});

test('a price off the grid, outside it or not a number is no tick', () => {
  for (const text of [
    '0',
    '1',
    '1.01',
    '0.655',
    '-0.65',
    '+0.65',
    '.65',
    '0.',
    '00.65',
    '0.65 ',
    ' 0.65',
    '6.5e-1',
    '0,65',
    '',
    'NaN',
    '0x1',
    '0.650000000',
    '0.65\n',
  ]) {
    assert.equal(tryParsePriceTicks(text, 100), NOT_A_NUMBER, JSON.stringify(text));
  }
  assert.equal(tryParsePriceTicks('0.655', 1000), 655);
  assert.equal(tryParsePriceTicks('0.99', 100), 99);
});

test('a price of a ratio rounds down in the eighth digit', () => {
  assert.equal(ratioToPrice8Floor(2, 3), '0.66666666');
  assert.equal(ratioToPrice8Floor(1, 1_000_000_000_000_000), '0.00000000');
  assert.equal(ratioToPrice8Floor(999_999_999_999_999, 1_000_000_000_000_000), '0.99999999');
  assert.equal(ratioToPrice8Floor(3, 2), '1.50000000');
});

test('atomic units survive their decimal form', () => {
  for (const [atomic, text] of [
    [0, '0'],
    [1, '0.000001'],
    [10, '0.00001'],
    [999_999, '0.999999'],
    [1_000_000, '1'],
    [12_500_000, '12.5'],
    [1_000_000_000_000_000, '1000000000'],
    [Number.MAX_SAFE_INTEGER, '9007199254.740991'],
  ] as const) {
    assert.equal(unitsToDecimal(atomic), text);
    assert.equal(tryParseUnits(text), atomic);
  }
  assert.equal(tryParseUnits('12.500000'), 12_500_000);
});

test('a quantity with too many digits, a sign or anything else is not a number', () => {
  for (const text of ['', '.5', '5.', '01', '-1', '1e3', '0.0000001', '9007199254.740992', '99999999999999999', '1 ']) {
    assert.equal(tryParseUnits(text), NOT_A_NUMBER, JSON.stringify(text));
  }
});

test('spread and midpoint are exact for every pair of best prices', () => {
  for (const ticksPerUnit of [10, 100]) {
    for (let bid = 1; bid < ticksPerUnit; bid++) {
      for (let ask = bid + 1; ask < ticksPerUnit; ask++) {
        assert.equal(Number(spreadToDecimal(bid, ask, ticksPerUnit)), (ask - bid) / ticksPerUnit);
        assert.equal(Number(midpointToDecimal(bid, ask, ticksPerUnit)), (ask + bid) / (2 * ticksPerUnit));
      }
    }
  }
  assert.equal(midpointToDecimal(64, 65, 100), '0.645');
  assert.equal(midpointToDecimal(64, 66, 100), '0.65');
  assert.equal(midpointToDecimal(9998, 9999, 10_000), '0.99985');
  assert.equal(spreadToDecimal(40, 60, 100), '0.2');
});

test('spread in basis points rounds a half up', () => {
  assert.equal(spreadBpsHalfUp(64, 65), 155);
  assert.equal(spreadBpsHalfUp(1, 3), 10_000);
  // 20000 * 1 / 32 = 625 exactly; 20000 / 64 = 312.5 rounds up; 20000 / 65 = 307.69 up; 20000 / 63 = 317.46 down.
  assert.equal(spreadBpsHalfUp(31, 33), 625);
  assert.equal(spreadBpsHalfUp(63, 65), 313);
  assert.equal(spreadBpsHalfUp(32, 33), 308);
  assert.equal(spreadBpsHalfUp(31, 32), 317);
  assert.equal(spreadBpsHalfUp(1, 9999), 19_996);
});

test('hex is 0x and exactly the digits asked for, in either case', () => {
  const out = new Uint8Array(6);
  assert.ok(tryParseHex('0x00Ff10aB', 4, out, 1));
  assert.deepEqual([...out], [0, 0, 255, 16, 171, 0]);
  assert.equal(toHex(out, 1, 4), '0x00ff10ab');
  assert.equal(toHex(out), '0x0000ff10ab00');
  for (const text of [
    '',
    '0x',
    '00ff10ab',
    '0X00ff10ab',
    '0x00ff10a',
    '0x00ff10abc',
    '0x00ff10ag',
    '0x00ff10aé',
    '0x00ff10 b',
    '0x-0ff10ab',
  ]) {
    assert.equal(tryParseHex(text, 4, out, 0), false, JSON.stringify(text));
  }
});

test('a UUID survives its bytes, and nothing else parses', () => {
  const text = '0190a6f0-7b1c-7abc-8def-0123456789ab';
  const out = new Uint8Array(20);
  assert.ok(uuidToBytes(text, out, 2));
  assert.equal(bytesToUuid(out, 2), text);
  assert.equal(toHex(out, 2, 16), `0x${text.replaceAll('-', '')}`);
  assert.ok(uuidToBytes(text.toUpperCase(), out, 2));
  assert.equal(bytesToUuid(out, 2), text);
  for (const bad of [
    '',
    text.slice(1),
    `${text}0`,
    text.replaceAll('-', ''),
    text.replace('-', '0'),
    text.replace('a', 'g'),
    `{${text.slice(2)}}`,
  ]) {
    assert.equal(uuidToBytes(bad, out, 0), false, JSON.stringify(bad));
  }
});

test('a 256-bit decimal survives its bytes at every power of two and its neighbours', () => {
  const out = new Uint8Array(40);
  for (let bits = 0n; bits <= 256n; bits++) {
    for (const value of [(1n << bits) - 1n, 1n << bits, (1n << bits) + 1n]) {
      const fits = value < 1n << 256n;
      assert.equal(tryParseUint256(value.toString(), out, 5), fits, `2^${bits}`);
      assert.equal(isUint256(value.toString()), fits, `2^${bits}`);
      if (!fits) continue;
      assert.equal(toHex(out, 5, 32), `0x${value.toString(16).padStart(64, '0')}`);
      assert.equal(uint256ToDecimal(out, 5), value.toString());
    }
  }
});

test('a 256-bit decimal is canonical: digits only, no leading zero', () => {
  const out = new Uint8Array(32);
  for (const text of [
    '',
    '00',
    '01',
    '-1',
    '+1',
    '1.0',
    '1e3',
    '0x10',
    ' 1',
    '1 ',
    '1n',
    '1_000',
    '9'.repeat(78),
    '1'.repeat(79),
    '٣',
  ]) {
    assert.equal(tryParseUint256(text, out, 0), false, JSON.stringify(text));
    assert.equal(isUint256(text), false, JSON.stringify(text));
  }
  assert.deepEqual(out, new Uint8Array(32));
});

test('a sum is exact beyond the safe integers', () => {
  assert.equal(sumToDecimal(0n), '0');
  assert.equal(sumToDecimal(1_500_000n), '1.5');
  assert.equal(sumToDecimal(2n ** 60n + 1n), '1152921504606.846977');
});

test('an average price has eight digits, a half rounded up', () => {
  assert.equal(price8HalfUp(650_000_000_000_000_000n), '0.65000000');
  assert.equal(price8HalfUp(333_333_335_000_000_000n), '0.33333334');
  assert.equal(price8HalfUp(333_333_334_999_999_999n), '0.33333333');
  assert.deepEqual([price8HalfUp(0n), price8HalfUp(10n ** 18n)], ['0.00000000', '1.00000000']);
});

test('dollars have six digits, or cents rounded away from or towards zero, and zero no sign', () => {
  assert.deepEqual([-385_000n, 0n, 12_000_001n].map(decimal6), ['-0.385000', '0.000000', '12.000001']);
  const halves = [5000n, 4999n, -5000n, -4999n, -1_255_000n, 10n ** 17n];
  assert.deepEqual(
    halves.map((micro) => centsHalfAway(micro)),
    ['0.01', '0.00', '-0.01', '0.00', '-1.26', '100000000000.00'],
  );
  assert.deepEqual([9999n, 19_999n, 0n, -9999n].map(centsTowardsZero), ['0.00', '0.01', '0.00', '0.00']);
});
