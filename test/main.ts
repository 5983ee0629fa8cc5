/**
 * `npm test`: every *.test.ts but those that take long (support/longFiles.ts), many of them together in a process
 * (support/together.ts); `npm run test:long` is this program with `--long`, and has the others. Ends with 1 if one
 * failed. `npm test -- api/orders unit/tidy` runs only the files whose paths have one of these parts, in the processes
 * that they share in the suite. With `--repeat-failed` a file that fails is repeated alone, and counts only if it fails
 * again. With `--times` it says at the end which files have used how much of the processor.
 *
 * `npm test -- --changed` runs the tests that the changes since the last commit touch (support/changedTests.ts), and
 * `npm test -- --changed main` those of the changes since this branch left main.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildPrograms } from './support/builtPrograms.ts';
import { ChangedTests, changedFiles } from './support/changedTests.ts';
import { LONG_FILES } from './support/longFiles.ts';
import { keepTemporaryFilesInMemory } from './support/memoryDisk.ts';
import { LONG_FILE_LIMIT_MS, LONG_PROCESSES, PROCESSES, passes } from './support/testRun.ts';

/** Otherwise each of the first processes would remove the types, all at the same time. */
const STRIP = fileURLToPath(new URL('../shared/base/stripFolder.mjs', import.meta.url));
const ROOT = fileURLToPath(new URL('..', import.meta.url));
spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', STRIP, 'engine', 'gateway', 'shared', 'test'], {
  cwd: ROOT,
  stdio: 'inherit',
});

const repeatsFailed = process.argv.includes('--repeat-failed');
const countsTime = process.argv.includes('--times');
const isLong = process.argv.includes('--long');
/** So many files: building the programs costs as much of the processor as ten starts from the sources. */
const WORTH_BUILDING = isLong ? 1 : 10;
if (!isLong) keepTemporaryFilesInMemory();
// The entries of the groups read it too, in their processes.
const parts = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const names = process.argv.includes('--changed') ? namesOfChange(parts[0] ?? null) : parts;
process.env['TEST_NAMES'] = names.join(' ');
const { filesOverProcesses, longSuiteFiles, suiteFiles } = await import('./support/together.ts');
const files = isLong ? longSuiteFiles() : suiteFiles();
if (files.length === 0) {
  console.error(`no file of ${isLong ? 'npm run test:long' : 'npm test'} has ${names.join(' or ')} in its path`);
  process.exit(1);
}
if (filesOverProcesses(isLong).length >= WORTH_BUILDING) await buildPrograms();
const limits = isLong ? { concurrency: LONG_PROCESSES, fileLimitMs: LONG_FILE_LIMIT_MS } : { concurrency: PROCESSES };
process.exit((await passes(files, { ...limits, repeatsFailed, countsTime })) ? 0 : 1);

/** Of the suite, for the long ones may take a quarter of an hour; those are named. Ends where nothing has changed. */
function namesOfChange(base: string | null): string[] {
  const changed = changedFiles(ROOT, base);
  if (changed.length === 0) {
    console.log(`nothing has changed since ${base ?? 'the last commit'}`);
    process.exit(0);
  }
  const tests = new ChangedTests(ROOT).of(changed);
  const long = tests.filter((test) => test in LONG_FILES);
  console.log(`${changed.length} changed files touch ${tests.length - long.length} test files`);
  if (long.length > 0) console.log(`and long ones, which do not run now: npm run test:long -- ${long.join(' ')}`);
  return tests.filter((test) => !(test in LONG_FILES));
}
