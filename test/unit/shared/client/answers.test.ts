/** Answers and their meaning for a client: it knows exactly the codes of the exchange. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { CODES, isRefusal, leavesOpen, meaningOf, STATUSES } from '../../../../shared/client/answers.ts';
import { ApiError, RedirectError } from '../../../../shared/client/http.ts';
import { lost } from '../../../support/fetchLine.ts';

const ROWS = Object.values(ERRORS);

test('codes and statuses of refusals equal those of the error table', () => {
  assert.deepEqual([...CODES].sort(), [...new Set(ROWS.map(({ code }) => code))].sort());
  assert.deepEqual([...STATUSES].sort(), [...new Set<number>(ROWS.map(({ status }) => status))].sort());
});

test('every row of the table is an answer of the exchange, and three codes alone leave the outcome open', () => {
  const open = new Set<string>();
  for (const { status, code } of ROWS) {
    const error = new ApiError(status, code, '', undefined, null);
    assert.ok(isRefusal(error));
    if (leavesOpen(error)) open.add(code);
  }
  assert.deepEqual([...open].sort(), ['IDEMPOTENCY_KEY_IN_PROGRESS', 'INTERNAL_ERROR', 'OUTCOME_UNKNOWN']);
});

test('no status without a code of the exchange is a refusal', () => {
  for (let status = 100; status < 600; status++) {
    for (const code of ['UNKNOWN', 'WAF_BLOCKED']) {
      assert.equal(meaningOf(new ApiError(status, code, '', undefined, null)), 'open', `${status} ${code}`);
    }
  }
  for (const status of [200, 408, 499, 502, 504, 520, 530]) {
    assert.equal(meaningOf(new ApiError(status, 'NOT_FOUND', '', undefined, null)), 'open');
  }
});

test('failures without an answer say whether the request has left', () => {
  assert.equal(meaningOf(lost()), 'open');
  assert.equal(meaningOf(lost('ECONNREFUSED')), 'not now');
  assert.equal(meaningOf(new DOMException('late', 'TimeoutError')), 'open');
  assert.equal(meaningOf(new RedirectError('elsewhere')), 'fault');
  assert.equal(meaningOf(new RangeError('of the program')), null);
});
