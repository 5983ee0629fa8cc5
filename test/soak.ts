/**
 * `npm run soak -- --minutes 60`: what the suite does a few times, many times over and with other seeds, and the proofs
 * that are too slow for the suite (*.soak.ts). A round runs every file below once, then the simulator for as long;
 * rounds follow while there is time for a whole one. The first round is always whole, so that a short run leaves
 * nothing out.
 *
 *     --seed 7    seed of the first round; each round has the next one
 *
 * Ends with 1 when anything failed. Titles print the seed: `SOAK=on SEED=7 node shared/run.mjs --test <file>` does it
 * again.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  },
});

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILES = [
  ...globSync('test/**/*.soak.ts', { cwd: ROOT }),
  ...globSync('test/hostile/*.test.ts', { cwd: ROOT }),
  'test/api/replace.test.ts',
  'test/fault/bitflips.test.ts',
  'test/fault/clientStream.test.ts',
  'test/fault/idempotency.test.ts',
  'test/fault/kill.test.ts',
  'test/fault/load.test.ts',
  'test/fault/privateStream.test.ts',
  'test/fault/syscalls.test.ts',
  'test/fuzz/http.test.ts',
  'test/fuzz/websocket.test.ts',
  'test/sim/equivalence.test.ts',
  'test/unit/engine/verify/checkBoard.test.ts',
  'test/unit/engine/verify/verify.test.ts',
  'test/unit/gateway/stream/private/log.test.ts',
  'test/unit/gateway/stream/private/tail.test.ts',
];
const MINUTE_MS = 60_000;

/** @returns true if it ended with 0. */
function run(args: readonly string[], env: Record<string, string> = {}): boolean {
  const options = { cwd: ROOT, env: { ...process.env, ...env }, stdio: 'inherit' } as const;
  return spawnSync(process.execPath, [...STRIPPED_BEFORE, ...args], options).status === 0;
}

const endMs = Date.now() + Number(values.minutes) * MINUTE_MS;
let failures = 0;
for (let seed = Number(values.seed); seed === Number(values.seed) || Date.now() < endMs; seed++) {
  console.log(`\n== round with seed ${seed}`);
  const startMs = Date.now();
  const flags = ['--test', '--test-concurrency=2', '--test-reporter=spec'];
  if (!run([...flags, ...FILES], { SOAK: 'on', SEED: String(seed) })) failures++;
  const nowMs = Date.now();
  const roundMs = nowMs - startMs;
  const leftMs = Math.max(0, endMs - nowMs);
  // The simulator has what is left when another round would not end in time.
  const simulatorMs = leftMs < 2 * roundMs ? leftMs : roundMs;
  if (!run(['test/sim/main.ts', '--minutes', String(simulatorMs / MINUTE_MS)])) failures++;
}
console.log(failures === 0 ? '\nnothing failed' : `\n${failures} runs failed`);
process.exit(failures === 0 ? 0 : 1);
