/**
 * The front threads: started together, and each again when it has failed. The gateway thread accepts the connections of
 * the public port for them (http/door.ts), decides about each, and answers their calls (lane.ts).
 *
 *   starting ──descriptor──► serving ──fails──► its app gets no more connections ──► ends, its connections are cut
 *       ▲                                                                                │
 *       └────────────────────────────── after a wait (supervisedThread.ts) ──────────────┘
 *
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FRONTS-1  An app is removed from the shared door before its thread closes its sockets and ends: uWebSockets.js
 *             would hand a connection to memory that is gone.
 *   FRONTS-2  A thread ends only when its sockets are closed: Node ends the process when the event loop of a thread
 *             ends with sockets of uWebSockets.js. So at the exit of the process, whatever its reason, the threads
 *             close theirs first; a thread that runs out of memory ends the process, as the gateway thread would.
 *   FRONTS-3  Each run of a thread has rings of its own: a record that a failed thread left half written is never read.
 */
import { Worker } from 'node:worker_threads';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { wakeConsumer } from '../../shared/wire/ring.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import { type Config, ConfigError } from '../base/config.ts';
import type { Lines } from '../base/lineOutput.ts';
import type { Logger } from '../base/log.ts';
import type { ShownRoleBuffers } from '../base/shownRole.ts';
import { SupervisedThread } from '../base/supervisedThread.ts';
import { threadEnds } from '../base/threadEnds.ts';
import type { AppDescriptor, SharedDoor, WebSocketEndpoint } from '../http/door.ts';
import type { FrontServer, Fronts } from '../http/server.ts';
import type { TradedMarket } from '../markets/catalogEntries.ts';
import type { ShardNews } from '../shardlink/shardNews.ts';
import { FrontLane } from './lane.ts';
import { Measures } from './measures.ts';
import { RING_BYTES } from './records.ts';
import {
  END_WORDS,
  type FrontImage,
  type FrontMessage,
  type FrontOptions,
  type FrontRequest,
  type ReadsOptions,
} from './threadOptions.ts';

type FrontThreadsOptions = {
  /** One less than GATEWAYS. */
  readonly count: number;
  readonly tls: Config['tls'];
  readonly isHttps: boolean;
  readonly webSocket: Pick<WebSocketEndpoint, 'path' | 'behavior'>;
  /** Messages on sockets that are longer are cut there: they are refused for their length anyway. */
  readonly longestMessageBytes: number;
  /** Of pages that may read answers (RULES.md 6.9). */
  readonly origins: readonly string[];
  readonly log: Logger;
  /** Gets the log's lines of the threads. */
  readonly lines: Pick<Lines, 'write'>;
  /** Null without a cluster. */
  readonly role: ShownRoleBuffers | null;
  /** Null: the threads pass on every call. */
  readonly reads: SharedReads | null;
  /** Makes the thread; for one with another entry. */
  readonly launch?: (options: FrontOptions) => Worker;
};

/** The threads answer reads from these. */
export type SharedReads = {
  readonly options: Omit<ReadsOptions, 'gate'>;
  /** The shards that feed their views. */
  readonly shards: {
    add(
      front: number,
      thread: {
        readonly send: (news: ShardNews, transfer?: ArrayBuffer[]) => void;
        readonly onCutOff: () => void;
      },
    ): void;
    /** The thread has ended. */
    remove(front: number): void;
  };
  /** By market index. */
  readonly markets: readonly TradedMarket[];
  /** The shard of the market has opened it. */
  readonly isOpen: (market: TradedMarket) => boolean;
  /** Gets what a thread has counted that has ended. */
  readonly keep: (image: FrontImage) => void;
};

type FrontCounts = {
  readonly connections: number;
  /** Calls that the thread has passed on since the start. */
  readonly calls: number;
  /** Those among them that it had read itself. */
  readonly read: number;
  /** Reads that it has answered by itself. */
  readonly answered: number;
  /** Bytes for the thread that it has not read. */
  readonly unreadBytes: number;
};

/** One front thread, in its present run. */
type Front = {
  readonly options: FrontOptions;
  readonly lane: FrontLane;
  /** Null until it can serve, and once it has failed. */
  descriptor: AppDescriptor | null;
  /** Markets that it was sent, from the first on. */
  markets: number;
  /** Certificates were replaced while it started: it may have read those of before. */
  mustReload: boolean;
};

/** At the exit of the process: what the threads have to do then takes less than a millisecond. */
const LAST_CLOSE_MS = 500;
const LAST_LOOK_MS = 5;
const WAKE_EVERY_MS = 250;
const NOTHING_OPEN = { connections: 0, unreadBytes: 0 };

