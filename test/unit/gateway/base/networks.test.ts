/** The addresses and networks that settings and keys may name (RULES.md 4.9). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWithin, tryParseNetworks } from '../../../../gateway/base/networks.ts';

test('a network is named by its first bits, up to all of them', () => {
  const inside = (entry: string, address: string): boolean => isWithin(tryParseNetworks([entry])!, address);
  assert.equal(inside('10.1.2.3', '10.1.2.3'), true);
  assert.equal(inside('10.1.2.3', '10.1.2.4'), false);
  assert.equal(inside('10.1.2.3/32', '10.1.2.3'), true);
  assert.equal(inside('10.1.2.3/32', '10.1.2.2'), false);
  assert.equal(inside('10.0.0.0/8', '10.255.0.1'), true);
  assert.equal(inside('10.0.0.0/8', '11.0.0.1'), false);
  assert.equal(inside('0.0.0.0/0', '203.0.113.9'), true);
  assert.equal(inside('2001:db8::/128', '2001:db8::'), true);
  assert.equal(inside('2001:db8::/128', '2001:db8::1'), false);
  assert.equal(inside('2001:db8::/32', '2001:db8:ffff::1'), true);
  assert.equal(inside('2001:db8::/32', '10.0.0.1'), false);
});

test('anything else is no network, and one of them spoils the list', () => {
  for (const entry of [
    '',
    'example.org',
    '10.0.0.0/33',
    '2001:db8::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    'fe80::1%eth0',
    '10.0.0',
  ]) {
    assert.equal(tryParseNetworks(['10.0.0.1', entry]), null, entry);
  }
  assert.notEqual(tryParseNetworks([]), null);
});
