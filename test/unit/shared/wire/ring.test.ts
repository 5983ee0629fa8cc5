import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { COMMAND, claimCommand } from '../../../../shared/wire/commands.ts';
import { RingConsumer, RingProducer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer, PADDING_TYPE, RING } from '../../../../shared/wire/ringLayout.ts';
import { checksumOf, lengthOf } from '../../../support/ringTraffic.ts';

const CAPACITY = 4096;
/** Longer than any test: a lost wake-up is not hidden by a wait that ends by itself. */
const A_MINUTE = 60_000;

/** Both ends of a ring whose cursors have already come this far. */
function ringAt(cursor: number): { producer: RingProducer; consumer: RingConsumer } {
  const buffer = createRingBuffer(CAPACITY);
  const control = new Int32Array(buffer);
  control[RING.published] = cursor | 0;
  control[RING.released] = cursor | 0;
  return { producer: new RingProducer(buffer), consumer: new RingConsumer(buffer) };
}

function put(producer: RingProducer, lengthBytes: number, value: number, keepFree = 0): boolean {
  const word = producer.tryClaim(lengthBytes, keepFree);
  if (word < 0) return false;
  producer.words[word + 1] = 1;
  for (let i = 2; i < lengthBytes / 4; i++) producer.words[word + i] = value;
  return true;
}

/** Every record there is, as [length, value]; a torn one fails. */
function takeAll(consumer: RingConsumer): [number, number][] {
  const records: [number, number][] = [];
  for (let word = consumer.next(); word >= 0; word = consumer.next()) {
    const lengthBytes = consumer.words[word];
    const value = consumer.words[word + 2];
    for (let i = 2; i < lengthBytes / 4; i++) assert.equal(consumer.words[word + i], value);
    records.push([lengthBytes, value]);
  }
  return records;
}

