/** The networks of IPv6 that are counted as themselves, as other threads see them (SHAREDNETWORKS-1 and 2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prefixes } from '../../../../gateway/access/prefixes.ts';
import { NETWORKS_PERIOD_MS, SharedNetworks } from '../../../../gateway/access/sharedNetworks.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const START_MS = 1_790_000_000_000;

function start(): { prefixes: Prefixes; other: SharedNetworks } {
  const buffers = SharedNetworks.create();
  return {
    prefixes: new Prefixes(NETWORKS_PERIOD_MS, new SharedNetworks(buffers)),
    other: new SharedNetworks(buffers),
  };
}

test('a network is shown from its first request to the end of the period, and only if it is counted as itself', () => {
  const seed = seedOr(5);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const { prefixes, other } = start();
  const counted = { asItself: 0, otherwise: 0, anew: 0 };
  let nowMs = START_MS;
  for (let turn = 0; turn < 20_000; turn++) {
    nowMs += random.below(20);
    const network = `2001:db8:${random.below(3)}:${random.below(300).toString(16)}`;
    const isShown = other.has(network, nowMs);
    const subject = prefixes.subjectOf(network, nowMs);
    if (isShown) assert.equal(subject, network);
    assert.equal(other.has(network, nowMs), subject === network);
    if (subject !== network) counted.otherwise++;
    else counted[isShown ? 'asItself' : 'anew']++;
  }
  assert.ok(counted.asItself > 1000 && counted.otherwise > 1000 && counted.anew > 1000, JSON.stringify(counted));
});

test('nothing is shown before the first request, after the period, or for a clock that was set back as far', () => {
  const { prefixes, other } = start();
  assert.equal(other.has('0:0:0:0', START_MS), false);
  assert.equal(prefixes.subjectOf('2001:db8:1:ffff', START_MS), '2001:db8:1:ffff');
  for (const [afterMs, isShown] of [
    [-NETWORKS_PERIOD_MS, false],
    [1 - NETWORKS_PERIOD_MS, true],
    [0, true],
    [NETWORKS_PERIOD_MS - 1, true],
    [NETWORKS_PERIOD_MS, false],
  ] as const) {
    assert.equal(other.has('2001:db8:1:ffff', START_MS + afterMs), isShown, String(afterMs));
  }
  assert.equal(other.has('2001:db8:1:fffe', START_MS), false);
  prefixes.subjectOf('2001:db8:1:fffe', START_MS + NETWORKS_PERIOD_MS);
  assert.equal(
    other.has('2001:db8:1:ffff', START_MS + NETWORKS_PERIOD_MS),
    false,
    'a new period has networks of its own',
  );
});

test('of as many networks as are known in a period most are shown, and none that is counted as another', () => {
  const { prefixes, other } = start();
  const networks = Array.from({ length: 120_000 }, (_, index) => `2001:${(index >>> 9).toString(16)}:${index & 511}:1`);
  const own = networks.filter((network) => prefixes.subjectOf(network, START_MS) === network);
  const shown = networks.filter((network) => other.has(network, START_MS));
  const known = new Set(own);
  assert.ok(
    shown.every((network) => known.has(network)),
    'SHAREDNETWORKS-1',
  );
  assert.ok(own.length === 100_000 && shown.length > 0.9 * own.length, `${shown.length} of ${own.length}`);
});
