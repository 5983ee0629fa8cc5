/**
 * Short runs of a simulated cluster (clusterWorld.ts): leaders die, are cut off and are deposed without knowing it,
 * servers of the database take over, and the next leader has everything that was answered; and disasters
 * (clusterDisasters.ts), each of which ends whole or refused. A soak of an hour or longer runs a million commands, with
 * every kind of disaster at least a thousand times, and reports its progress: npm run soak -- --minutes 240
 * sim/cluster.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { type ClusterTotals, simulateCluster } from './simulate.ts';

const steps = timesOf({ suite: 500, soak: isLongSoak ? 2500 : 1000 });
const worlds = timesOf({ suite: 4, soak: 12 });
/** Commands of a long soak, and the number of each kind of disaster in them. */
const COMMANDS = 1_000_000;
const LEAST_DISASTERS = 1000;
const isMillion = timesOf({ suite: false, soak: isLongSoak });
/** Worlds between two lines of a long run. */
const SAY_EVERY = 5;
/** A run with this many failures is broken as a whole. */
const MOST_FAILURES = isMillion ? 20 : 1;
/** Few worlds come to these. */
const SELDOM = [
  'refused',
  'unseen',
  'filesGivenUp',
  'withoutMarks',
  'recordsGivenUp',
  'givenUp',
  'warnings',
  'byThemselves',
];
/** The worlds of this seed and the next two come to every kind of disaster. */
const seed = seedOr(7);
const size = isMillion ? `${COMMANDS} commands of clusters` : `${worlds} clusters`;

test(`${size} lose nothing and do nothing twice, whatever dies (seed ${seed})`, async (t) => {
  const sums: Record<string, number> = {};
  const failures: string[] = [];
  let done = 0;
  while (isMillion ? (sums['commands'] ?? 0) < COMMANDS : done < worlds) {
    const totals: ClusterTotals | null = await simulateCluster(seed + done, steps).catch((error: Error) => {
      // The other worlds go on: a long run reports the failures of all of them.
      console.log(error.message);
      failures.push(error.message);
      return null;
    });
    for (const [name, count] of Object.entries(totals ?? {})) sums[name] = (sums[name] ?? 0) + count;
    if (++done % SAY_EVERY === 0) console.log(`${done} worlds: ${JSON.stringify(sums)}`);
    assert.ok(failures.length < MOST_FAILURES, failures[0]);
  }
  assert.deepEqual(failures, []);
  for (const kind of isMillion ? ['totalLosses', 'restores', 'laggingPromotions'] : []) {
    assert.ok(sums[kind]! >= LEAST_DISASTERS, `${kind}: ${sums[kind]}`);
  }
  const seldom = isMillion ? [] : SELDOM;
  for (const [name, count] of Object.entries(sums)) {
    assert.ok(count > 0 || seldom.includes(name), `${name}: ${count}`);
  }
  t.diagnostic(JSON.stringify(sums));
});
