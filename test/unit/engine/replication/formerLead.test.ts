/** The time until which another member may have accepted requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormerLead } from '../../../../engine/replication/formerLead.ts';

const lease = (expiresInMs: number) => {
  return { holder: 'a', address: 'http://a', epoch: 1, formats: '', raised: '', expiresInMs };
};

test('a leader that is seen has led until now, and one that does not renew until its next renewal was due', () => {
  const former = new FormerLead();
  former.noted(lease(0), 5000);
  assert.equal(former.untilMs, 0, 'none has led');
  former.noted(lease(1900), 10_000);
  assert.equal(former.untilMs, 10_000);
  // It has renewed at 9900 for the last time, so it was alive at 10,399 at most.
  for (const atMs of [10_200, 10_400, 10_600, 11_000, 11_800]) former.noted(lease(11_900 - atMs), atMs);
  assert.equal(former.untilMs, 10_400);
  former.noted(lease(-100), 12_000);
  assert.equal(former.untilMs, 10_400);
});
