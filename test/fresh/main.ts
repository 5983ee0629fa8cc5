/**
 * `npm run test:fresh`: the exchange and the packages of the client on machines that have a Node and nothing else. Two
 * files at a time; the programs that they run with are installed once. `--repeat-failed` runs failed files once more.
 */
import { LONG_FILE_LIMIT_MS, passes } from '../support/testRun.ts';
import { IS_SUPPORTED, installPrograms } from './nodes.ts';

const FILES = ['install', 'package', 'client', 'newerNode'].map((name) => `test/fresh/${name}.ts`);

if (IS_SUPPORTED) installPrograms();
const repeatsFailed = process.argv.includes('--repeat-failed');
process.exit((await passes(FILES, { concurrency: 2, repeatsFailed, fileLimitMs: LONG_FILE_LIMIT_MS })) ? 0 : 1);
