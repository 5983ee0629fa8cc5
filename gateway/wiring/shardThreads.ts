/**
 * Starts the shard threads together. A thread that ends by itself is rebuilt from its journal while the others trade.
 * Owner: the gateway thread.
 *
 *   starting ──all READY──► running ──ends──► recovering ──READY──► running
 *      │ any ends                                 │ ends twice in the same way
 *      ▼                                          ▼
 *   the start is refused                         down ──all shards──► the process ends
 *
 * Invariants:
 *   SHARDTHREADS-1  Each thread gets rings of its own, and before it is READY it corrects the memory that all shards
 *                   share (BALANCES-3 in shared/wire/balances.ts).
 *   SHARDTHREADS-2  A shard is given up only if its recovery fails twice in the same way. Failures of the disk may be
 *                   temporary, so after them the recovery is retried for ever.
 *   SHARDTHREADS-3  In a cluster a shard that ends by itself ends the process: its journal has to be compared with the
 *                   log again, which a start does.
 */

import { Worker } from 'node:worker_threads';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { createBalances } from '../../shared/wire/balances.ts';
import type { LogRow } from '../../shared/wire/replication.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import {
  type FollowRequest,
  REHEARSED,
  type ShardMessage,
  type ShardOptions,
  type ShardReport,
  type ShardThreadOptions,
} from '../../shared/wire/threads.ts';
import { fallbacks } from '../base/fallbacks.ts';
import type { JournalHeads } from '../base/journalHeads.ts';
import type { Logger } from '../base/log.ts';
import type { ShardReplicas } from '../base/member.ts';
import { SupervisedThread } from '../base/supervisedThread.ts';
import { threadEnds } from '../base/threadEnds.ts';
import type { ShardLink } from '../shardlink/link.ts';
import { ShardFronts } from './shardFronts.ts';

type ShardThreadsOptions = {
  /** The options that all shards have in common. */
  readonly common: Omit<ShardOptions, 'shard' | 'commandRing' | 'eventRing' | 'balances' | 'journalPath' | 'knownHead'>;
  /** The options of the shards with which the first thread of a shard rehearses. */
  readonly rehearsalsOf?: ((options: ShardOptions) => ShardOptions[]) | undefined;
  readonly journalPaths: readonly string[];
  /** Null without a cluster. A shard of a cluster begins by following. */
  readonly replicas: ShardReplicas | null;
  readonly journalHeads: JournalHeads;
  /** The number of verifiers, for the log. */
  readonly verifyThreads: number;
  readonly link: ShardLink;
  readonly log: Logger;
  /** A shard is READY again. Commands that were in flight when it was lost may not have been carried out. */
  /** Resolves when the state of the shard is as if it had never been away. */
  readonly onReturned: (shard: number) => Promise<void>;
  /** A shard has ended by itself. `isDown`: it is given up. */
  readonly onLost: (shard: number, isDown: boolean) => void;
  /** No shard is left, or one could not recover at the start. */
  readonly onFatal: (error: Error) => void;
};

export const COMMAND_RING_BYTES = 4 * 1024 * 1024;
const EVENT_RING_BYTES = 16 * 1024 * 1024;
const FUSED_IS_BROKEN =
  'the fast kernel cannot be loaded: the plain one checks signatures, and batches take a third longer. Install the ' +
  'exchange again';
/** Errors of SQLite and of the system that are caused by the disk, not by the data on it. */
const TEMPORARY = /^(SQLITE_(FULL|IOERR|BUSY|CANTOPEN)|E[A-Z0-9]+$)/;

