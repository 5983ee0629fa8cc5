import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type NewRow,
  OutboxConsumer,
  OutboxProducer,
  Replication,
  type ReplicationState,
  STREAM,
} from '../../../../shared/wire/replication.ts';
import { RingConsumer, wakeConsumer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer, RING } from '../../../../shared/wire/ringLayout.ts';
import type { ReplicationMessage, ReplicationOptions, ReplicationRequest } from '../../../../shared/wire/threads.ts';
import { seededRandom } from '../../../support/random.ts';

const A_MINUTE = 60_000;

function outbox(): { producer: OutboxProducer; consumer: OutboxConsumer } {
  const buffer = createRingBuffer(4096);
  return { producer: new OutboxProducer(buffer), consumer: new OutboxConsumer(buffer) };
}

function row(stream: number, sequence: number, lengthBytes: number): NewRow {
  return { stream, sequence, bytes: Uint8Array.from({ length: lengthBytes }, (_, at) => (at * 7 + sequence) & 255) };
}

describe('the memory of replication', () => {
  it('keeps the streams of shards and of the gateway apart', () => {
    const replication = new Replication(Replication.create(2));
    const streams = [0, 1, STREAM.CONTROL, STREAM.ANSWERS, STREAM.SETTLEMENT, STREAM.AUDIT];
    assert.deepEqual(
      streams.map((stream) => replication.held(stream)),
      [0, 0, 0, 0, 0, 0],
    );
    for (const [index, stream] of streams.entries()) replication.setHeld(stream, 2 ** 40 + index);
    assert.deepEqual(
      streams.map((stream) => replication.held(stream) - 2 ** 40),
      [0, 1, 2, 3, 4, 5],
    );
    assert.throws(() => replication.held(2), /a shard has a stream/);
  });

  it('loses nothing that the log held, and ends for good when it is lost', () => {
    const replication = new Replication(Replication.create(1));
    assert.equal(replication.state(), 'starting' satisfies ReplicationState);
    replication.setEpoch(7);
    replication.setState('leader');
    replication.setHeld(0, 5);
    assert.throws(() => replication.setHeld(0, 4), /REPLICATION-1/);
    replication.setState('lost');
    assert.throws(() => replication.setState('leader'), /REPLICATION-4/);
    assert.equal(replication.epoch(), 7);
  });

  it('wakes who waits for a sequence, and says so when it will not come', async () => {
    const replication = new Replication(Replication.create(1));
    const held = replication.awaitHeld(STREAM.CONTROL, 2, A_MINUTE);
    replication.setHeld(STREAM.CONTROL, 1);
    replication.setHeld(STREAM.CONTROL, 2);
    assert.equal(await held, true);
    assert.equal(await replication.awaitHeld(STREAM.CONTROL, 3, 0), false);
    const lost = replication.awaitHeld(STREAM.CONTROL, 3, A_MINUTE);
    replication.setState('lost');
    assert.equal(await lost, false);
  });
});

describe('an outbox', () => {
  it('REPLICATION-3: with seed 11, gives rows of any length in order and whole, however little room there is', () => {
    const next = seededRandom(11);
    const { producer, consumer } = outbox();
    const lengths = Array.from({ length: 200 }, () =>
      next() < 0.2 ? Math.floor(next() * 20_000) : 1 + Math.floor(next() * 600),
    );
    const rows = lengths.map((length, index) => row(index % 3, index + 1, Math.max(1, length)));
    const taken: NewRow[] = [];
    for (const put of rows) {
      producer.put(put);
      if (next() < 0.5) taken.push(...all(consumer));
      producer.flush();
    }
    while (!producer.flush() || !consumer.isEmpty()) taken.push(...all(consumer));
    assert.deepEqual(taken, rows);
    assert.equal(consumer.next(), null);
  });

  it('keeps its content when the memory is reused', () => {
    const { producer, consumer } = outbox();
    const bytes = new Uint8Array(3000).fill(1);
    for (const sequence of [1, 2]) producer.put({ stream: 0, sequence, bytes });
    assert.equal(producer.isWaiting, true);
    bytes.fill(9);
    const taken = all(consumer);
    assert.equal(producer.flush(), true);
    taken.push(...all(consumer));
    assert.deepEqual(
      taken.map((one) => [one.sequence, one.bytes.every((byte) => byte === 1)]),
      [
        [1, true],
        [2, true],
      ],
    );
  });

  it('wakes the thread that takes rows out', async () => {
    const { producer, consumer } = outbox();
    const waiting = consumer.waitAsync();
    producer.put(row(STREAM.CONTROL, 1, 8));
    await waiting;
    assert.equal(consumer.next()?.sequence, 1);
    const woken = consumer.waitAsync();
    consumer.wake();
    await woken;
  });

  it('wakes nobody when there is nothing to hand over', async () => {
    const buffer = createRingBuffer(4096);
    const [producer, consumer] = [new OutboxProducer(buffer), new OutboxConsumer(buffer)];
    const waiting = consumer.waitAsync();
    assert.equal(producer.flush(), true);
    assert.equal(new Int32Array(buffer)[RING.asleep], 1);
    producer.put(row(0, 1, 8));
    assert.equal(new Int32Array(buffer)[RING.asleep], 0);
    await waiting;
  });
});

describe('a shard that waits for commands', () => {
  it('REPLICATION-2: does not sleep when what it waits for has come, and is woken by a third thread', () => {
    const buffer = createRingBuffer(4096);
    const consumer = new RingConsumer(buffer);
    let looks = 0;
    assert.equal(
      consumer.waitSync(A_MINUTE, () => ++looks > 0),
      false,
    );
    assert.equal(looks, 1);
    const control = new Int32Array(buffer);
    control[RING.asleep] = 1;
    wakeConsumer(buffer);
    assert.equal(control[RING.asleep], 0);
    wakeConsumer(buffer);
  });
});

describe('messages between the gateway and the replication thread', () => {
  it('can be copied from thread to thread', () => {
    const memory = Replication.create(1);
    const options: ReplicationOptions = {
      url: 'postgres://127.0.0.1/log',
      cluster: 'exchange',
      holder: 'a',
      address: 'http://127.0.0.1:8080',
      version: '1.0.0',
      isUnreplicatedAllowed: false,
      isUnsyncedAllowed: true,
      facts: { shards: '1' },
      memory,
      outboxes: [createRingBuffer(4096)],
      commandRings: [],
      order: createRingBuffer(4096),
    };
    const messages: ReplicationMessage[] = [
      { opened: { ends: [{ stream: 0, sequence: 2, position: 1, epoch: 1, lead: 1 }] } },
      { role: 'standby', leader: { holder: 'a', address: 'http://127.0.0.1:8080', epoch: 1 } },
      { rows: [{ ...row(0, 2, 16), position: 1, epoch: 1, lead: 1 }], end: 1, asOfMs: null },
    ];
    const requests: ReplicationRequest[] = [
      { follow: [{ stream: 0, sequence: 2, doneThrough: 1 }] },
      { applied: 1, durable: 1 },
      { numbered: 1 },
      { mayLead: true },
      'stop',
    ];
    assert.deepEqual(structuredClone(messages), messages);
    assert.deepEqual(structuredClone(requests), requests);
    assert.equal(structuredClone(options).memory.byteLength, memory.byteLength);
  });
});

function all(consumer: OutboxConsumer): NewRow[] {
  const rows: NewRow[] = [];
  for (let taken = consumer.next(); taken !== null; taken = consumer.next()) rows.push(taken);
  return rows;
}
