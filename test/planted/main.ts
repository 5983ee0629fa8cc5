/**
 * Tests that cannot fail prove nothing: this puts one fault after the other (faults.ts) into a copy of the project,
 * runs the tests that are to notice it, and says whether they did and what they said (npm run planted). Ends with 1
 * unless the tests pass without a fault and every fault was caught. With an argument, only the faults with that text in
 * their name or their file (npm run planted -- snapshot).
 */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';
import { FAULTS, type Fault } from './faults.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** All that the tests in faults.ts load. */
const COPIED = ['package.json', 'data/schema', 'engine', 'gateway', 'shared', 'test'];
/** A fault may as well make a test wait for ever. The runner ends what it started; failing that, it is ended itself. */
const TEST_LIMIT_MS = 60_000;
const RUNNER_LIMIT_MS = 90_000;
const LINE = 110;

const [wanted = ''] = process.argv.slice(2);
const chosen = FAULTS.filter(({ name, file }) => name.includes(wanted) || file.includes(wanted));
const copy = temporaryDirectory();
for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
process.exitCode = plantAll() ? 0 : 1;

function plantAll(): boolean {
  const tests = new Set(chosen.map(({ caughtBy }) => caughtBy));
  const broken = [...tests].filter((path) => failureOf(path) !== undefined);
  if (broken.length > 0) {
    console.log(`fails without any fault, so it shows nothing: ${broken.join(', ')}`);
    return false;
  }
  const caught = chosen.filter((fault) => {
    const startedMs = performance.now();
    const failure = failureWith(fault);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(5);
    const verdict = failure === undefined ? 'NOT CAUGHT' : 'caught    ';
    console.log(`${verdict} ${seconds} s  ${fault.name.padEnd(66)} ${fault.caughtBy}`);
    if (failure !== undefined) console.log(`${' '.repeat(20)}${failure}`);
    return failure !== undefined;
  });
  console.log(`${caught.length} of ${chosen.length} caught`);
  return caught.length === chosen.length && chosen.length > 0;
}

function failureWith({ name, file, search, replace, caughtBy }: Fault): string | undefined {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  const parts = source.split(search);
  if (parts.length !== 2) throw new Error(`'${name}': ${file} has ${parts.length - 1} places to put it, not one`);
  writeFileSync(path, parts.join(replace));
  try {
    return failureOf(caughtBy);
  } finally {
    writeFileSync(path, source);
  }
}

/** The first line of a failing test's message; undefined when it passes. */
function failureOf(testPath: string): string | undefined {
  const flags = ['--disable-warning=ExperimentalWarning', '--test', '--test-reporter=tap'];
  const options = { cwd: copy, timeout: RUNNER_LIMIT_MS, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  const run = spawnSync(process.execPath, [...flags, `--test-timeout=${TEST_LIMIT_MS}`, testPath], options);
  if (run.status === 0) return undefined;
  if (/SyntaxError|ERR_MODULE_NOT_FOUND|ERR_INVALID_TYPESCRIPT/.test(run.stdout)) {
    throw new Error(`the fault is no program any more: ${run.stdout}`);
  }
  const [, oneLine, firstOfMany] = /^ *error: (?:'(.*)'|\|-\n *(.*))$/m.exec(run.stdout) ?? [];
  return (oneLine ?? firstOfMany ?? 'it did not end').slice(0, LINE);
}
