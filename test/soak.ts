/**
 * `npm run soak -- --minutes 60`: what the suite does a few times, many times over and with other seeds, and the proofs
 * that are too slow for the suite (*.soak.ts). A round runs every file below once, then the simulator for as long;
 * rounds follow while there is time for a whole one. The first round is always whole, so that a short run leaves
 * nothing out but most of the clusters, which would take a quarter of an hour.
 *
 *     --seed 7             seed of the first round; each round has the next one
 *     --repeat-failed      repeats a file that failed; the round fails only if it fails again
 *
 * Ends with 1 when anything failed. Titles print the seed: `SOAK=on SEED=7 node shared/run.mjs --test <file>` does it
 * again.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';
import { passes } from './support/testRun.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    'repeat-failed': { type: 'boolean', default: false },
  },
});

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILES = [
  ...globSync('test/**/*.soak.ts', { cwd: ROOT }),
  ...globSync('test/hostile/*.test.ts', { cwd: ROOT }),
  'test/api/replace.test.ts',
  'test/chain/day.test.ts',
  'test/chain/engine.test.ts',
  'test/chain/fiatWorlds.test.ts',
  'test/chain/invariant.test.ts',
  'test/fault/bitflips.test.ts',
  'test/fault/clientStream.test.ts',
  'test/fault/fiat.test.ts',
  'test/fault/idempotency.test.ts',
  'test/fault/kill.test.ts',
  'test/fault/load.test.ts',
  'test/fault/privateStream.test.ts',
  'test/fault/syscalls.test.ts',
  'test/fuzz/http.test.ts',
  'test/fuzz/websocket.test.ts',
  'test/sim/cluster.test.ts',
  'test/sim/equivalence.test.ts',
  'test/sim/fiat.test.ts',
  'test/unit/engine/verify/checkBoard.test.ts',
  'test/unit/engine/verify/kernel/batchVerdicts.test.ts',
  'test/unit/engine/verify/kernel/ecdsaVectors.test.ts',
  'test/unit/engine/verify/kernel/forgeries.test.ts',
  'test/unit/engine/verify/kernel/verdicts.test.ts',
  'test/unit/engine/verify/verify.test.ts',
  'test/unit/gateway/queries/historyOracle.test.ts',
  'test/unit/gateway/sessions/sessions.test.ts',
  'test/unit/gateway/stream/private/log.test.ts',
  'test/unit/gateway/stream/private/tail.test.ts',
];
const MINUTE_MS = 60_000;
/** Clusters of real processes, which mostly wait: for leases, for a network that is cut, for the end of a day. */
const CLUSTERS = globSync('test/cluster/*.test.ts', { cwd: ROOT }).sort();
const CLUSTERS_OF_SHORT_SOAK = 3;
const HOUR = 60;

/** All files of clusters in a soak of an hour; in a shorter one a few, by the seed. */
function clusterFiles(seed: number): readonly string[] {
  if (Number(values.minutes) >= HOUR) return CLUSTERS;
  const first = seed % CLUSTERS.length;
  return [...CLUSTERS, ...CLUSTERS].slice(first, first + CLUSTERS_OF_SHORT_SOAK);
}

/** @returns true if no world diverged. */
function simulates(minutes: number): boolean {
  const args = [...STRIPPED_BEFORE, 'test/sim/main.ts', '--minutes', String(minutes)];
  return spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }).status === 0;
}

const endMs = Date.now() + Number(values.minutes) * MINUTE_MS;
let failures = 0;
for (let seed = Number(values.seed); seed === Number(values.seed) || Date.now() < endMs; seed++) {
  console.log(`\n== round with seed ${seed}`);
  const startMs = Date.now();
  Object.assign(process.env, { SOAK: 'on', SOAK_MINUTES: values.minutes, SEED: String(seed) });
  if (!(await passes([...FILES, ...clusterFiles(seed)], { concurrency: 2, repeatsFailed: values['repeat-failed'] })))
    failures++;
  const nowMs = Date.now();
  const roundMs = nowMs - startMs;
  const leftMs = Math.max(0, endMs - nowMs);
  // The simulator has what is left when another round would not end in time.
  const simulatorMs = leftMs < 2 * roundMs ? leftMs : roundMs;
  if (!simulates(simulatorMs / MINUTE_MS)) failures++;
}
console.log(failures === 0 ? '\nnothing failed' : `\n${failures} runs failed`);
process.exit(failures === 0 ? 0 : 1);
