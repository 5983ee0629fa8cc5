/**
 * A shard's thread in a cluster of one shard. The test replaces the gateway and the replication thread: it takes the
 * rows out of the outbox, decides what the log holds, and posts rows to a following shard.
 */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { RULES_BEFORE } from '../../engine/core/rules.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { FORMATS, newestOf } from '../../shared/base/formats.ts';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { ZERO_ADDRESS } from '../../shared/crypto/eip712.ts';
import { NO_ROWS } from '../../shared/crypto/journalHeads.ts';
import { createBalances } from '../../shared/wire/balances.ts';
import { COMMAND, claimCommand, NO_MARKET } from '../../shared/wire/commands.ts';
import { decodeEvent, decodeEvents, type Event } from '../../shared/wire/events.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { type NewRow, OutboxConsumer, Replication } from '../../shared/wire/replication.ts';
import { RingConsumer, RingProducer, wakeConsumer } from '../../shared/wire/ring.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import { createShardMeters } from '../../shared/wire/shardMeters.ts';
import { createSpotMemory } from '../../shared/wire/spotLayout.ts';
import type { FollowRequest, ShardMessage, ShardThreadOptions } from '../../shared/wire/threads.ts';
import { temporaryDirectory } from './directory.ts';
import { eventually, within } from './eventually.ts';
import { TEST_SECRET } from './journalKey.ts';

const RING_BYTES = 1 << 16;
export const DEPOSIT_MICRO = 5_000_000;

export class ClusterShard {
  readonly journalPath: string;
  readonly replication: Replication;
  readonly progress: Progress;
  /** Every event that the shard has published so far. */
  readonly events: Event[] = [];
  readonly messages: ShardMessage[] = [];
  /** Rows that the shard has put into its outbox. */
  readonly rows: NewRow[] = [];
  readonly #worker: Worker;
  readonly #commandRing = createRingBuffer(RING_BYTES);
  readonly #commands = new RingProducer(this.#commandRing);
  readonly #events: RingConsumer;
  readonly #outbox: OutboxConsumer;
  /** Why the thread has ended; null without an error. */
  readonly #ended: Promise<Error | null>;

