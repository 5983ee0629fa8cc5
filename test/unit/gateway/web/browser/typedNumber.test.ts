/** Numbers as people type and paste them (gateway/web/browser/typedNumber.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubtOf, typedDecimal } from '../../../../../gateway/web/browser/typedNumber.ts';

const READ: Readonly<Record<string, string>> = {
  '10': '10',
  '12.5': '12.5',
  '12,5': '12.5',
  '0,234': '0.234',
  '.5': '0.5',
  ',5': '0.5',
  '10.': '10',
  '10,': '10',
  '007': '7',
  '1.234': '1.234',
  '1234,567': '1234.567',
  '$1,234.50': '1234.50',
  '1.234,50': '1234.50',
  '1,234,567': '1234567',
  '1.234.567': '1234567',
  '1,234,567.': '1234567',
  ' 1 234,5 ': '1234.5',
  '1\u202f234,5': '1234.5',
  '55.5¢': '55.5',
  '12$': '12',
};

test('numbers are read with either decimal sign, with groups, signs and spaces', () => {
  for (const [typed, decimal] of Object.entries(READ)) {
    assert.deepEqual([typedDecimal(typed), doubtOf(typed)], [decimal, null], typed);
  }
});

test('a number that could be two is not read, and the page says how to write either', () => {
  assert.equal(typedDecimal('1,234'), '');
  assert.equal(doubtOf('$1,234'), '1,234 can be read in two ways: write 1234 or 1.234.');
  assert.equal(doubtOf('999,000'), '999,000 can be read in two ways: write 999000 or 999.000.');
});

test('what is no number is not read', () => {
  const none = ['', ' ', '$', '.', ',', 'ten', '-5', '+5', '1e3', '0x10', '1,23,456', '1,2345.5', '1.2.3', '1,234,56'];
  for (const typed of [...none, '1.234.50', '1,234.5.6', '12,34.5', '١٢', 'NaN', '$$5', '5%']) {
    assert.deepEqual([typedDecimal(typed), doubtOf(typed)], ['', null], typed);
  }
});
