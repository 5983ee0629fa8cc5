/**
 * Short runs of the simulator (world.ts): shards, threads and the whole machine die at any turn, and what comes back is
 * what was answered. Long ones: npm run sim, npm run soak.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { simulate, type Totals } from './simulate.ts';

const STEPS = 1500;
const seeds = [1, 2, 3, 4, 5, 6];

let crashes = 0;
let fills = 0;
let overtook = 0;
let batches = 0;
let undecided = 0;

for (const seed of seeds) {
  test(`nothing answered is lost and the oracle agrees, whatever dies: seed ${seed}`, async () => {
    const totals: Totals = await simulate(seed, STEPS);
    crashes += totals.crashes;
    fills += totals.fills;
    overtook += totals.overtook;
    batches += totals.batches;
    undecided += totals.undecided;
  });
}

after(() => {
  assert.ok(crashes > seeds.length, `worlds die: ${crashes} times`);
  assert.ok(fills > (seeds.length * STEPS) / 20, `worlds trade: ${fills} fills`);
  assert.ok(overtook > seeds.length * 10, `cancels overtake: ${overtook} did`);
  assert.ok(batches > seeds.length * 10 && undecided > 0, `batches: ${batches}, ${undecided} with a wrong signature`);
});
