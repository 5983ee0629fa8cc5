/**
 * The simulator by hand (npm run sim, npm run soak):
 *
 *   node test/sim/main.ts --seed 7 --steps 5000     one world of 5000 commands; the same again for the same numbers
 *   node test/sim/main.ts --minutes 60              fresh seeds until the time is over, then what was simulated
 */
import { parseArgs } from 'node:util';
import { simulate, type Totals } from './simulate.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    steps: { type: 'string', default: '2000' },
    minutes: { type: 'string' },
  },
});
const steps = Number(values.steps);
const firstSeed = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
const endMs = Date.now() + Number(values.minutes ?? 0) * 60_000;

const totals: Totals = {
  commands: 0,
  accepted: 0,
  overtook: 0,
  fills: 0,
  crashes: 0,
  restarts: 0,
  batches: 0,
  undecided: 0,
};
let worlds = 0;
for (let seed = firstSeed; worlds === 0 || Date.now() < endMs; seed++) {
  console.log(`seed ${seed}, ${steps} commands`);
  const run = await simulate(seed, steps);
  for (const key of Object.keys(totals) as (keyof Totals)[]) totals[key] += run[key];
  worlds++;
}
const { commands, accepted, overtook, fills, crashes, restarts, batches, undecided } = totals;
console.log(
  `${worlds} worlds, ${commands} commands (${accepted} accepted, ${overtook} overtook, ${fills} fills), ` +
    `${batches} batches of signatures (${undecided} undecided), ` +
    `${crashes} crashes, ${restarts} starts, no divergence`,
);