describe('a ring', () => {
  it('shows nothing before it is published, and then everything in order', () => {
    const { producer, consumer } = ringAt(0);
    put(producer, 16, 1);
    put(producer, 24, 2);
    assert.equal(consumer.next(), -1);
    assert.equal(consumer.isEmpty(), true);
    producer.publish();
    assert.equal(consumer.isEmpty(), false);
    assert.deepEqual(takeAll(consumer), [
      [16, 1],
      [24, 2],
    ]);
    assert.equal(consumer.next(), -1);
  });

  it('knows which of two records was read first, wherever the cursors stand', () => {
    for (const cursor of [0, CAPACITY - 32, 2 ** 32 - 32]) {
      const { producer, consumer } = ringAt(cursor);
      for (let value = 0; value < 4; value++) put(producer, 16, value);
      producer.publish();
      const words = [consumer.next(), consumer.next(), consumer.next(), consumer.next()];
      for (const [early, word] of words.entries()) {
        for (const later of words.slice(early)) {
          assert.deepEqual([consumer.olderOf(word, later), consumer.olderOf(later, word)], [word, word]);
        }
      }
    }
  });

  it('keeps records that the consumer still needs when the rest is released, at any cursor positions', () => {
    for (const cursor of [0, 64, CAPACITY - 64, 2 ** 32 - 128]) {
      const { producer, consumer } = ringAt(cursor);
      while (put(producer, 64, 7));
      producer.publish();
      const taken = Array.from({ length: CAPACITY / 64 }, () => consumer.next());
      consumer.release(taken[0]);
      assert.equal(producer.usedBytes(), CAPACITY, `all is kept at ${cursor}`);
      consumer.release(taken[5]);
      assert.equal(producer.usedBytes(), CAPACITY - 5 * 64, `five are given back at ${cursor}`);
      for (let i = 0; i < 5; i++) assert.ok(put(producer, 64, 8), 'their room is used again');
      assert.ok(!put(producer, 64, 8), 'and no more than that');
      assert.equal(consumer.words[taken[5] + 2], 7);
      consumer.release();
      assert.equal(producer.usedBytes(), 5 * 64);
    }
  });

  it('takes exactly its capacity, then refuses until something is released', () => {
    const { producer, consumer } = ringAt(0);
    for (let i = 0; i < CAPACITY / 64; i++) assert.equal(put(producer, 64, i), true);
    assert.equal(producer.freeBytes(), 0);
    assert.equal(put(producer, 16, 99), false);
    producer.publish();
    assert.equal(takeAll(consumer).length, 64);
    assert.equal(put(producer, 16, 99), false, 'taken is not released');
    consumer.release();
    assert.equal(put(producer, 16, 99), true);
  });

  it('fills the end with padding where a record would not fit, and the consumer never sees it', () => {
    const { producer, consumer } = ringAt(CAPACITY - 24);
    assert.equal(producer.tryClaim(32, 0), 0, 'the record starts at the beginning of the data');
    assert.equal(producer.words[(CAPACITY - 24) / 4], 24);
    assert.equal(producer.words[(CAPACITY - 24) / 4 + 1], PADDING_TYPE);
    assert.equal(producer.freeBytes(), CAPACITY - 24 - 32);
    producer.words[1] = 1;
    producer.publish();
    assert.equal(consumer.next(), 0);
    assert.equal(consumer.next(), -1);
  });

  it('uses the end without padding where a record fits exactly', () => {
    const { producer, consumer } = ringAt(CAPACITY - 32);
    put(producer, 32, 5);
    put(producer, 16, 6);
    producer.publish();
    assert.equal(consumer.next(), (CAPACITY - 32) / 4);
    assert.equal(consumer.next(), 0);
  });

  it('counts padding as used: a record that would fit without it is refused', () => {
    const { producer, consumer } = ringAt(0);
    for (let i = 0; i < 63; i++) put(producer, 64, i);
    put(producer, 40, 63);
    producer.publish();
    consumer.next();
    consumer.release();
    // 24 bytes are free at the end and 64 at the start: 72 fit neither before nor after the wrap.
    assert.equal(producer.freeBytes(), 24);
    assert.equal(put(producer, 72, 64), false);
    assert.equal(put(producer, 64, 64), true);
  });

  it('keeps room for the urgent: a tenth of it is refused to orders and left to cancels', () => {
    const { producer } = ringAt(0);
    let places = 0;
    while (claimCommand(producer, COMMAND.PLACE.TYPE, 0, 1, 0, 0, 0) >= 0) places++;
    assert.equal(places, Math.floor((CAPACITY * 9) / 10 / COMMAND.PLACE.BYTES));
    let cancels = 0;
    while (claimCommand(producer, COMMAND.CANCEL.TYPE, 0, 1, 0, 0, 0) >= 0) cancels++;
    assert.ok(cancels >= Math.floor(CAPACITY / 10 / COMMAND.CANCEL.BYTES));
  });

  it('starts where the cursors stand: a second pair of ends goes on behind the first', () => {
    const buffer = createRingBuffer(CAPACITY);
    const first = new RingProducer(buffer);
    put(first, 16, 1);
    put(first, 16, 2);
    first.publish();
    const early = new RingConsumer(buffer);
    early.next();
    early.release();
    const late = new RingConsumer(buffer);
    const second = new RingProducer(buffer);
    put(second, 16, 3);
    second.publish();
    assert.deepEqual(takeAll(late), [
      [16, 2],
      [16, 3],
    ]);
  });

  it('refuses lengths that no reader could follow', () => {
    const { producer } = ringAt(0);
    assert.throws(() => producer.tryClaim(12, 0), /multiple of 8/);
    assert.throws(() => producer.tryClaim(0, 0), /multiple of 8/);
    assert.throws(() => producer.tryClaim(CAPACITY / 2 + 8, 0), /half of the ring/);
    assert.equal(producer.tryClaim(CAPACITY / 2, 0), 0);
  });

  it('finds room for half its capacity wherever the cursor stands', () => {
    for (let at = 0; at < CAPACITY; at += 8) {
      const { producer } = ringAt(at);
      assert.ok(producer.tryClaim(CAPACITY / 2, 0) >= 0, `at ${at}`);
    }
  });

  for (const [name, boundary] of [
    ['2^31', 2 ** 31],
    ['2^32', 2 ** 32],
  ] as const) {
    it(`runs over ${name}, where its cursors change sign or start again`, () => {
      const { producer, consumer } = ringAt(boundary - 3 * CAPACITY);
      let sent = 0;
      let received = 0;
      for (let round = 0; round < 400; round++) {
        const lengthBytes = 16 + (round % 17) * 24;
        while (put(producer, lengthBytes, sent)) sent++;
        assert.ok(producer.freeBytes() >= 0 && producer.freeBytes() <= CAPACITY);
        producer.publish();
        assert.equal(producer.usedBytes(), CAPACITY - producer.freeBytes());
        for (const [, value] of takeAll(consumer)) assert.equal(value, received++);
        consumer.release();
      }
      assert.equal(received, sent);
      assert.equal(producer.usedBytes(), 0);
    });
  }
});

describe('waiting', () => {
  it('ends at once when something is there already', async () => {
    const { producer, consumer } = ringAt(0);
    put(producer, 16, 1);
    producer.publish();
    await consumer.waitAsync();
    consumer.waitSync(A_MINUTE);
    assert.deepEqual(takeAll(consumer), [[16, 1]]);
  });

  it('ends when something is published', async () => {
    const { producer, consumer } = ringAt(0);
    const waiting = consumer.waitAsync();
    put(producer, 16, 1);
    producer.publish();
    await waiting;
    assert.deepEqual(takeAll(consumer), [[16, 1]]);
  });

  it('ends when a producer of another ring publishes whose bell this one is (RING-5)', async () => {
    const [bell, other] = [createRingBuffer(CAPACITY), createRingBuffer(CAPACITY)];
    const consumer = new RingConsumer(bell);
    const waiting = consumer.waitAsync();
    const producer = new RingProducer(other, bell);
    put(producer, 16, 1);
    producer.publish();
    await waiting;
    assert.deepEqual([consumer.isEmpty(), takeAll(new RingConsumer(other))], [true, [[16, 1]]]);
  });

  it('is not begun when a record comes into the other ring between the last look and the sleep (RING-5)', (t) => {
    const sleep = t.mock.method(Atomics, 'wait', () => 'timed-out');
    const [bell, other] = [createRingBuffer(CAPACITY), createRingBuffer(CAPACITY)];
    const [consumer, others] = [new RingConsumer(bell), new RingConsumer(other)];
    const producer = new RingProducer(other, bell);
    put(producer, 16, 1);
    producer.publish();
    assert.equal(
      consumer.waitSync(A_MINUTE, () => !others.isEmpty()),
      false,
    );
    assert.equal(sleep.mock.callCount(), 0);
  });

  it('ends by itself when nothing comes to a thread', () => {
    const { consumer } = ringAt(0);
    assert.equal(consumer.waitSync(1), false);
    assert.equal(consumer.next(), -1);
  });

  it('ends at a wake when nothing comes to an event loop', async () => {
    const { consumer } = ringAt(0);
    const waiting = consumer.waitAsync();
    consumer.wake();
    await waiting;
    assert.equal(consumer.next(), -1);
  });
});

