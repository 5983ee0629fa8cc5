/**
 * Short runs of a simulated cluster (clusterWorld.ts): leaders die, are cut off and are deposed without knowing it,
 * servers of the database take over, and the next leader has what was answered. The soak of an hour runs a million
 * commands.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { type ClusterTotals, simulateCluster } from './simulate.ts';

const STEPS = 1000;
const worlds = timesOf({ suite: 4, soak: isLongSoak ? 1000 : 50 });
const seed = seedOr(1);

test(`${worlds} clusters lose nothing and do nothing twice, whatever dies (seed ${seed})`, async () => {
  const sums: Record<string, number> = {};
  for (let world = 0; world < worlds; world++) {
    const totals: ClusterTotals = await simulateCluster(seed + world, STEPS);
    for (const [name, count] of Object.entries(totals)) sums[name] = (sums[name] ?? 0) + count;
  }
  for (const [name, count] of Object.entries(sums)) assert.ok(count > 0, `${name}: ${count}`);
});
