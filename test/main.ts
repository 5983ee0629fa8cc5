/** `npm test`: every *.test.ts, many of them together in a process (support/together.ts). Ends with 1 if one failed. */
import { passes } from './support/testRun.ts';
import { suiteFiles } from './support/together.ts';

/** Three for each processor of a small machine: most files wait for a server, or for a thread, half of the time. */
const CONCURRENCY = 6;

process.exit((await passes(suiteFiles(), { concurrency: CONCURRENCY, repeatsFailed: false })) ? 0 : 1);
