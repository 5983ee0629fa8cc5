/**
 * The thread that writes idempotency.db, so that no other thread waits for its disk. One batch of answers is one
 * transaction; its result is sent back once it is durable. On a full disk nothing changes, and the batch is sent again
 * later; another member's records wait here, in order. Any other error ends the thread, and the next thread receives
 * everything again.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { isDiskFull } from '../../shared/base/diskFull.ts';
import { RecordError } from '../../shared/records/bytes.ts';
import type { FileRecord } from '../../shared/records/recordedFile.ts';
import type { JournalSync } from '../../shared/wire/threads.ts';
import type { AnswerBatch } from './answerBatch.ts';
import { AnswerWriter, type BatchRecord, type KeptAnswers } from './answerDb.ts';

export type WriterOptions = { readonly path: string; readonly sync: JournalSync };
/**
 * `ready` is sent once at the start; after each batch a message reports that it is durable, or that the disk is full.
 */
export type WriterMessage =
  | 'ready'
  | 'full'
  | KeptAnswers
  /** In a cluster: another member's record has no room, is durable here, or contradicts this file. */
  | 'waits'
  | { readonly applied: number }
  | { readonly refused: string };

/** One transaction; in a cluster with its record, where this member leads. */
export type WriterBatch = AnswerBatch & { readonly record: BatchRecord | null };
/** Time after which a full disk is tried again. */
const FULL_RETRY_MS = 1000;

type WriterRequest = WriterBatch | { readonly apply: FileRecord } | 'stop';

assert(parentPort !== null, 'idempotency: the writer runs as a worker thread');
const port = parentPort;
const { path, sync }: WriterOptions = workerData;
const writer = new AnswerWriter(path, sync);
/** Another member's records; records after one that waits for room wait too. */
const toApply: FileRecord[] = [];
const say = (message: WriterMessage): void => port.postMessage(message);
port.on('message', (message: WriterRequest) => {
  if (message === 'stop') {
    // A batch that was sent after the stop is still delivered; the end of the thread shows that it was not stored.
    port.removeAllListeners('message');
    writer.close();
    port.close();
    return;
  }
  if (!('apply' in message)) say(tryWrite(message));
  else if (toApply.push(message.apply) === 1) applyAll();
});
say('ready');

function applyAll(): void {
  for (let record = toApply[0]; record !== undefined; record = toApply[0]) {
    const message = tryApply(record);
    say(message);
    if (message === 'waits') {
      setTimeout(applyAll, FULL_RETRY_MS).unref();
      return;
    }
    toApply.shift();
  }
}

function tryApply(record: FileRecord): WriterMessage {
  try {
    writer.apply(record);
  } catch (error) {
    if (error instanceof RecordError) return { refused: error.message };
    if (isDiskFull(error, path)) return 'waits';
    throw error;
  }
  return { applied: record.sequence };
}

function tryWrite(batch: WriterBatch): WriterMessage {
  try {
    writer.write(batch, batch.record);
  } catch (error) {
    if (isDiskFull(error, path)) return 'full';
    throw error;
  }
  return writer.kept(batch.nowMs);
}
