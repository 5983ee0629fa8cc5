/** The other end of a two-thread ring test: takes every record, checks it, and sends it back. Runs as a worker. */
import { isMainThread, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';

/** 16 to 264 bytes, in no simple rhythm with the capacity of a ring. */
export function lengthOf(index: number): number {
  return 16 + ((Math.imul(index, 0x9e3779b1) >>> 27) & 31) * 8;
}

/** Over everything but the checksum's own word 3. */
export function checksumOf(words: Uint32Array, word: number, lengthBytes: number): number {
  let sum = lengthBytes;
  for (let i = 1; i < lengthBytes / 4; i++) if (i !== 3) sum = (Math.imul(sum, 31) + words[word + i]) >>> 0;
  return sum;
}

type Data = { there: SharedArrayBuffer; back: SharedArrayBuffer; records: number };

if (!isMainThread) {
  const { there, back, records } = workerData as Data;
  const consumer = new RingConsumer(there);
  const producer = new RingProducer(back);
  for (let index = 0; index < records; ) {
    const word = consumer.next();
    if (word < 0) {
      consumer.release();
      producer.publish();
      consumer.waitSync(60_000);
      continue;
    }
    const lengthBytes = consumer.words[word];
    assert(consumer.words[word + 2] === index, 'ring test: records arrive in order');
    assert(consumer.words[word + 3] === checksumOf(consumer.words, word, lengthBytes), 'ring test: records are whole');
    let to = producer.tryClaim(lengthBytes, 0);
    while (to < 0) {
      producer.publish();
      producer.waitForRoom(60_000);
      to = producer.tryClaim(lengthBytes, 0);
    }
    for (let i = 1; i < lengthBytes / 4; i++) producer.words[to + i] = consumer.words[word + i];
    index++;
  }
  consumer.release();
  producer.publish();
}
