/**
 * The third part of the exchange: the threads of the engine. They start as soon as this part is made; `ready` resolves
 * when every shard has recovered.
 * Owner: the gateway thread.
 */
import type { ShardOptions } from '../../shared/wire/threads.ts';
import type { Config } from '../base/config.ts';
import { requireNamed } from '../base/journalFiles.ts';
import type { Logger } from '../base/log.ts';
import type { ShardReplicas } from '../base/member.ts';
import type { ShardLink } from '../shardlink/link.ts';
import { JournalFollowers } from './journalFollowers.ts';
import { ShardThreads } from './shardThreads.ts';
import { SpotThread } from './spotThread.ts';
import type { Stores } from './stores.ts';
import { VerifyThreads, verifyThreadsOf } from './verifyThreads.ts';

type EngineThreadsOptions = {
  readonly config: Config;
  readonly stores: Stores;
  readonly link: ShardLink;
  /** Null without a cluster. */
  readonly replicas: ShardReplicas | null;
  readonly log: Logger;
  /** As in ShardThreads. */
  readonly rehearsalsOf: ((options: ShardOptions) => ShardOptions[]) | undefined;
  readonly onReturned: (shard: number) => Promise<void>;
  readonly onLost: (shard: number, isDown: boolean) => void;
  readonly onFatal: (error: Error) => void;
};

const MS_PER_DAY = 86_400_000;

/** A stop keeps so long for what comes after last snapshots: its threads end, and the files of the gateway close. */
const CLOSING_MS = 3000;

export class EngineThreads {
  readonly shards: ShardThreads;
  readonly #verifiers: VerifyThreads;
  readonly #spotThread: SpotThread;
  readonly #followers: JournalFollowers;

  /** Throws if control.db lacks an entity that the journals name. */
  readonly #requireNamed: () => void;

  constructor(options: EngineThreadsOptions) {
    const { config, stores, link, replicas, log, rehearsalsOf, onReturned, onLost, onFatal } = options;
    // In a cluster control.db follows the log, so this is not checked.
    this.#requireNamed = () => (replicas === null ? requireNamed(stores.views, stores.control) : undefined);
    const { control, journalPaths, readDbPath, progressMemory: progress, metersMemory: meters, spotMemory } = stores;
    const { shards, journalKey, journalHeads } = control;
    const { chainId, exchange: exchangeAddress } = control.contracts.first;
    const { dataDir: directory, verifier } = config;
    const verifyThreads = verifyThreadsOf(config, shards);
    this.#verifiers = new VerifyThreads(verifyThreads, shards, verifier, log);
    this.shards = new ShardThreads({
      common: {
        shards,
        progress,
        meters,
        journalKey,
        directory,
        journalSync: config.journalSync,
        journalReserveBytes: config.journalReserveBytes,
        verifier,
        checkBoard: this.#verifiers.checkBoard,
        spotMemory,
        chainId,
        exchangeAddress,
        collateralCheck: config.collateralCheck,
        postOnlyMs: config.postOnlyMs,
        maxOrdersEver: config.maxOrdersEver,
        hashesInMemory: config.hashesInMemory,
      },
      rehearsalsOf,
      replicas,
      journalPaths,
      journalHeads,
      verifyThreads,
      link,
      log,
      onReturned,
      onLost,
      onFatal,
    });
    this.#spotThread = new SpotThread({ spotMemory, shards }, log);
    this.#followers = new JournalFollowers({
      journalPaths,
      journalKey,
      readDbPath,
      catalogFeed: stores.catalogFeed,
      directory,
      progress,
      everyRecords: config.snapshotEvery,
      keepRecords: config.journalKeep,
      hashesInMemory: config.hashesInMemory,
      historyDir: config.historyDir,
      unfilledKeptMs: config.archiveUnfilledDays * MS_PER_DAY,
      log,
    });
  }

  get readModelProblem(): string | null {
    return this.#followers.problem;
  }

  get positionDifferences(): number {
    return this.#followers.positionDifferences;
  }

  /** Resolves when every shard is READY and control.db has every entity that the journals name. */
  async ready(): Promise<void> {
    await this.shards.ready();
    this.#requireNamed();
  }

  /** Resolves when the shards have carried out and journaled every command that they were given. */
  async stopShards(): Promise<void> {
    await this.shards.stop();
    await Promise.all([this.#verifiers.terminate(), this.#spotThread.terminate()]);
  }

  /** Called after the shards have stopped, because the followers read the last records of the shards. */
  stopFollowers(endMs: number): Promise<void> {
    return this.#followers.stop(endMs - performance.now() - CLOSING_MS);
  }
}