/** Sends records to a worker that sends them back, at most `window` under way, and checks each on its return. */
async function echo(records: number, window: number): Promise<void> {
  const there = createRingBuffer(CAPACITY * 4);
  const back = createRingBuffer(CAPACITY);
  const url = new URL('../../../support/ringTraffic.ts', import.meta.url);
  const worker = new Worker(url, { workerData: { there, back, records } });
  const failed = new Promise<never>((_, reject) => worker.once('error', reject));
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const producer = new RingProducer(there);
  const consumer = new RingConsumer(back);
  let sent = 0;
  let received = 0;
  while (received < records) {
    while (sent < records && sent < received + window) {
      const word = producer.tryClaim(lengthOf(sent), 0);
      if (word < 0) break;
      fill(producer.words, word, sent++);
    }
    producer.publish();
    let word = consumer.next();
    if (word < 0) await Promise.race([consumer.waitAsync(), failed]);
    for (; word >= 0; word = consumer.next()) {
      const lengthBytes = consumer.words[word];
      assert.equal(consumer.words[word + 2], received);
      assert.equal(lengthBytes, lengthOf(received++));
      assert.equal(consumer.words[word + 3], checksumOf(consumer.words, word, lengthBytes));
    }
    consumer.release();
  }
  await Promise.race([ended, failed]);
  assert.equal(consumer.isEmpty(), true);
  assert.equal(producer.usedBytes(), 0);
}

function fill(words: Uint32Array, word: number, index: number): void {
  const lengthBytes = lengthOf(index);
  words[word + 1] = 1;
  words[word + 2] = index;
  for (let i = 4; i < lengthBytes / 4; i++) words[word + i] = Math.imul(index + i, 0x9e3779b1);
  words[word + 3] = checksumOf(words, word, lengthBytes);
}

/** A consumer whose producer publishes right after its look number `at`, counted from 1. */
class RacedConsumer extends RingConsumer {
  at = 0;
  onLook: () => void = () => undefined;

  override isEmpty(): boolean {
    const isEmpty = super.isEmpty();
    if (--this.at === 0) this.onLook();
    return isEmpty;
  }
}

describe('a consumer that is about to sleep', () => {
  it('does not, whichever look the record comes after (RING-4)', (t) => {
    let sleeps = 0;
    t.mock.method(Atomics, 'wait', () => {
      sleeps++;
      return 'timed-out';
    });
    for (let look = 1; look <= 20; look++) {
      const buffer = createRingBuffer(CAPACITY);
      const producer = new RingProducer(buffer);
      const consumer = new RacedConsumer(buffer);
      put(producer, 16, 1);
      consumer.at = look;
      consumer.onLook = () => producer.publish();
      assert.equal(consumer.waitSync(A_MINUTE), true);
    }
    assert.equal(sleeps, 0);
    assert.equal(ringAt(0).consumer.waitSync(A_MINUTE), false);
    assert.equal(sleeps, 1, 'an empty ring is slept on');
  });

  it('ends its wait at once when there is a record already', async () => {
    const { producer, consumer } = ringAt(0);
    put(producer, 16, 1);
    producer.publish();
    await consumer.waitAsync();
    assert.deepEqual(takeAll(consumer), [[16, 1]]);
  });
});

describe('a producer that is about to sleep', () => {
  it('does not when room was made since it looked (RING-4)', (t) => {
    let sleeps = 0;
    t.mock.method(Atomics, 'wait', () => {
      sleeps++;
      return 'timed-out';
    });
    const { producer, consumer } = ringAt(0);
    while (put(producer, 512, 1));
    producer.publish();
    producer.waitForRoom(A_MINUTE);
    assert.equal(sleeps, 1, 'a full ring is slept on');
    takeAll(consumer);
    consumer.release();
    producer.waitForRoom(A_MINUTE);
    assert.equal(sleeps, 1);
    assert.ok(put(producer, 512, 1));
  });
});

describe('two threads', () => {
  it('pass 200,000 records of any length there and back, none lost, torn or out of order', () =>
    echo(200_000, Number.POSITIVE_INFINITY));

  it('pass 20,000 records one at a time: each waits for the other, and no wake-up is lost', () => echo(20_000, 1));
});
