/**
 * The shard threads: started together, each rebuilt from its journal when it ends by itself, while the others trade.
 * Owner: the gateway thread.
 *
 *   starting ──all READY──► running ──ends──► recovering ──READY──► running
 *      │ any ends                                 │ ends twice in the same way
 *      ▼                                          ▼
 *   the start is refused                         down ──all shards──► the process ends
 *
 * Invariants:
 *   D1  Each thread gets rings of its own, and the memory all shards share is put right by the new thread before it is
 *       READY (B3 in shared/balances.ts).
 *   D2  A shard is given up only for what will not pass: a recovery that failed as the one before it. A disk that is
 *       full or fails may be better the next time, so that is tried for ever.
 */
import { Worker } from 'node:worker_threads';
import { createBalances } from '../shared/balances.ts';
import { createRingBuffer } from '../shared/ringLayout.ts';
import { STRIPPED_BEFORE } from '../shared/stripTypes.ts';
import type { ShardOptions } from '../shared/threads.ts';
import type { EngineLink } from './engineLink.ts';
import { KeptThread } from './keptThread.ts';
import type { Logger } from './log.ts';

export type ShardThreadsOptions = {
  /** What all shards are told. */
  readonly common: Omit<ShardOptions, 'shard' | 'commandRing' | 'eventRing' | 'balances' | 'journalPath'>;
  readonly journalPaths: readonly string[];
  /** How many threads help with signatures, for the log. */
  readonly verifyThreads: number;
  readonly link: EngineLink;
  readonly log: Logger;
  /** A shard is READY again, and may have lost what it was asked last. */
  readonly onBack: (shard: number) => void;
  /** A shard has ended by itself; `isDown` when it is given up. */
  readonly onLost: (shard: number, isDown: boolean) => void;
  /** No shard is left, or one could not start in the first place. */
  readonly onFatal: (error: Error) => void;
};

const COMMAND_RING_BYTES = 4 * 1024 * 1024;
const EVENT_RING_BYTES = 16 * 1024 * 1024;
/** Codes by which SQLite and the system tell of the disk, not of what is on it. */
const PASSING = /^(SQLITE_(FULL|IOERR|BUSY|CANTOPEN)|E[A-Z0-9]+$)/;

export class ShardThreads {
  readonly #options: ShardThreadsOptions;
  readonly #balances: SharedArrayBuffer;
  readonly #threads: readonly KeptThread[];
  /** By shard: resolves at the first READY. */
  readonly #firstReady: Promise<void>[] = [];
  /** By shard: why its last recovery failed. */
  readonly #failures: (string | undefined)[] = [];
  /** By shard: what checks signatures there, as it said itself. */
  readonly #verifiers: (string | undefined)[] = [];
  readonly #down = new Set<number>();
  #haveStarted = false;

  constructor(options: ShardThreadsOptions) {
    this.#options = options;
    this.#balances = createBalances(options.journalPaths.length);
    this.#threads = options.journalPaths.map(
      (_, shard) =>
        new KeptThread({
          name: `shard ${shard}`,
          launch: () => this.#launch(shard),
          onEnd: (error) => this.#ended(shard, error),
        }),
    );
  }

  /** Resolves when every shard is READY. */
  async start(): Promise<void> {
    await Promise.all(this.#firstReady);
    this.#haveStarted = true;
  }

  /** Undefined until the shard has started. */
  verifierOf(shard: number): string | undefined {
    return this.#verifiers[shard];
  }

  /** What keeps a shard from trading right now, or null. */
  problem(): string | null {
    const [down] = this.#down;
    if (down !== undefined) return `shard ${down} is down, the log says why`;
    const away = this.#threads.findIndex((_, shard) => !this.#options.link.isReady(shard));
    return away < 0 ? null : `shard ${away} is recovering`;
  }

  /** Resolves when all have done what they were given. */
  async stop(): Promise<void> {
    const stopped = Promise.all(this.#threads.map((thread) => thread.stop()));
    // A shard looks for messages when its ring is empty; the tick wakes one that sleeps.
    this.#options.link.tick();
    await stopped;
  }

  #launch(shard: number): Worker {
    const { common, journalPaths, link, log } = this.#options;
    const commandRing = createRingBuffer(COMMAND_RING_BYTES);
    const eventRing = createRingBuffer(EVENT_RING_BYTES);
    const ready = link.attach(shard, commandRing, eventRing).then(() => this.#ready(shard));
    this.#firstReady[shard] ??= ready;
    const workerData: ShardOptions = {
      ...common,
      shard,
      commandRing,
      eventRing,
      balances: this.#balances,
      journalPath: journalPaths[shard]!,
    };
    const worker = new Worker(new URL('../engine/shard.ts', import.meta.url), {
      workerData,
      name: `shard ${shard}`,
      execArgv: STRIPPED_BEFORE,
    });
    worker.once('message', (report) => {
      this.#verifiers[shard] = report.verifier;
      log.debug({ shard, ...report }, 'shard recovered');
      // The gateway cannot know: which verifier runs depends on what loads in the shard's thread.
      if (shard === 0 && !this.#haveStarted) this.#tellVerifier(report.verifier);
    });
    return worker;
  }

  #tellVerifier(verifier: string): void {
    const { verifyThreads, log } = this.#options;
    log.info({ verifier, verify_threads: verifyThreads }, 'signatures');
  }

  #ready(shard: number): void {
    if (!this.#haveStarted) return;
    this.#options.log.info({ shard }, 'shard is back');
    this.#options.onBack(shard);
  }

  /** @returns whether to try again. */
  #ended(shard: number, error: Error | null): boolean {
    const { link, log, onFatal, onLost } = this.#options;
    const wasReady = link.shardLost(shard);
    if (error === null) return false;
    if (!this.#haveStarted) {
      onFatal(error);
      return false;
    }
    const isDown = this.#isHopeless(shard, error, wasReady);
    onLost(shard, isDown);
    if (isDown) {
      this.#down.add(shard);
      log.error({ err: error, shard }, 'shard is down: its recovery fails in the same way again; others go on trading');
      if (this.#down.size === this.#threads.length) onFatal(new Error('every shard is down'));
      return false;
    }
    log.error({ err: error, shard }, 'shard ended; it is rebuilt from its journal');
    return true;
  }

  /** D2. */
  #isHopeless(shard: number, error: Error, wasReady: boolean): boolean {
    const failure = wasReady ? undefined : String(error);
    const isRepeated = failure !== undefined && failure === this.#failures[shard];
    this.#failures[shard] = failure;
    return isRepeated && !mayPass(error);
  }
}

/** SQLite's errors come wrapped in what says where they happened. */
function mayPass(error: Error & { code?: unknown }): boolean {
  return PASSING.test(String(error.code)) || (error.cause instanceof Error && mayPass(error.cause));
}
