import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_ADDRESSES, RefusedLogins, WINDOW_MS } from '../../../../gateway/operator/refusedLogins.ts';
import type { AuditFields } from '../../../../shared/crypto/auditChain.ts';
import { ManualClock } from '../../../support/manualClock.ts';

type Written = { readonly records: AuditFields[]; isFull: boolean; append(fields: AuditFields): Promise<never> };

function rig(): { clock: ManualClock; written: Written; logins: RefusedLogins } {
  const clock = new ManualClock(1_790_000_000_000);
  const written: Written = {
    records: [],
    isFull: false,
    append(fields) {
      if (this.isFull) return Promise.reject(new Error('full'));
      this.records.push(structuredClone(fields));
      return Promise.resolve() as Promise<never>;
    },
  };
  return { clock, written, logins: new RefusedLogins(written, clock) };
}

/** Lets started work finish. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('the first failed login is recorded at once, with its address and the fault', async () => {
  const { written, logins } = rig();
  logins.count('192.0.2.1', 'invalid');
  await settled();
  const [record] = written.records;
  assert.equal(record!['event'], 'logins_refused');
  assert.equal(record!['count'], 1);
  assert.deepEqual(record!['attempts'], [{ address: '192.0.2.1', fault: 'invalid', operator: undefined, count: 1 }]);
});

test('any number of further ones, from any number of addresses, add one bounded record per window', async () => {
  const { clock, written, logins } = rig();
  const attempts = 100_000;
  for (let i = 0; i < attempts; i++) {
    logins.count(`10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`, 'invalid');
    if (i % 1000 === 0) await settled();
  }
  assert.equal(written.records.length, 1);
  clock.advance(WINDOW_MS);
  logins.tick();
  await settled();
  assert.equal(written.records.length, 2);
  const [first, second] = written.records;
  assert.equal(Number(first!['count']) + Number(second!['count']), attempts, 'each is counted');
  assert.equal((second!['attempts'] as unknown[]).length, MAX_ADDRESSES);
  assert.ok(JSON.stringify(second).length < 4096);
});

test('after a quiet window, which records nothing, the next failed login is recorded at once again', async () => {
  const { clock, written, logins } = rig();
  logins.count('192.0.2.1', 'missing');
  await settled();
  clock.advance(WINDOW_MS);
  logins.tick();
  await settled();
  assert.equal(written.records.length, 1);
  logins.count('192.0.2.2', 'role', 'ada');
  await settled();
  assert.equal(written.records.length, 2);
});

test('what could not be written is counted for the next record', async () => {
  const { clock, written, logins } = rig();
  written.isFull = true;
  logins.count('192.0.2.1', 'invalid');
  await settled();
  written.isFull = false;
  logins.count('192.0.2.1', 'invalid');
  clock.advance(WINDOW_MS);
  logins.tick();
  await settled();
  assert.deepEqual(
    written.records.map(({ count }) => count),
    [2],
  );
});
