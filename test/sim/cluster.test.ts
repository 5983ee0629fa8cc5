/**
 * Short runs of a simulated cluster (clusterWorld.ts): leaders die, are cut off and are deposed without knowing it,
 * servers of the database take over, and the next leader has what was answered; and disasters (clusterDisasters.ts), of
 * which each ends whole or refused. The soak of an hour runs a million commands.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { type ClusterTotals, simulateCluster } from './simulate.ts';

const steps = timesOf({ suite: 500, soak: 1000 });
const worlds = timesOf({ suite: 4, soak: isLongSoak ? 1000 : 12 });
/** Few worlds come to these. */
const SELDOM = ['refused', 'unseen', 'filesGivenUp', 'givenUp', 'warnings', 'byThemselves'];
/** The worlds of this seed and the next two come to every kind of disaster. */
const seed = seedOr(7);

test(`${worlds} clusters lose nothing and do nothing twice, whatever dies (seed ${seed})`, async (t) => {
  const sums: Record<string, number> = {};
  for (let world = 0; world < worlds; world++) {
    const totals: ClusterTotals = await simulateCluster(seed + world, steps);
    for (const [name, count] of Object.entries(totals)) sums[name] = (sums[name] ?? 0) + count;
  }
  const seldom = worlds < 50 ? SELDOM : [];
  for (const [name, count] of Object.entries(sums)) {
    assert.ok(count > 0 || seldom.includes(name), `${name}: ${count}`);
  }
  t.diagnostic(JSON.stringify(sums));
});
