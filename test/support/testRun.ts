/**
 * Runs test files like `node --test`, and repeats failed ones, one after the other. A file that passes then is
 * unsteady: the run names it and goes on, because a commit is not refused for what a busy machine did to a test.
 */
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { temporaryDirectory } from './directory.ts';
import { DIRECTORY_SETTING, timesIn } from './processorTime.ts';

const COUNTER = new URL('./processorTime.ts', import.meta.url).href;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/**
 * Several times the duration of the longest file: a file that hangs, for example because it leaves something open,
 * fails then.
 */
export const FILE_LIMIT_MS = 20 * 60_000;
/**
 * For long tests and those on a chain. `fault/damages` starts two hundred exchanges: at a load of twenty, 18 of its 136
 * rows took six minutes. All of `test:chain` took nine where little else ran, most of it waiting for blocks.
 */
export const LONG_FILE_LIMIT_MS = 40 * 60_000;
/** Three for each processor of a small machine: most files wait for a server, or for a thread, half of the time. */
export const PROCESSES = 6;
/** Long files wait more than they compute: for leases, blocks and alerts. */
export const LONG_PROCESSES = 8;

/**
 * A setting of glibc for the processes of the tests. An engine begins with 16 MB of memory in which nearly everything
 * stays zero. Pages that the system gives are zero and cost nothing until they are written, but once a process has
 * freed such memory, glibc takes the next from its own heap, and zeroes it: 20 ms for each engine of thousands.
 */
const LARGE_FROM_SYSTEM = { MALLOC_MMAP_THRESHOLD_: String(4 << 20) };

type Options = {
  readonly concurrency: number;
  readonly repeatsFailed: boolean;
  /** Lists at the end the processor time of each file. */
  readonly countsTime?: boolean;
  /** FILE_LIMIT_MS if absent. */
  readonly fileLimitMs?: number;
};

/** @returns true if every file passed, at once or repeated */
export async function passes(files: readonly string[], options: Options): Promise<boolean> {
  const directory = options.countsTime ? temporaryDirectory() : null;
  if (directory !== null) process.env[DIRECTORY_SETTING] = directory;
  Object.assign(process.env, LARGE_FROM_SYSTEM);
  const { concurrency, fileLimitMs: timeout = FILE_LIMIT_MS } = options;
  const counting = directory === null ? [] : ['--import', COUNTER];
  const failed = await failedOf(files, { concurrency, timeout, execArgv: [...STRIPPED_BEFORE, ...counting] });
  if (directory !== null) printTimes(directory);
  if (failed.length === 0) return true;
  if (!options.repeatsFailed) return false;
  console.log(`\nrepeated alone: ${failed.join(', ')}`);
  const failedAgain = await failedOf(failed, { concurrency: 1, timeout, execArgv: [...STRIPPED_BEFORE] });
  const unsteady = failed.filter((file) => !failedAgain.includes(file));
  if (unsteady.length > 0) console.log(`\nunsteady, passed when repeated: ${unsteady.join(', ')}`);
  return failedAgain.length === 0;
}

function printTimes(directory: string): void {
  const times = timesIn(directory);
  const sum = times.reduce((all, { seconds }) => all + seconds, 0);
  console.log(`\nseconds of processor time: ${sum.toFixed(0)}`);
  for (const { file, seconds } of times) console.log(`${seconds.toFixed(2).padStart(8)}  ${file}`);
}

type RunOptions = NonNullable<Parameters<typeof run>[0]>;

async function failedOf(
  files: readonly string[],
  options: Pick<RunOptions, 'concurrency' | 'timeout' | 'execArgv'>,
): Promise<string[]> {
  const failed = new Set<string>();
  const events = run({ ...options, files: files.map((file) => join(ROOT, file)) });
  events.on('test:fail', ({ file, name }) => failed.add(relative(ROOT, file ?? name)));
  const text = events.compose(spec);
  text.pipe(process.stdout, { end: false });
  await once(text, 'end');
  return [...failed];
}
