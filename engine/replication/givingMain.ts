/**
 * Entry point of the thread that gives a member that joins a copy of this one's files: one thread for one attempt, so
 * that neither rows on their way into the log nor requests wait for a disk.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { NICE_IDLER, stepBack } from '../../shared/base/background.ts';
import { errorOf } from '../../shared/base/thrown.ts';
import type { Statement } from './command.ts';
import { type Connection, Servers } from './connection.ts';
import { type Attempt, CopyTable } from './copyTable.ts';
import type { GiveOptions } from './giver.ts';
import { Giving, NotWantedError } from './giving.ts';

const READ_WITHIN_MS = 10_000;

assert(parentPort !== null, 'giving: runs as a worker thread');
const port = parentPort;
const options: GiveOptions = workerData;
stepBack(NICE_IDLER);
const connection = await new Servers(options.url, options).connect('read');
const table = new CopyTable({ read: (statement, values) => read(connection, statement, values) }, options.cluster);
const { attempt } = options;
try {
  await new Giving({ ...options, table, copyControl }).run();
} catch (error) {
  if (error instanceof NotWantedError) await table.end(attempt);
  else await fail(attempt, errorOf(error));
}
await connection.close();
port.close();

async function fail(failed: Attempt, { message }: Error): Promise<void> {
  port.postMessage({ failed: message });
  await table.fail(failed, message);
}

async function read<Row>(on: Connection, statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
  return (await on.runWithin<Row>(READ_WITHIN_MS, statement, values)).rows;
}

/** The gateway thread has the only connection to control.db. */
function copyControl(path: string, atLeast: number): Promise<void> {
  return new Promise((resolve, reject) => {
    port.once('message', (problem: string | null) => (problem === null ? resolve() : reject(new Error(problem))));
    port.postMessage({ copyControl: { path, atLeast } });
  });
}
