/**
 * The simulator by hand (npm run sim, npm run soak):
 *
 *   node test/sim/main.ts --seed 7 --steps 5000     one world of 5000 commands; the same again for the same numbers
 *   node test/sim/main.ts --minutes 60              fresh seeds until the time is over, then what was simulated
 *   node test/sim/main.ts --cluster --minutes 60    the same of clusters over a replicated log
 */
import { parseArgs } from 'node:util';
import { simulate, simulateCluster } from './simulate.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    steps: { type: 'string', default: '2000' },
    minutes: { type: 'string' },
    cluster: { type: 'boolean', default: false },
  },
});
const steps = Number(values.steps);
const firstSeed = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
const endMs = Date.now() + Number(values.minutes ?? 0) * 60_000;

const totals: Record<string, number> = {};
let worlds = 0;
for (let seed = firstSeed; worlds === 0 || Date.now() < endMs; seed++) {
  console.log(`seed ${seed}, ${steps} commands`);
  const run = values.cluster ? await simulateCluster(seed, steps) : await simulate(seed, steps);
  for (const [name, count] of Object.entries(run)) totals[name] = (totals[name] ?? 0) + count;
  worlds++;
}
const counts = Object.entries(totals).map(([name, count]) => `${count} ${name}`);
console.log(`${worlds} worlds: ${counts.join(', ')}; no divergence`);
