/**
 * How much does it cost to pass a record to another thread? Two real threads: records per second by size, one hop while
 * both sides are awake, and the round trip when both sleep in between, as the gateway and an idle shard do. Then the
 * same round trip with a real shard, for a command that writes nothing, and the share of a core that a whole server
 * needs while it is idle.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { assert } from '../shared/base/assert.ts';
import { HASH_BYTES } from '../shared/base/hex.ts';
import { RingConsumer, RingProducer } from '../shared/wire/ring.ts';
import { createRingBuffer } from '../shared/wire/ringLayout.ts';
import { startServer } from '../test/support/server.ts';
import { Histogram } from './histogram.ts';
import { LiveShard } from './liveShard.ts';
import { processSeconds } from './processStat.ts';
import { atLeast, atMost, type Goal, type Plot, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { ANSWER_BYTES, BODY_WORD, MARK, MESSAGE, type RingWorkerOptions, STOP } from './ringProtocol.ts';

const RING_BYTES = 1 << 20;
const RECORD_BYTES = [64, 128, 256, 512];
const THROUGHPUT_BYTES = 128 * 2 ** 20;
const AWAKE_ROUND_TRIPS = 200_000;
const IDLE_ROUND_TRIPS = 5000;
const WARM_UP_ROUND_TRIPS = 2000;
const IDLE_BYTES = 64;
const ROOM_WAIT_MS = 100;

const IDLE_SECONDS = 10;
/** After a start code is still being compiled. */
const SETTLE_MS = 8000;

const LEAST_RECORDS = 5_000_000;
const GOAL_BYTES = 256;
const MOST_HOP_US = 2;
const MOST_IDLE_TRIP_US = 15;
const MOST_IDLE_PERCENT = 1;

export async function run(): Promise<Report> {
  const rows: Row[] = [];
  let goalRate = 0;
  for (const bytes of RECORD_BYTES) {
    const steal = new StealMeter();
    const single = await measureRate(bytes, 1);
    const grouped = await measureRate(bytes, 32);
    if (bytes === GOAL_BYTES) goalRate = Math.max(single, grouped);
    rows.push({
      what: `${bytes} B records/s`,
      'published singly': single,
      'every 32': grouped,
      [STOLEN]: steal.percent(),
    });
  }
  const awakeSteal = new StealMeter();
  const hop = await measureAwakeHop();
  rows.push({
    what: 'one hop, both awake, us',
    p50: hop.quantileUs(0.5),
    p99: hop.quantileUs(0.99),
    [STOLEN]: awakeSteal.percent(),
  });
  const idleSteal = new StealMeter();
  const trip = await measureIdleRoundTrip();
  rows.push({
    what: 'round trip, both asleep, us',
    p50: trip.quantileUs(0.5),
    p99: trip.quantileUs(0.99),
    [STOLEN]: idleSteal.percent(),
  });
  const shardSteal = new StealMeter();
  const shardTrip = await measureShardRoundTrip();
  rows.push({
    what: 'command to a shard and its reply, both asleep, us',
    p50: shardTrip.quantileUs(0.5),
    p99: shardTrip.quantileUs(0.99),
    [STOLEN]: shardSteal.percent(),
  });
  const serverSteal = new StealMeter();
  const idlePercent = await measureIdleServer();
  rows.push({ what: 'an idle server, % of a core', mean: idlePercent, [STOLEN]: serverSteal.percent() });
  const goals: Goal[] = [
    atLeast(`${GOAL_BYTES} B records/s`, goalRate, LEAST_RECORDS),
    atMost('one hop under load: p50 us', hop.quantileUs(0.5), MOST_HOP_US),
    atMost('command to an idle shard and back: p50 us', shardTrip.quantileUs(0.5), MOST_IDLE_TRIP_US),
    atMost('an idle server: % of a core', idlePercent, MOST_IDLE_PERCENT),
  ];
  const settings =
    'one producer, one consumer, 1 MiB ring, every word written and read; a hop is half a round trip; ' +
    'asleep: this side in Atomics.waitAsync, the worker in Atomics.wait';
  const plots: Plot[] = [
    {
      title: 'A record to another thread and back',
      curves: [
        { name: 'one hop, both awake', points: hop.curve() },
        { name: 'round trip, both asleep', points: trip.curve() },
        { name: 'command to an idle shard and back', points: shardTrip.curve() },
      ],
    },
  ];
  return { bench: 'ring', settings, rows, goals, plots };
}

async function measureRate(recordBytes: number, publishEvery: number): Promise<number> {
  const peer = new Peer('count', true);
  const count = Math.ceil(THROUGHPUT_BYTES / recordBytes / publishEvery) * publishEvery;
  // The first part waits for the worker to start and for both sides to be compiled.
  let sum = await sendMarked(peer, recordBytes, count >>> 2, publishEvery);
  const start = performance.now();
  sum = (sum + (await sendMarked(peer, recordBytes, count, publishEvery))) | 0;
  const seconds = (performance.now() - start) / 1000;
  const received = await peer.stop();
  assert(received === sum >>> 0, 'ring: everything that was written was read');
  return count / seconds;
}

