import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gain, usdc } from '../../../../../gateway/web/browser/format.ts';

test('USDC in decimals is shown in dollars and cents, and never as more than it is', () => {
  assert.equal(usdc('0'), '$0.00');
  assert.equal(usdc('0.4'), '$0.40');
  assert.equal(usdc('1234567.899999'), '$1,234,567.89');
  assert.equal(usdc('90071992547409931.01'), '$90,071,992,547,409,931.01', 'above what a number holds');
});

test('a gain is rounded down: neither a gain nor a loss is flattered', () => {
  const shown = [19_999n, 0n, -1n, -10_000n, -10_001n, -129_999n].map(gain);
  assert.deepEqual(shown, ['+$0.01', '+$0.00', '−$0.01', '−$0.01', '−$0.02', '−$0.13']);
});
