/** The limit on orders with wrong signatures (RULES.md 5.8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadSignatures } from '../../../../gateway/http/badSignatures.ts';
import { E } from '../../../../shared/base/errors.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const LIMIT = 20;

test('an account is refused from its twentieth wrong signature on, until the first is ten seconds old', () => {
  const clock = new ManualClock(1_790_000_000_000);
  const limit = new BadSignatures(clock);
  for (let count = 0; count < LIMIT; count++) {
    assert.equal(limit.refusalFor(7), null);
    limit.count(7);
    clock.advance(100);
  }
  const refusal = limit.refusalFor(7)!;
  assert.deepEqual([refusal.row.number, refusal.retryAfterSec], [E.RATE_LIMITED, 8]);
  assert.match(refusal.rateLimitHeaders!, /^quota_denied\r\n.*-Limit: 20\r\n.*-Seconds: 10\r\n.*-Remaining: 0\r\n/s);
  assert.equal(limit.refusalFor(8), null, 'others are not');
  clock.advance(7_999);
  assert.notEqual(limit.refusalFor(7), null);
  clock.advance(1);
  assert.equal(limit.refusalFor(7), null, 'one more may come');
  limit.count(7);
  assert.notEqual(limit.refusalFor(7), null, 'and when that one is wrong as well');
});

test('wrong signatures that were on their way do not extend the wait', () => {
  const clock = new ManualClock(1_790_000_000_000);
  const limit = new BadSignatures(clock);
  for (let count = 0; count < 3 * LIMIT; count++) limit.count(7);
  clock.advance(10_000);
  assert.equal(limit.refusalFor(7), null);
});
