/** A refusal has its number by its text, also where the schema has worded it (RULES.md 6.8, 8.19). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBody } from '../../../../gateway/http/validate.ts';
import { numberOfError } from '../../../../gateway/stream/errorNumbers.ts';
import { PLACEMENT } from '../../../../shared/api/orders.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { body } from '../../../support/placementBodies.ts';

test('each text of the table has the number of its row, and an answer that is no refusal has none', () => {
  for (const { code, message, number, status } of Object.values(ERRORS)) {
    const first = Object.values(ERRORS).findLast((row) => row.code === code && row.message === message)!;
    assert.equal(numberOfError(null, status, JSON.stringify({ code, error: message })), first.number, String(number));
  }
  assert.equal(numberOfError(null, 200, '{}'), 0);
});

test('what the schema refuses in side, amounts and time in force has a number of its own', () => {
  const check = compileBody(PLACEMENT);
  const rows = {
    side: ERRORS.INVALID_SIDE,
    maker_amount: ERRORS.INVALID_MAKER_AMOUNT,
    taker_amount: ERRORS.INVALID_TAKER_AMOUNT,
    time_in_force: ERRORS.INVALID_TIME_IN_FORCE,
  };
  for (const [field, { code, number, message, status }] of Object.entries(rows)) {
    const refused = check({ ...body(), [field]: 'x' });
    assert.equal(refused?.message, message);
    const text = JSON.stringify({ code, error: refused?.message });
    assert.equal(numberOfError(ERRORS.VALIDATION_ERROR, status, text), number, field);
  }
});
