/**
 * Thread that writes idempotency.db, so that nobody else waits for its disk. One batch of answers is one transaction;
 * when it is durable its number goes back. Whatever goes wrong ends the thread, and the next one is given the batch
 * again.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/assert.ts';
import type { JournalSync } from '../../shared/threads.ts';
import { type AnswerBatch, AnswerWriter } from './answerDb.ts';

export type WriterOptions = { readonly path: string; readonly sync: JournalSync };
/** Nothing of the rows: the thread is up. */
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
