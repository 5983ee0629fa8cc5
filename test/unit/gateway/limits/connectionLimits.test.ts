/** The limits on connections, and on the rate at which one address may open them (RULES.md 6.9). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionLimits, WINDOW_SEC } from '../../../../gateway/limits/connectionLimits.ts';
import { tryParseNetworks } from '../../../../gateway/process/networks.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const A = Uint8Array.of(203, 0, 113, 1);
const B = Uint8Array.of(203, 0, 113, 2);
const PROXY = Uint8Array.of(10, 0, 0, 1);

function make(newPerAddress: number | null, total = 1000) {
  const clock = new ManualClock(1_790_000_000_000);
  const limits = new ConnectionLimits({ total, newPerAddress, proxies: tryParseNetworks(['10.0.0.0/8']), clock });
  return { clock, limits };
}

/** An address of the /64 that ends in these bytes. */
function ipv6(subnet: number, last: number): Uint8Array {
  const bytes = new Uint8Array(16);
  bytes.set([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, subnet]);
  bytes[15] = last;
  return bytes;
}

test('the total is a limit for everyone, proxies too', () => {
  const { limits } = make(null, 2);
  assert.deepEqual([limits.admits(A, 1), limits.admits(B, 2), limits.admits(PROXY, 3)], [true, true, false]);
  assert.equal(limits.refused, 1);
});

test('an address opens so many in a window, and others are not held up by it', () => {
  const { limits, clock } = make(3);
  const opened = Array.from({ length: 4 }, (_, index) => limits.admits(A, index + 1));
  assert.deepEqual(opened, [true, true, true, false]);
  assert.ok(limits.admits(B, 5));
  clock.advance(WINDOW_SEC * 1000);
  assert.ok(limits.admits(A, 5));
});

test('a trusted proxy opens as many as it likes, and the addresses of one /64 count as one', () => {
  const { limits } = make(2);
  for (let count = 1; count <= 10; count++) assert.ok(limits.admits(PROXY, count));
  assert.deepEqual(
    [1, 2, 3].map((last) => limits.admits(ipv6(1, last), 11)),
    [true, true, false],
  );
  assert.ok(limits.admits(ipv6(2, 1), 11));
});
