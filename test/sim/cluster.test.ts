/**
 * Short runs of a simulated cluster (clusterWorld.ts): leaders die, are cut off and are deposed without knowing it,
 * servers of the database take over, and the next leader has what was answered; and disasters (clusterDisasters.ts), of
 * which each ends whole or refused. The soak of an hour and longer runs a million commands, in which each kind of
 * disaster comes a thousand times at least; it says now and then how far it is: npm run soak -- --minutes 240
 * sim/cluster.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { type ClusterTotals, simulateCluster } from './simulate.ts';

const steps = timesOf({ suite: 500, soak: 1000 });
const worlds = timesOf({ suite: 4, soak: isLongSoak ? 1000 : 12 });
/** Of each kind in a million commands. */
const LEAST_DISASTERS = 1000;
/** Worlds between two lines of a long run. */
const SAY_EVERY = 50;
/** Few worlds come to these. */
const SELDOM = ['refused', 'unseen', 'filesGivenUp', 'givenUp', 'warnings', 'byThemselves'];
/** The worlds of this seed and the next two come to every kind of disaster. */
const seed = seedOr(7);

test(`${worlds} clusters lose nothing and do nothing twice, whatever dies (seed ${seed})`, async (t) => {
  const sums: Record<string, number> = {};
  for (let world = 0; world < worlds; world++) {
    const totals: ClusterTotals = await simulateCluster(seed + world, steps);
    for (const [name, count] of Object.entries(totals)) sums[name] = (sums[name] ?? 0) + count;
    if ((world + 1) % SAY_EVERY === 0) t.diagnostic(`${world + 1} worlds: ${JSON.stringify(sums)}`);
  }
  for (const kind of worlds < 1000 ? [] : ['totalLosses', 'restores', 'laggingPromotions']) {
    assert.ok(sums[kind]! >= LEAST_DISASTERS, `${kind}: ${sums[kind]}`);
  }
  const seldom = worlds < 50 ? SELDOM : [];
  for (const [name, count] of Object.entries(sums)) {
    assert.ok(count > 0 || seldom.includes(name), `${name}: ${count}`);
  }
  t.diagnostic(JSON.stringify(sums));
});