export class FrontThreads implements Fronts {
  /** Threads that have ended by themselves, since the start. */
  failures = 0;
  readonly #options: FrontThreadsOptions;
  readonly #fronts: (Front | null)[] = [];
  readonly #formerCalls: { calls: number; read: number }[];
  #threads: readonly SupervisedThread[] = [];
  #server: FrontServer | null = null;
  #door: SharedDoor | null = null;
  #onServing: (() => void) | null = null;
  /** Threads that read the certificate again: called with null, or what is wrong with it. */
  readonly #reloads = new Map<number, (problem: string | null) => void>();
  #timer: NodeJS.Timeout | undefined;
  /** 1 while the threads may answer reads. */
  readonly #gate = new Int32Array(new SharedArrayBuffer(4));
  readonly #measures: Measures;

  constructor(options: FrontThreadsOptions) {
    this.#options = options;
    this.#formerCalls = Array.from({ length: options.count }, () => ({ calls: 0, read: 0 }));
    this.#measures = new Measures(options.count, (image) => options.reads?.keep(image));
  }

  get connections(): number {
    let sum = 0;
    for (const front of this.#fronts) sum += front?.lane.connections ?? 0;
    return sum;
  }

  /** For gauges. */
  counts(): FrontCounts[] {
    return this.#formerCalls.map((former, index) => {
      const answered = this.#measures.answered(index);
      const lane = this.#fronts[index]?.lane;
      if (lane === undefined) return { ...NOTHING_OPEN, ...former, answered };
      const { connections, out } = lane;
      const calls = former.calls + lane.forwarded;
      const read = former.read + lane.read;
      return { connections, calls, read, answered, unreadBytes: out.usedBytes + out.waitingBytes };
    });
  }

  async start(server: FrontServer, door: SharedDoor): Promise<void> {
    const options = this.#options;
    this.#server = server;
    this.#door = door;
    process.on('exit', this.#closeAtExit);
    await new Promise<void>((resolve, reject) => {
      this.#onServing = () => {
        if (this.#fronts.filter((front) => front !== null && front.descriptor !== null).length === options.count)
          resolve();
      };
      this.#threads = Array.from({ length: options.count }, (_, index) => this.#supervise(index, reject));
    });
    this.#onServing = null;
    this.#timer = setInterval(() => this.#wake(), WAKE_EVERY_MS);
  }

  /** The files have been tried by the gateway thread: a thread that cannot use them has found others. */
  async reloadTls(): Promise<void> {
    const problems = await Promise.all(
      this.#threads.map((thread, index) => {
        return new Promise<string | null>((resolve) => {
          const front = this.#fronts[index];
          // Its next run reads the files of now.
          if (front == null) return resolve(null);
          this.#reloads.set(index, resolve);
          if (front.descriptor === null) front.mustReload = true;
          else thread.post('reloadTls' satisfies FrontRequest);
        });
      }),
    );
    const problem = problems.find((each) => each !== null);
    if (problem !== undefined && problem !== null) throw new ConfigError(problem);
  }

  /** Twice: a connection that was let in by the first has been read by the second. */
  async settle(): Promise<void> {
    for (let round = 0; round < 2; round++) await Promise.all(this.#lanes().map((lane) => lane.settle()));
  }

  calm(): void {
    for (const lane of this.#lanes()) lane.calm();
  }

  allowReads(isAllowed: boolean): void {
    Atomics.store(this.#gate, 0, isAllowed ? 1 : 0);
  }

  /** The counts of the answers that threads give by themselves, as they were at the last `refresh`. */
  get images(): readonly FrontImage[] {
    return this.#measures.images;
  }

  /** Resolves when `images` and `counts` have what the threads have answered by now. */
  async refresh(): Promise<void> {
    if (this.#options.reads === null) return;
    await this.#measures.ask((index) => this.#threads[index]?.post('measure' satisfies FrontRequest) === true);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const { lane } of this.#fronts.filter((front) => front !== null)) await lane.settle();
    for (const front of this.#fronts) if (front !== null) this.#leaveDoor(front);
    await Promise.all(this.#threads.map((thread) => thread.stop()));
    process.off('exit', this.#closeAtExit);
  }

  #lanes(): FrontLane[] {
    return this.#fronts.filter((front) => front !== null).map(({ lane }) => lane);
  }

  /** @param onFailedStart a thread has ended before all could serve for the first time */
  #supervise(index: number, onFailedStart: (error: Error) => void): SupervisedThread {
    const name = `front ${index + 1}`;
    return new SupervisedThread({
      name,
      launch: () => this.#launch(index),
      onEnd: (error) => {
        this.#ended(index);
        if (error === null) return false;
        this.failures++;
        if (this.#onServing !== null) {
          onFailedStart(error);
          return false;
        }
        threadEnds.note(this.#options.log, name, error, 'its connections are cut, and it is started again');
        return true;
      },
    });
  }

  /** FRONTS-3. */
  #launch(index: number): Worker {
    const { tls, isHttps, webSocket, longestMessageBytes, origins, role, reads, launch = launchFront } = this.#options;
    const { maxPayloadLength, maxBackpressure, closeOnBackpressureLimit, idleTimeout, sendPingsAutomatically } =
      webSocket.behavior;
    const options: FrontOptions = {
      index,
      tls,
      isHttps,
      fromFront: createRingBuffer(RING_BYTES),
      toFront: createRingBuffer(RING_BYTES),
      ending: new SharedArrayBuffer(END_WORDS.BYTES),
      socketPath: webSocket.path,
      socketLimits: {
        maxPayloadLength,
        maxBackpressure,
        closeOnBackpressureLimit,
        idleTimeout,
        sendPingsAutomatically,
      },
      longestMessageBytes,
      origins,
      role,
      reads: reads && { ...reads.options, gate: this.#gate.buffer },
    };
    const lane = new FrontLane(this.#server!, options.fromFront, options.toFront);
    const front: Front = { options, lane, descriptor: null, markets: 0, mustReload: false };
    this.#fronts[index] = front;
    const worker = launch(options);
    reads?.shards.add(index, {
      send: (news, transfer) => worker.postMessage(news satisfies FrontRequest, transfer),
      onCutOff: () => this.#end(front, worker, new Error('a front thread does not read the events of a shard')),
    });
    lane.start((error) => this.#end(front, worker, error));
    worker.on('message', (message: FrontMessage) => this.#received(index, front, worker, message));
    return worker;
  }

  #received(index: number, front: Front, worker: Worker, message: FrontMessage): void {
    if ('descriptor' in message) {
      const before = front.descriptor;
      front.descriptor = message.descriptor;
      this.#door!.addOther(message.descriptor);
      if (before !== null) this.#door!.removeOther(before);
      this.#onServing?.();
      if (front.mustReload) {
        front.mustReload = false;
        worker.postMessage('reloadTls' satisfies FrontRequest);
      } else this.#reloaded(index, null);
    } else if ('problem' in message) this.#reloaded(index, message.problem);
    else if ('measured' in message) this.#measures.note(index, message.measured);
    else if ('line' in message) this.#options.lines.write(message.line);
    else this.#end(front, worker, message.failure);
  }

  /** FRONTS-1. */
  #end(front: Front, worker: Worker, error: unknown): void {
    this.#options.log.error({ err: error, thread: front.options.index + 1 }, 'a front thread has failed');
    this.#leaveDoor(front);
    worker.postMessage('stop' satisfies FrontRequest);
  }

  #reloaded(index: number, problem: string | null): void {
    this.#reloads.get(index)?.(problem);
    this.#reloads.delete(index);
  }

  #leaveDoor(front: Front): void {
    if (front.descriptor !== null) this.#door!.removeOther(front.descriptor);
    front.descriptor = null;
  }

  #ended(index: number): void {
    const front = this.#fronts[index];
    if (front == null) return;
    this.#leaveDoor(front);
    this.#reloaded(index, null);
    this.#fronts[index] = null;
    this.#options.reads?.shards.remove(index);
    this.#measures.ended(index);
    this.#formerCalls[index].calls += front.lane.forwarded;
    this.#formerCalls[index].read += front.lane.read;
    const had = front.lane.end();
    if (had > 0) this.#server!.closed();
  }

  #wake(): void {
    for (const lane of this.#lanes()) lane.wake();
    for (const index of this.#fronts.keys()) this.#sendMarkets(index);
  }

  /** Those that it does not know it passes on. */
  #sendMarkets(index: number): void {
    const { reads } = this.#options;
    const front = this.#fronts[index];
    if (reads === null || front == null) return;
    const from = front.markets;
    while (front.markets < reads.markets.length && reads.isOpen(reads.markets[front.markets])) front.markets++;
    if (front.markets === from) return;
    const markets = reads.markets.slice(from, front.markets).map(copyOf);
    this.#threads[index].post({ markets } satisfies FrontRequest);
  }

  /** FRONTS-2. This thread does nothing else from here on: no connection comes to a door any more. */
  readonly #closeAtExit = (): void => {
    const deadlineMs = performance.now() + LAST_CLOSE_MS;
    for (const { options } of this.#fronts.filter((front) => front !== null)) {
      const ending = new Int32Array(options.ending);
      Atomics.store(ending, END_WORDS.asked, 1);
      // A thread that was about to sleep may not have seen it.
      while (Atomics.load(ending, END_WORDS.closed) === 0 && performance.now() < deadlineMs) {
        wakeConsumer(options.toFront);
        Atomics.wait(ending, END_WORDS.closed, 0, LAST_LOOK_MS);
      }
    }
  };
}

function copyOf({ index, id, shard, ticksPerUnit, minOrderAtomic }: TradedMarket): TradedMarket {
  return { index, id, shard, ticksPerUnit, minOrderAtomic };
}

export function launchFront(options: FrontOptions): Worker {
  const name = `front ${options.index + 1}`;
  return new Worker(new URL('main.ts', import.meta.url), { workerData: options, name, execArgv: STRIPPED_BEFORE });
}
