/**
 * `npm run test:chain`: the tests of trading in which money moves once more, with every server settling on a local
 * chain. At the end of each server everything has to settle there, and each balance of the ledger has to be that of the
 * chain. `support/leftOutOnChain.ts` says which files of test/api are not run, and why.
 *
 *     --repeat-failed      repeats a file that failed; it counts only if it fails again
 *
 * `BACKEND=chain node shared/run.mjs --test test/api/funds.test.ts` runs one file so.
 */
import { NO_ANVIL } from './chain/anvil.ts';
import { buildPrograms } from './support/builtPrograms.ts';
import { LONG_FILE_LIMIT_MS, PROCESSES, passes } from './support/testRun.ts';

if (NO_ANVIL) {
  console.log(`skipped: ${NO_ANVIL}`);
  process.exit(0);
}
process.env['BACKEND'] = 'chain';
await buildPrograms();
const { chainSuiteFiles } = await import('./support/together.ts');
const repeatsFailed = process.argv.includes('--repeat-failed');
const options = { concurrency: PROCESSES, fileLimitMs: LONG_FILE_LIMIT_MS, repeatsFailed };
process.exit((await passes(chainSuiteFiles(), options)) ? 0 : 1);
