/**
 * Short runs of the simulator (world.ts): shards, threads and the whole machine die at any turn, and everything
 * answered comes back. Long ones: npm run sim, npm run soak.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SIZES } from './flow.ts';
import { simulate, type Totals } from './simulate.ts';

const STEPS = 1500;
const seeds = [1, 2, 3, 4, 5, 6];

let crashes = 0;
let fills = 0;
let overtook = 0;
let batches = 0;
let undecided = 0;
let switched = 0;
let adoptions = 0;
let makers = 0;
const audited = new Map<string, number>();

for (const seed of seeds) {
  test(`nothing answered is lost and the oracle agrees, whatever dies: seed ${seed}`, async () => {
    const totals: Totals = await simulate(seed, STEPS);
    crashes += totals.crashes;
    fills += totals.fills;
    overtook += totals.overtook;
    batches += totals.batches;
    undecided += totals.undecided;
    switched += totals.switched;
    adoptions += totals.adoptions;
    makers += totals.makers;
    for (const [what, count] of Object.entries(totals)) audited.set(what, (audited.get(what) ?? 0) + count);
  });
}

after(() => {
  assert.ok(crashes > seeds.length, `worlds die: ${crashes} times`);
  assert.ok(switched > seeds.length, `newer rules come into force: in ${switched} shards`);
  assert.ok(adoptions > 2 * seeds.length, `hashes move to the disk: ${adoptions} times`);
  assert.ok(makers > 0, `snapshot threads die: ${makers}`);
  assert.ok(fills > (seeds.length * STEPS) / 25, `worlds trade: ${fills} fills`);
  for (const what of [
    'bought at 1.00 or more',
    'sold below one tick',
    'between two ticks',
    'with tokens below a lot',
  ]) {
    assert.ok((audited.get(what) ?? 0) > seeds.length, `the audit meets orders ${what}: ${audited.get(what)}`);
  }
  for (const what of ['in place of another', 'with a minimum net']) {
    assert.ok((audited.get(`off the grid ${what}`) ?? 0) > 0, `the audit meets orders off the grid ${what}`);
  }
  for (const [outcome, sizes] of ['Yes', 'No'].flatMap((each) => SIZES.map((of) => [each, of] as const))) {
    const count = sizes.reduce(
      (sum, ticks) => sum + (audited.get(`off the grid at D ${ticks} for ${outcome}`) ?? 0),
      0,
    );
    assert.ok(count > 0, `the audit meets orders off the grid at D ${sizes.join(', ')} for ${outcome}`);
  }
  assert.ok(overtook > seeds.length * 10, `cancels overtake: ${overtook} did`);
  assert.ok(batches > seeds.length * 10 && undecided > 0, `batches: ${batches}, ${undecided} with a wrong signature`);
});
