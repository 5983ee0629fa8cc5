/**
 * The thread that writes idempotency.db, so that no other thread waits for its disk. One batch of answers is one
 * transaction; what is kept is sent back once it is durable. A full disk leaves everything as it was, and the batch is
 * sent again later. Any other error ends the thread, and the next one gets the batch again.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { isDiskFull } from '../../shared/base/diskFull.ts';
import type { JournalSync } from '../../shared/wire/threads.ts';
import { type AnswerBatch, AnswerWriter, type KeptAnswers } from './answerDb.ts';

export type WriterOptions = { readonly path: string; readonly sync: JournalSync };
/** `ready` is sent once, at the start; after each batch what is kept, once it is durable, or that the disk is full. */
export type WriterMessage = 'ready' | 'full' | KeptAnswers;

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
  say(tryWrite(message));
});
say('ready');

function tryWrite(batch: AnswerBatch): WriterMessage {
  try {
    writer.write(batch);
  } catch (error) {
    if (isDiskFull(error, path)) return 'full';
    throw error;
  }
  return writer.kept(batch.nowMs);
}
