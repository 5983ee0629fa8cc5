/**
 * The thread that writes idempotency.db, so that no other thread waits for its disk. One batch of answers is one
 * transaction, and `kept` is sent back once it is durable. Any error ends the thread, and the next one gets the batch
 * again.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import type { JournalSync } from '../../shared/wire/threads.ts';
import { type AnswerBatch, AnswerWriter } from './answerDb.ts';

export type WriterOptions = { readonly path: string; readonly sync: JournalSync };
/** `ready` is sent once, at the start; `kept` after each batch, once it is durable. */
export type WriterMessage = 'ready' | 'kept';

assert(parentPort !== null, 'idempotency: the writer runs as a worker thread');
const port = parentPort;
const { path, sync } = workerData as WriterOptions;
const writer = new AnswerWriter(path, sync);
const say = (message: WriterMessage): void => port.postMessage(message);
port.on('message', (message: AnswerBatch | 'stop') => {
  if (message === 'stop') {
    writer.close();
    port.close();
    return;
  }
  writer.write(message);
  say('kept');
});
say('ready');