export class ShardThreads {
  /** The front threads that the shards serve beside this one. */
  readonly fronts: ShardFronts;
  readonly #options: Omit<ShardThreadsOptions, 'rehearsalsOf'>;
  /** Only for the first threads: a rebuilt thread starts at once. */
  #rehearsalsOf: ShardThreadsOptions['rehearsalsOf'];
  readonly #balances: SharedArrayBuffer;
  readonly #threads: readonly SupervisedThread[];
  /** By shard: resolves at the first READY. */
  readonly #firstReady: Promise<void>[] = [];
  /** By shard: the error of its last recovery, if that failed. */
  readonly #failures: (string | undefined)[] = [];
  /** By shard: the verifier that it reported. */
  readonly #verifiers: (string | undefined)[] = [];
  readonly #down = new Set<number>();
  /** By shard: resolves when the work after its return is done. */
  readonly #returning = new Map<number, Promise<void>>();
  /** By shard: called when it has added its part of every balance to the shared memory. */
  readonly #onRestored: (() => void)[] = [];
  #haveStarted = false;

  constructor({ rehearsalsOf, ...options }: ShardThreadsOptions) {
    this.#options = options;
    this.#rehearsalsOf = rehearsalsOf;
    this.#balances = createBalances(options.journalPaths.length);
    this.fronts = new ShardFronts((shard, request) => this.#threads[shard].post(request));
    this.#threads = options.journalPaths.map(
      (_, shard) =>
        new SupervisedThread({
          name: `shard ${shard}`,
          launch: () => this.#launch(shard),
          onEnd: (error) => this.#ended(shard, error),
        }),
    );
    this.#rehearsalsOf = undefined;
  }

