/**
 * `npm run soak -- --minutes 60`: what the suite does a few times, many times over and with other seeds, and the proofs
 * that are too slow for the suite (*.soak.ts). A round has every file with randomness once, in an order that its seed
 * draws, a few at a time; after each few the simulator runs for as long. Nothing begins once the minutes are over: a
 * short soak has a part of a round, and another one with another seed.
 *
 *     --seed 7             seed of the first round; each round has the next one
 *     --repeat-failed      repeats a file that failed; it counts only if it fails again
 *     kernel/forgeries     any number of parts of paths: only these files, without the simulator
 *
 * Ends with 1 when anything failed. Titles print the seed: `SOAK=on SEED=7 node shared/run.mjs --test <file>` does it
 * again.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';
import { Random } from './support/random.ts';
import { FILE_LIMIT_MS, passes } from './support/testRun.ts';

const { values, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    'repeat-failed': { type: 'boolean', default: false },
  },
});

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A test with randomness takes its seed, or its number of repetitions, from support/seeds.ts. */
const IS_RANDOM = /\b(?:seedOr|timesOf)\(/;
/** Clusters of real processes mostly wait: for leases, for a network that is cut, for the end of a day. */
const IS_OF_CLUSTER = /^test\/cluster\//;
const FILES = globSync('test/**/*.{test,soak}.ts', { cwd: ROOT, exclude: ['**/node_modules'] })
  .filter((file) => file.endsWith('.soak.ts') || IS_OF_CLUSTER.test(file) || IS_RANDOM.test(textOf(file)))
  .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  .sort();
const FILES_AT_A_TIME = 4;
const MINUTE_MS = 60_000;

const OPTIONS = {
  concurrency: 2,
  repeatsFailed: values['repeat-failed'],
  // The sizes of a long soak take as long.
  fileLimitMs: Math.max(FILE_LIMIT_MS, 2 * Number(values.minutes) * MINUTE_MS),
};

if (FILES.length === 0) {
  console.error(`no file of the soak has one of these in its path: ${parts.join(', ')}`);
  process.exit(1);
}
const endMs = Date.now() + Number(values.minutes) * MINUTE_MS;
let failures = 0;
for (let seed = Number(values.seed); Date.now() < endMs; seed++) {
  console.log(`\n== round with seed ${seed}`);
  Object.assign(process.env, { SOAK: 'on', SOAK_MINUTES: values.minutes, SEED: String(seed) });
  const files = new Random(seed).shuffled(FILES);
  while (files.length > 0 && Date.now() < endMs) {
    const startMs = Date.now();
    const chosen = files.splice(0, FILES_AT_A_TIME);
    if (!(await passes(chosen, OPTIONS))) failures++;
    const nowMs = Date.now();
    if (!simulates(seed * FILES.length + files.length, Math.min(nowMs - startMs, endMs - nowMs))) failures++;
  }
}
console.log(failures === 0 ? '\nnothing failed' : `\n${failures} runs failed`);
process.exit(failures === 0 ? 0 : 1);

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** @returns true if no world diverged. */
function simulates(firstSeed: number, forMs: number): boolean {
  if (forMs <= 0 || parts.length > 0) return true;
  const options = ['--seed', String(firstSeed), '--minutes', String(forMs / MINUTE_MS)];
  const args = [...STRIPPED_BEFORE, 'test/sim/main.ts', ...options];
  return spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }).status === 0;
}
