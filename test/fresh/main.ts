/**
 * `npm run test:fresh`: the exchange and the packages of the client on machines that have a Node and nothing else. Two
 * files at a time; the programs that they run with are installed once.
 */
import { passes } from '../support/testRun.ts';
import { IS_SUPPORTED, installPrograms } from './nodes.ts';

const FILES = ['install', 'package', 'client', 'newerNode'].map((name) => `test/fresh/${name}.ts`);

if (IS_SUPPORTED) installPrograms();
process.exit((await passes(FILES, { concurrency: 2, repeatsFailed: false })) ? 0 : 1);