/** Sends many records and returns, with the sum of their words, when the worker has read the last of them. */
async function sendMarked(peer: Peer, recordBytes: number, count: number, publishEvery: number): Promise<number> {
  const sum = sendMany(peer.producer, recordBytes, count, publishEvery);
  while (!peer.trySend(MARK, ANSWER_BYTES, 0)) peer.producer.waitForRoom(ROOM_WAIT_MS);
  await peer.receive();
  return sum;
}

/** @returns the sum of all words written. */
function sendMany(ring: RingProducer, recordBytes: number, count: number, publishEvery: number): number {
  const { words } = ring;
  let sum = 0;
  for (let index = 1; index <= count; index++) {
    let word = ring.tryClaim(recordBytes, 0);
    while (word < 0) {
      ring.publish();
      ring.waitForRoom(ROOM_WAIT_MS);
      word = ring.tryClaim(recordBytes, 0);
    }
    words[word + 1] = MESSAGE;
    const end = word + (recordBytes >>> 2);
    for (let at = word + BODY_WORD; at < end; at++) words[at] = index;
    sum = (sum + Math.imul(index, wordsOf(recordBytes))) | 0;
    if (index % publishEvery === 0) ring.publish();
  }
  return sum;
}

function wordsOf(recordBytes: number): number {
  return recordBytes / 4 - BODY_WORD;
}

/** Half the round trip of a record and its answer, neither side ever going to sleep. */
async function measureAwakeHop(): Promise<Histogram> {
  const peer = new Peer('echo', false);
  const histogram = new Histogram();
  for (let index = -WARM_UP_ROUND_TRIPS; index < AWAKE_ROUND_TRIPS; index++) {
    const start = performance.now();
    peer.trySend(MESSAGE, IDLE_BYTES, index >>> 0);
    while (peer.consumer.next() < 0);
    if (index >= 0) histogram.record(((performance.now() - start) * 1e6) / 2);
    peer.consumer.release();
  }
  await peer.stop();
  return histogram;
}

async function measureIdleRoundTrip(): Promise<Histogram> {
  const peer = new Peer('echo', true);
  const histogram = new Histogram();
  for (let index = -WARM_UP_ROUND_TRIPS; index < IDLE_ROUND_TRIPS; index++) {
    const start = performance.now();
    peer.trySend(MESSAGE, IDLE_BYTES, index >>> 0);
    await peer.receive();
    if (index >= 0) histogram.record((performance.now() - start) * 1e6);
  }
  await peer.stop();
  return histogram;
}

/** A cancel of an order that does not exist: the shard looks it up and replies, and nothing has to be durable. */
async function measureShardRoundTrip(): Promise<Histogram> {
  const shard = await LiveShard.start();
  const hash = new Uint32Array(HASH_BYTES / 4).fill(7);
  const histogram = new Histogram();
  try {
    for (let index = -WARM_UP_ROUND_TRIPS; index < IDLE_ROUND_TRIPS; index++) {
      const start = performance.now();
      await shard.cancel(hash);
      if (index >= 0) histogram.record((performance.now() - start) * 1e6);
    }
  } finally {
    await shard.stop();
  }
  return histogram;
}

async function measureIdleServer(): Promise<number> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) }, { SHARDS: '' });
    assert(server.pid !== undefined, 'ring: the server runs');
    await sleep(SETTLE_MS);
    const before = processSeconds(server.pid);
    await sleep(IDLE_SECONDS * 1000);
    return (100 * (processSeconds(server.pid) - before)) / IDLE_SECONDS;
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

/** The worker at the other end of two rings. */
class Peer {
  readonly producer: RingProducer;
  readonly consumer: RingConsumer;
  readonly #worker: Worker;
  readonly #exit: Promise<unknown>;

  constructor(task: RingWorkerOptions['task'], sleeps: boolean) {
    const options: RingWorkerOptions = {
      incoming: createRingBuffer(RING_BYTES),
      outgoing: createRingBuffer(RING_BYTES),
      task,
      sleeps,
    };
    this.producer = new RingProducer(options.incoming);
    this.consumer = new RingConsumer(options.outgoing);
    this.#worker = new Worker(new URL('./ringWorker.ts', import.meta.url), { workerData: options });
    this.#exit = new Promise((resolve, reject) => this.#worker.once('exit', resolve).once('error', reject));
  }

  /** @returns false when the ring is full. */
  trySend(type: number, recordBytes: number, value: number): boolean {
    const word = this.producer.tryClaim(recordBytes, 0);
    if (word < 0) return false;
    const { words } = this.producer;
    words[word + 1] = type;
    words.fill(value, word + BODY_WORD, word + (recordBytes >>> 2));
    this.producer.publish();
    return true;
  }

  /** Resolves with the next answer. */
  async receive(): Promise<number> {
    for (;;) {
      const word = this.consumer.next();
      if (word >= 0) {
        const value = this.consumer.words[word + BODY_WORD];
        this.consumer.release();
        return value;
      }
      await this.consumer.waitAsync();
    }
  }

  /** @returns the worker's last answer. */
  async stop(): Promise<number> {
    this.trySend(STOP, ANSWER_BYTES, 0);
    const answer = await this.receive();
    await this.#exit;
    return answer;
  }
}
