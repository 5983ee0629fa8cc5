/**
 * `npm test`: every *.test.ts, many of them together in a process (support/together.ts). Ends with 1 if one failed.
 * With `--repeat-failed` a file that fails is repeated alone, and counts only if it fails again.
 */
import { passes } from './support/testRun.ts';
import { suiteFiles } from './support/together.ts';

/** Three for each processor of a small machine: most files wait for a server, or for a thread, half of the time. */
const CONCURRENCY = 6;

const repeatsFailed = process.argv.includes('--repeat-failed');
process.exit((await passes(suiteFiles(), { concurrency: CONCURRENCY, repeatsFailed })) ? 0 : 1);
