/**
 * `npm run soak -- --minutes 60`: what the suite does for seconds, for as long as one likes. Half of the time goes to
 * the simulator, then each fault test runs once with its large count. Ends with 1 when anything diverged.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    'kill-cycles': { type: 'string', default: '1000' },
    flips: { type: 'string', default: '20000' },
    'syscall-points': { type: 'string', default: '500' },
    'fuzz-runs': { type: 'string', default: '20000' },
  },
});

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const simMinutes = Math.max(1, Math.floor(Number(values.minutes) / 2));

type Step = { name: string; args: string[]; env: Record<string, string> };

const steps: Step[] = [
  { name: 'simulator', args: ['test/sim/main.ts', '--minutes', String(simMinutes)], env: {} },
  { name: 'bit flips', args: ['--test', 'test/fault/bitflips.test.ts'], env: { FLIPS: values.flips } },
  { name: 'kills', args: ['--test', 'test/fault/kill.test.ts'], env: { KILL_CYCLES: values['kill-cycles'] } },
  {
    name: 'system calls',
    args: ['--test', 'test/fault/syscalls.test.ts'],
    env: { SYSCALL_POINTS: values['syscall-points'] },
  },
  {
    name: 'hostile input',
    args: ['--test', 'test/fuzz/http.test.ts', 'test/fuzz/websocket.test.ts'],
    env: { FUZZ_RUNS: values['fuzz-runs'] },
  },
];

let failed = 0;
for (const { name, args, env } of steps) {
  console.log(`\n== ${name}`);
  const { status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  if (status !== 0) failed++;
}
console.log(failed === 0 ? '\nnothing diverged' : `\n${failed} of ${steps.length} steps failed`);
process.exit(failed === 0 ? 0 : 1);
