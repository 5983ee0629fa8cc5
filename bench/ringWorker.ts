/**
 * Thread entry of the ring bench's other side: consumes records until STOP and answers as its task says
 * (ringProtocol.ts).
 */
import { workerData } from 'node:worker_threads';
import { RingConsumer, RingProducer } from '../shared/wire/ring.ts';
import { ANSWER_BYTES, BODY_WORD, MARK, MESSAGE, type RingWorkerOptions, STOP } from './ringProtocol.ts';

const IDLE_WAIT_MS = 1000;
/** A shard releases space as rarely. */
const RELEASE_RECORDS = 256;

const options = workerData as RingWorkerOptions;
run(new RingConsumer(options.incoming), new RingProducer(options.outgoing));

function run(incoming: RingConsumer, outgoing: RingProducer): void {
  const { words } = incoming;
  let unreleased = 0;
  let sum = 0;
  for (;;) {
    const word = incoming.next();
    if (word < 0) {
      if (unreleased > 0) incoming.release();
      unreleased = 0;
      if (options.sleeps) incoming.waitSync(IDLE_WAIT_MS);
      continue;
    }
    // Every word is read, as by a real consumer: a rate of unread bytes would mean nothing.
    const end = word + (words[word] >>> 2);
    for (let index = word + BODY_WORD; index < end; index++) sum = (sum + words[index]) | 0;
    const type = words[word + 1];
    if (type === MARK || type === STOP || options.task === 'echo') answer(outgoing, sum);
    if (type === STOP) return;
    if (++unreleased === RELEASE_RECORDS) {
      incoming.release();
      unreleased = 0;
    }
  }
}

function answer(ring: RingProducer, value: number): void {
  const word = ring.tryClaim(ANSWER_BYTES, 0);
  ring.words[word + 1] = MESSAGE;
  ring.words[word + BODY_WORD] = value >>> 0;
  ring.publish();
}
