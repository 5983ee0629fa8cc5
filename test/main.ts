/** `npm test`: every *.test.ts, many of them together in a process (support/together.ts). Ends with 1 if one failed. */
import { passes } from './support/testRun.ts';
import { suiteFiles } from './support/together.ts';

/** Two for each processor of a small machine, because many tests wait for a server most of the time. */
const CONCURRENCY = 4;

process.exit((await passes(suiteFiles(), { concurrency: CONCURRENCY, repeatsFailed: false })) ? 0 : 1);