  /** Resolves when every shard is READY. */
  async ready(): Promise<void> {
    await Promise.all(this.#firstReady);
    this.#haveStarted = true;
  }

  /** Sends the first threads on to the next shard of the rehearsal, and from the last one to the real shards. */
  endRehearsal(): void {
    for (const thread of this.#threads) thread.post(REHEARSED);
  }

  /** Sends rows to a following shard. */
  follow(shard: number, rows: readonly LogRow[]): void {
    this.#threads[shard].post({ rows } satisfies FollowRequest);
  }

  /** Every row has been sent: the following shards lead from now on, each once all have restored (BALANCES-3). */
  async lead(): Promise<void> {
    const restored = this.#threads.map(
      (_, shard) => new Promise<void>((resolve) => (this.#onRestored[shard] = resolve)),
    );
    for (const thread of this.#threads) thread.post('restore' satisfies FollowRequest);
    await Promise.all(restored);
    for (const thread of this.#threads) thread.post('lead' satisfies FollowRequest);
  }

  /** The verifier of a shard. Undefined until the shard has started. */
  verifierOf(shard: number): string | undefined {
    return this.#verifiers[shard];
  }

  /** Returns why a shard does not trade at present, or null if all trade. */
  problem(): string | null {
    const [down] = this.#down;
    if (down !== undefined) return `shard ${down} is down, the log says why`;
    const { link } = this.#options;
    const away = this.#threads.findIndex((_, shard) => !link.isReady(shard) || this.#returning.has(shard));
    return away < 0 ? null : `shard ${away} is recovering`;
  }

  /** Resolves when all shards have carried out their commands and ended. */
  async stop(): Promise<void> {
    const stopped = Promise.all(this.#threads.map((thread) => thread.stop()));
    // A shard reads the stop message when its ring is empty; the tick wakes a sleeping shard.
    this.#options.link.tick();
    await stopped;
  }

  #launch(shard: number): Worker {
    const { common, journalPaths, journalHeads, link, log, replicas } = this.#options;
    const commandRing = replicas?.commandRings[shard] ?? createRingBuffer(COMMAND_RING_BYTES);
    const eventRing = createRingBuffer(EVENT_RING_BYTES);
    const ready = link.attach(shard, { commandRing, eventRing }).then(() => this.#ready(shard, commandRing));
    this.#firstReady[shard] ??= ready;
    const options: ShardOptions = {
      ...common,
      shard,
      commandRing,
      eventRing,
      balances: this.#balances,
      journalPath: journalPaths[shard],
      knownHead: journalHeads.of(shard),
      ...(replicas === null
        ? {}
        : { replication: { memory: replicas.memory, outbox: replicas.outboxes[shard], mode: 'follow' } }),
    };
    const rehearsals = this.#rehearsalsOf?.(options);
    const workerData: ShardThreadOptions = rehearsals === undefined ? options : { ...options, rehearsals };
    const worker = new Worker(new URL('../../engine/shard/main.ts', import.meta.url), {
      workerData,
      name: `shard ${shard}`,
      execArgv: STRIPPED_BEFORE,
    });
    worker.on('message', (message: ShardMessage) => {
      if ('head' in message) {
        journalHeads.note(shard, message.head);
        return;
      }
      if ('rehearsalFailure' in message) {
        log.warn(
          { shard, err: message.rehearsalFailure },
          'the rehearsal of a shard has failed: its first orders will be slower',
        );
        return;
      }
      if ('damagedRun' in message) {
        fallbacks.noteRun(log, message.damagedRun);
        return;
      }
      if ('restored' in message) {
        this.#onRestored[shard]?.();
        return;
      }
      if ('attached' in message) {
        this.fronts.attached(message.attached, message.state);
        return;
      }
      if ('cutOff' in message) {
        this.fronts.cutOff(message.cutOff);
        return;
      }
      const { report } = message;
      // The report may arrive after READY: the report is a message between threads, READY comes through the ring.
      if (shard === 0 && this.#verifiers[shard] === undefined) this.#logVerifier(report);
      this.#verifiers[shard] = report.verifier;
      for (const why of report.damaged) {
        fallbacks.note(log, 'snapshot', `shard ${shard} starts from record ${report.fromSequence}: ${why}`);
      }
      log.debug({ shard, ...report }, 'shard recovered');
    });
    return worker;
  }

  #logVerifier({ verifier, verifierProblem }: ShardReport): void {
    const { verifyThreads, log } = this.#options;
    log.info({ verifier, verify_threads: verifyThreads }, 'signatures');
    if (verifierProblem !== null) log.warn({ err: verifierProblem }, FUSED_IS_BROKEN);
  }

  #ready(shard: number, commandRing: SharedArrayBuffer): void {
    this.fronts.shardReady(shard, commandRing);
    if (!this.#haveStarted) return;
    this.#options.log.info({ shard }, 'shard is back');
    const returning = this.#options.onReturned(shard);
    this.#returning.set(shard, returning);
    void returning.finally(() => {
      // The shard may have been lost and returned once more in the meantime.
      if (this.#returning.get(shard) === returning) this.#returning.delete(shard);
    });
  }

  /** @returns true if the thread is to be started again. */
  #ended(shard: number, error: Error | null): boolean {
    const { link, log, onFatal, onLost } = this.#options;
    const wasReady = link.shardLost(shard);
    this.fronts.shardLost(shard);
    if (error === null) return false;
    if (!this.#haveStarted || this.#options.replicas !== null) {
      onFatal(error);
      return false;
    }
    const isDown = this.#isHopeless(shard, error, wasReady);
    onLost(shard, isDown);
    if (isDown) {
      this.#down.add(shard);
      log.error(
        { err: error, shard },
        'shard is down: its recovery has failed twice in the same way; others go on trading',
      );
      if (this.#down.size === this.#threads.length) onFatal(new Error('every shard is down'));
      return false;
    }
    threadEnds.note(log, `shard ${shard}`, error, 'it is rebuilt from its journal', { shard });
    return true;
  }

  /** SHARDTHREADS-2. */
  #isHopeless(shard: number, error: Error, wasReady: boolean): boolean {
    const failure = wasReady ? undefined : String(error);
    const isRepeated = failure !== undefined && failure === this.#failures[shard];
    this.#failures[shard] = failure;
    return isRepeated && !isTemporary(error);
  }
}

/** An error of SQLite may be the cause of an error that says where it happened. */
function isTemporary(error: Error & { code?: unknown }): boolean {
  return TEMPORARY.test(String(error.code)) || (error.cause instanceof Error && isTemporary(error.cause));
}
