/**
 * Entry point of the replication thread: the only one that speaks to the database of the replicated log. A process has
 * one if it is a member of a cluster (JOURNAL=postgres), and no other code of this room is loaded without it.
 * Owner: this thread has the connections, and writes the memory of replication.ts.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { LogOrderProducer } from '../../shared/wire/logOrder.ts';
import type { ReplicationMessage, ReplicationOptions, ReplicationRequest } from '../../shared/wire/threads.ts';
import { NotAMemberError } from './log.ts';
import { Member } from './member.ts';
import { Outboxes } from './outboxes.ts';
import { OwnFiles } from './ownFiles.ts';
import { PostgresLog } from './postgresLog.ts';
import { THREAD_TIMING } from './timing.ts';

const RETRY_MS = 500;

assert(parentPort !== null, 'replication: runs as a worker thread');
const port = parentPort;
const given: ReplicationOptions = workerData;
const options = { ...given, formats: FORMATS };
const order = new LogOrderProducer(options.order);
let isStopped = false;
let member: Member | null = null;

port.on('message', (request: ReplicationRequest) => {
  if (request !== 'stop') {
    member?.receive(request);
    return;
  }
  isStopped = true;
  // Without this exit the timer of the stop would keep the thread alive after everything has ended.
  void (member?.stop() ?? Promise.resolve()).finally(() => process.exit());
});
await start();

async function start(): Promise<void> {
  while (!isStopped) {
    let log: PostgresLog | null = null;
    try {
      log = await PostgresLog.open(options);
      const files = new OwnFiles(options, log, post);
      const outboxes = new Outboxes(options.outboxes);
      member = new Member({ options, log, outboxes, order, files, timing: THREAD_TIMING, post });
      await member.open();
      return;
    } catch (error) {
      const message = errorMessage(error);
      // The next attempt has connections of its own.
      await log?.close();
      if (error instanceof NotAMemberError) {
        post({ lost: message });
        return;
      }
      post({ unreachable: message });
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function post(message: ReplicationMessage): void {
  port.postMessage(message);
}
