/**
 * Short runs of the simulator (world.ts): shards, threads and the whole machine die at any turn, and what comes back is
 * what was answered. Long ones: npm run sim, npm run soak.
 *
 *   SEED=7 STEPS=2000 node --test test/sim/crash.test.ts     one run, as a failure prints it
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { simulate, type Totals } from './simulate.ts';

const STEPS = Number(process.env['STEPS'] ?? 1500);
const chosen = process.env['SEED'];
const seeds = chosen === undefined ? [1, 2, 3, 4, 5, 6] : [Number(chosen)];

let crashes = 0;
let fills = 0;
let overtook = 0;

for (const seed of seeds) {
  test(`nothing answered is lost and the oracle agrees, whatever dies: seed ${seed}`, async () => {
    const totals: Totals = await simulate(seed, STEPS);
    crashes += totals.crashes;
    fills += totals.fills;
    overtook += totals.overtook;
  });
}

after(() => {
  if (chosen !== undefined) return;
  assert.ok(crashes > seeds.length, `worlds die: ${crashes} times`);
  assert.ok(fills > (seeds.length * STEPS) / 20, `worlds trade: ${fills} fills`);
  assert.ok(overtook > seeds.length * 10, `cancels overtake: ${overtook} did`);
});