  /** @param engine the format of the lead's commands; with that of before the rules, its rows are those of the test */
  constructor(mode: 'lead' | 'follow', engine: number = RULES_BEFORE) {
    const directory = temporaryDirectory();
    this.journalPath = join(directory, 'journal-0.db');
    const [memory, outbox, eventRing] = [Replication.create(1), createRingBuffer(1 << 16), createRingBuffer(1 << 20)];
    const progress = Progress.create(1);
    this.replication = new Replication(memory);
    this.replication.setFormats({ ...newestOf(FORMATS), engine });
    this.progress = new Progress(progress);
    this.#outbox = new OutboxConsumer(outbox);
    this.#events = new RingConsumer(eventRing);
    const workerData: ShardThreadOptions = {
      shard: 0,
      shards: 1,
      commandRing: this.#commandRing,
      eventRing,
      balances: createBalances(1),
      progress,
      meters: createShardMeters(1),
      journalPath: this.journalPath,
      journalKey: TEST_SECRET,
      knownHead: NO_ROWS,
      directory,
      journalSync: 'full',
      journalReserveBytes: 0,
      verifier: 'noble',
      checkBoard: null,
      spotMemory: createSpotMemory(1),
      chainId: 1,
      exchangeAddress: ZERO_ADDRESS,
      collateralCheck: true,
      postOnlyMs: 0,
      maxOrdersEver: 1000,
      hashesInMemory: 2 ** 30,
      replication: { memory, outbox, mode },
    };
    this.#worker = new Worker(new URL('../../engine/shard/main.ts', import.meta.url), {
      workerData,
      execArgv: STRIPPED_BEFORE,
    });
    this.#worker.on('message', (message: ShardMessage) => this.messages.push(message));
    this.#ended = new Promise((resolve) => {
      this.#worker.once('error', resolve);
      this.#worker.once('exit', () => resolve(null));
    });
  }

  /** Sends the deposit with this number, as the command with the same number. */
  deposit(reference: number): void {
    this.#move(reference, DEPOSIT_MICRO, MOVEMENT.DEPOSIT);
  }

  withdraw(reference: number, micro: number): void {
    this.#move(reference, micro, MOVEMENT.WITHDRAWAL);
  }

  #move(reference: number, micro: number, flags: number): void {
    const word = claimCommand(this.#commands, COMMAND.FUNDS.TYPE, reference, 1, reference, NO_MARKET, flags);
    writeSafe(this.#commands.words, word + COMMAND.FUNDS.amountMicro, micro);
    this.#commands.words[word + COMMAND.FUNDS.reference] = reference;
    this.#commands.publish();
  }

  post(message: FollowRequest): void {
    this.#worker.postMessage(message);
  }

  /** A front comes. @returns its event ring. */
  attach(front: number): RingConsumer {
    const rings = { commandRing: createRingBuffer(RING_BYTES), eventRing: createRingBuffer(1 << 20) };
    this.post({ attach: { front, rings } });
    wakeConsumer(this.#commandRing);
    return new RingConsumer(rings.eventRing);
  }

  /** The state that was sent for a front, and the events now in its ring; null before the state has come. */
  sentTo(front: number, ring: RingConsumer): Event[] | null {
    const message = this.messages.find((each) => 'attached' in each && each.attached === front);
    if (message === undefined || !('attached' in message)) return null;
    const events = message.state.flatMap((piece) => decodeEvents(new Uint32Array(piece), 0, piece.byteLength / 4));
    for (let word = ring.next(); word >= 0; word = ring.next()) events.push(decodeEvent(ring.words, word));
    return events;
  }

  /** The log holds the shard's rows up to this record. */
  hold(sequence: number): void {
    this.replication.setHeld(0, sequence);
    wakeConsumer(this.#commandRing);
  }

  /** Resolves once this many rows have come out of the outbox. */
  async rowsOut(count: number): Promise<void> {
    await eventually(`${count} rows`, async () => {
      for (let row = this.#outbox.next(); row !== null; row = this.#outbox.next()) this.rows.push(row);
      return this.rows.length >= count;
    });
  }

  /** Reads the events in the ring. */
  listen(): this {
    const { words } = this.#events;
    for (let word = this.#events.next(); word >= 0; word = this.#events.next())
      this.events.push(decodeEvent(words, word));
    this.#events.release();
    return this;
  }

  /** Resolves once an event is there for which this holds. */
  async event(what: string, isIt: (event: Event) => boolean): Promise<void> {
    await eventually(what, async () => this.listen().events.some(isIt));
  }

  ready(): Promise<void> {
    return this.event('READY', ({ name }) => name === 'READY');
  }

  /** The records whose events were published, and the commands that were answered. */
  published(): { records: number[]; replies: number[] } {
    const records = this.listen().events.flatMap((event) => (event.name === 'RECORD' ? [event.shardSequence] : []));
    const replies = this.events.flatMap((event) => (event.name === 'REPLY' ? [event.requestId] : []));
    return { records, replies };
  }

  /** Returns why the shard has ended because of the posted rows; null if it goes on, and then stops it. */
  failureBeforeStop(): Promise<Error | null> {
    this.#worker.postMessage('stop');
    wakeConsumer(this.#commandRing);
    return this.#end();
  }

  /** The gateway asks it to stop. Resolves when the thread has ended. */
  async stop(): Promise<void> {
    this.#worker.postMessage('stop');
    wakeConsumer(this.#commandRing);
    const error = await this.#end();
    if (error !== null) throw error;
  }

  #end(): Promise<Error | null> {
    return within('the end of a shard', this.#ended);
  }
}
