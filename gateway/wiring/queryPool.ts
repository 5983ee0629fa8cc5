/**
 * Queries about the past, answered from read.db by threads of their own, so that a scan never delays the gateway.
 * Owner: the gateway thread.
 *
 * A query waits until the projector has passed the last record that was acknowledged to its account, so an account
 * always reads its own writes (RULES.md 7.1), and then for the turn of its account, or of the address of a caller
 * without credentials (fairQueue.ts). Both waits are bounded; beyond them the answer is ENGINE_BUSY.
 */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { isDamaged } from '../../shared/base/damagedDatabase.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { DURATION_BOUNDS_SEC, Histogram } from '../../shared/base/histogram.ts';
import type { OrderRecord, OrderRecordV2 } from '../../shared/base/orderMath.ts';
import { nowUs, secondsBetween } from '../../shared/base/stopwatch.ts';
import { NO_GROUP } from '../../shared/wire/commands.ts';
import { NOT_KNOWN, Progress } from '../../shared/wire/progress.ts';
import type { NflPart, NflTask } from '../account/achievementQueries.ts';
import type { ActivityFilters, StoredActivity } from '../account/activityQueries.ts';
import type { OrderFilters } from '../account/orderListsQueries.ts';
import type { StoredOrder } from '../account/orderQueries.ts';
import type { AccountQueries, AccountReads } from '../account/reads.ts';
import type { LegacyTradeRecord, TradeFilters, TradeRecord } from '../account/tradeQueries.ts';
import type { Asker } from '../base/askers.ts';
import type { HistoryPage } from '../base/page.ts';
import { accountOf, type OfAccount, type QueryResult } from '../base/reads.ts';
import type { WindowTask } from '../markets/exchangeQueries.ts';
import type { MarketQueries, MarketReads } from '../markets/reads.ts';
import type { MarketVolumes } from '../markets/volumes.ts';
import type { KeyedOrder, KeyPage, KeyReads } from '../shardlink/journaledKeys.ts';
import type { PrivateTailPage } from '../stream/privateTailQueries.ts';
import type { Placed } from '../trading/placed.ts';
import type { PlacementReads } from '../trading/reads.ts';
import { FairQueue, NOT_RUN } from './fairQueue.ts';
import type * as worker from './queryWorker.ts';
import type { TimedAnswer, TimedQuery } from './timedQuery.ts';

type QueryPoolOptions = {
  readonly readDbPath: string;
  readonly progress: SharedArrayBuffer;
  /** The progress of trades on a chain; null where the ledger settles. */
  readonly settlementDbPath: string | null;
  /** The last record of a shard that may have been acknowledged to an account. */
  readonly lastAcknowledged: (account: number, shard: number) => number;
  /** The last record of a shard that may have changed the status of a market. */
  readonly lastMarketChange: (shard: number) => number;
  /** A record with the name of the group its order is in. */
  readonly inGroup: <R extends object>(record: R, group: number) => R;
  /** The longest wait of a query for the projector. */
  readonly waitMs?: number;
  /** False: no account or address rests that has read much (fairQueue.ts), as where nothing else is limited. */
  readonly paces?: boolean;
};

type Thread = {
  readonly id: number;
  readonly currentUsage: number;
  readonly terminating: boolean;
  readonly destroyed: boolean;
};

type Queries = worker.Queries;
type Reads = AccountReads & MarketReads & KeyReads & PlacementReads;

const MAX_THREADS = 2;
/** The second thread stays for so long: starting one takes more processor time than hundreds of queries. */
const IDLE_MS = 60_000;
const DEFAULT_WAIT_MS = 2000;
const BUSY = { ok: false, row: ERRORS.ENGINE_BUSY } as const;

export class QueryPool implements Reads {
  readonly #progress: Progress;
  readonly #lastAcknowledged: QueryPoolOptions['lastAcknowledged'];
  readonly #lastMarketChange: QueryPoolOptions['lastMarketChange'];
  readonly #inGroup: QueryPoolOptions['inGroup'];
  readonly #waitMs: number;
  readonly #queue: FairQueue;
  readonly #pool: Piscina;
  /** Those that have started, by id. */
  readonly #readyThreads = new Set<number>();
  /** Settled when the exchange's own queries so far have ended. */
  #lastOwn: Promise<unknown> = Promise.resolve();

  constructor(options: QueryPoolOptions) {
    this.#progress = new Progress(options.progress);
    this.#lastAcknowledged = options.lastAcknowledged;
    this.#lastMarketChange = options.lastMarketChange;
    this.#inGroup = options.inGroup;
    this.#waitMs = options.waitMs ?? DEFAULT_WAIT_MS;
    this.#queue = new FairQueue(MAX_THREADS, undefined, options.paces);
    const { readDbPath, settlementDbPath, progress } = options;
    this.#pool = new Piscina({
      filename: fileURLToPath(new URL('./timedQuery.ts', import.meta.url)),
      minThreads: 1,
      maxThreads: MAX_THREADS,
      idleTimeout: IDLE_MS,
      workerData: { readDbPath, settlementDbPath, progress } satisfies worker.QueryWorkerData,
      recordTiming: false,
      // Otherwise a thread waits in Atomics.wait and never turns its event loop, where iterators are freed.
      atomics: 'disabled',
      loadBalancer: (_task, threads) => threads.find((thread) => this.#mayRun(thread)) ?? null,
    });
    this.#pool.on('workerCreate', ({ id }: Thread) => this.#readyThreads.add(id));
    this.#pool.on('workerDestroy', ({ id }: Thread) => this.#readyThreads.delete(id));
  }

  /** The times that queries ran, without their wait for a turn. */
  readonly runSec = new Histogram(DURATION_BOUNDS_SEC);

  /** Queries that wait for a thread. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Time from which on the past is complete; 0: from the first record on. */
  get historyFromMs(): number {
    return this.#progress.historyFromMs();
  }

  /** An order of the account in whatever state, null when it has none with this hash. */
  async orderByHash(asker: OfAccount, hash: Uint8Array): Promise<QueryResult<OrderRecord | null>> {
    const account = accountOf(asker);
    const result = await this.#ask<Queries['orderByHash']>('orderByHash', asker, { account, hash });
    if (!result.ok || result.value === null) return result as QueryResult<null>;
    return { ok: true, value: this.#named(result.value) };
  }

  async userOrders(asker: OfAccount, filters: OrderFilters): Promise<QueryResult<HistoryPage<OrderRecordV2>>> {
    const account = accountOf(asker);
    const result = await this.#ask<Queries['userOrders']>('userOrders', asker, { account, filters });
    if (!result.ok) return result;
    return { ok: true, value: { ...result.value, rows: result.value.rows.map((row) => this.#named(row)) } };
  }

  /** The newest by creation. */
  async newestOrders(asker: OfAccount, limit: number): Promise<QueryResult<OrderRecord[]>> {
    const account = accountOf(asker);
    const result = await this.#ask<Queries['newestOrders']>('newestOrders', asker, { account, limit });
    return result.ok ? { ok: true, value: result.value.map((row) => this.#named(row)) } : result;
  }

  userTrades(asker: OfAccount, filters: TradeFilters): Promise<QueryResult<HistoryPage<TradeRecord>>> {
    return this.#ask<Queries['userTrades']>('userTrades', asker, { account: accountOf(asker), filters });
  }

  /** The task is of this account. */
  ofAccount<N extends keyof AccountQueries>(
    asker: OfAccount,
    name: N,
    task: Parameters<AccountQueries[N]>[0],
  ): Promise<QueryResult<ReturnType<AccountQueries[N]>>> {
    return this.#ask<AccountQueries[N]>(name, asker, task);
  }

  legacyTrades(asker: OfAccount, filters: TradeFilters): Promise<QueryResult<HistoryPage<LegacyTradeRecord>>> {
    return this.#ask<Queries['legacyTrades']>('legacyTrades', asker, { account: accountOf(asker), filters });
  }

  userActivity(asker: OfAccount, filters: ActivityFilters): Promise<QueryResult<HistoryPage<StoredActivity>>> {
    return this.#ask<Queries['userActivity']>('userActivity', asker, { account: accountOf(asker), filters });
  }

  /** Another number stands for another file: parts of an answer from two of them would not fit together. */
  get generation(): number {
    return this.#progress.generation();
  }

  /** A further part of an answer, over what its first part has waited for. */
  furtherOfAccount<N extends keyof AccountQueries>(
    asker: OfAccount,
    name: N,
    task: Parameters<AccountQueries[N]>[0],
  ): Promise<QueryResult<ReturnType<AccountQueries[N]>>> {
    return this.#inTurn<AccountQueries[N]>(name, asker, task);
  }

  /** The same over everything that is committed by now, of all accounts. */
  async ofAccountByNow<N extends keyof AccountQueries>(
    asker: OfAccount,
    name: N,
    task: Parameters<AccountQueries[N]>[0],
  ): Promise<QueryResult<ReturnType<AccountQueries[N]>>> {
    const isThere = await this.#awaitProjected((shard) => Math.max(this.#progress.committed(shard), 0));
    return isThere ? this.ofAccount(asker, name, task) : BUSY;
  }

  nflPart(asker: Asker, task: NflTask): Promise<QueryResult<NflPart>> {
    return this.#public<Queries['nflPart']>('nflPart', asker, task);
  }

  /** The order placed by the command with this key; null if another command placed it. */
  placedWithKey(order: KeyedOrder): Promise<QueryResult<Placed | null>> {
    return this.#ask<Queries['placedWithKey']>('placedWithKey', order.account, { order });
  }

  cancelledWithKey(order: KeyedOrder, hash: Uint8Array): Promise<QueryResult<boolean>> {
    return this.#ask<Queries['cancelledWithKey']>('cancelledWithKey', order.account, { order, hash });
  }

  /**
   * True if the split or merge with this key was carried out. Nothing acknowledged names its record, so the query waits
   * for all that is committed by now.
   */
  async convertedWithKey(use: KeyedOrder): Promise<QueryResult<boolean>> {
    const isThere = await this.#awaitProjected((shard) => Math.max(this.#progress.committed(shard), 0));
    return isThere ? this.#inTurn<Queries['convertedWithKey']>('convertedWithKey', use.account, { use }) : BUSY;
  }

  /** The keys of the read model from a moment on, a page at a time. The query does not wait for the projector. */
  journaledKeys(sinceMs: number, after: number): Promise<KeyPage> {
    return this.#runOwn('journaledKeys', { sinceMs, after });
  }

  /** Volumes of all markets; null before the projector has started. */
  async marketVolumes(): Promise<MarketVolumes | null> {
    return this.#hasStarted() ? this.#runOwn('marketVolumes', undefined) : null;
  }

  /** By market; null before the projector has started. */
  async volumesBetween(window: WindowTask): Promise<BigInt64Array | null> {
    return this.#hasStarted() ? this.#runOwn('volumesBetween', window) : null;
  }

  /** Waits for the projector as a query does; null when it does not get there in time. */
  async privateTail(shard: number, from: number, through: number): Promise<PrivateTailPage | null> {
    const isThere = await this.#progress.awaitProjected(shard, through, this.#waitMs);
    return isThere ? this.#runOwn('privateTail', { shard, from, through }) : null;
  }

  /**
   * A query of public data. It does not wait for the projector, but a read.db that does not follow every shard is no
   * answer: it would show an exchange without a past.
   */
  ofPublic<N extends keyof MarketQueries>(
    asker: Asker,
    name: N,
    task: Parameters<MarketQueries[N]>[0],
  ): Promise<QueryResult<ReturnType<MarketQueries[N]>>> {
    return this.#public<MarketQueries[N]>(name, asker, task);
  }

  /**
   * A query of public data for all who follow the stream, over these records of the shards; null where they are not
   * there in time.
   */
  async ofStream<N extends keyof MarketQueries>(
    through: (shard: number) => number,
    name: N,
    task: Parameters<MarketQueries[N]>[0],
  ): Promise<ReturnType<MarketQueries[N]> | null> {
    const isThere = this.#hasStarted() && (await this.#awaitProjected(through));
    return isThere ? this.#runOwn(name, task) : null;
  }

  /** The same over the catalogue with all its changes up to this revision, and all changes of status so far. */
  async ofCatalog<N extends keyof MarketQueries>(
    asker: Asker,
    revision: number,
    name: N,
    task: Parameters<MarketQueries[N]>[0],
  ): Promise<QueryResult<ReturnType<MarketQueries[N]>>> {
    const isThere = await Promise.all([
      this.#progress.awaitCatalog(revision, this.#waitMs),
      this.#awaitProjected(this.#lastMarketChange),
    ]);
    return isThere.every(Boolean) ? this.ofPublic(asker, name, task) : BUSY;
  }

  /**
   * If the key of the address has signed the digest: a recovery takes milliseconds. It does not wait for the projector.
   */
  async isSigned(account: number, task: worker.SignedTask): Promise<QueryResult<boolean>> {
    return this.#inTurn<Queries['isSigned']>('isSigned', account, task);
  }

  /** Queries still running are given up. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  /** True once the projector has opened read.db for every shard, and it is not being made anew (RULES.md 10.21). */
  #hasStarted(): boolean {
    if (this.#progress.isBeingMade()) return false;
    for (let shard = 0; shard < this.#progress.shards; shard++) {
      if (this.#progress.projected(shard) === NOT_KNOWN) return false;
    }
    return true;
  }

  /** A thread that is still starting would keep its first query from one that is free long before. */
  #mayRun(thread: Thread): boolean {
    return this.#readyThreads.has(thread.id) && thread.currentUsage === 0 && !thread.terminating && !thread.destroyed;
  }

  #named<R extends object>({ record, group }: StoredOrder<R>): R {
    return group === NO_GROUP ? record : this.#inGroup(record, group);
  }

  async #public<F extends (task: never) => unknown>(
    name: string,
    asker: Asker,
    task: Parameters<F>[0],
  ): Promise<QueryResult<ReturnType<F>>> {
    if (!this.#hasStarted()) return BUSY;
    return answered(this.#queue.run<ReturnType<F>>(asker, (took) => this.#run(name, task, took)));
  }

  async #ask<F extends (task: never) => unknown>(
    name: string,
    asker: OfAccount,
    task: Parameters<F>[0],
  ): Promise<QueryResult<ReturnType<F>>> {
    const account = accountOf(asker);
    // A decision changes what its holders have gained, and is acknowledged to none of them (RULES.md 13.11).
    const isThere = await this.#awaitProjected((shard) =>
      Math.max(this.#lastAcknowledged(account, shard), this.#lastMarketChange(shard)),
    );
    return isThere ? this.#inTurn<F>(name, asker, task) : BUSY;
  }

  async #inTurn<F extends (task: never) => unknown>(
    name: string,
    asker: OfAccount,
    task: Parameters<F>[0],
  ): Promise<QueryResult<ReturnType<F>>> {
    const asking = typeof asker === 'number' ? { lane: asker, isGone: false } : asker;
    const isRead = !OF_CHANGES.has(name);
    return answered(this.#queue.run<ReturnType<F>>(asking, (took) => this.#run(name, task, took), isRead));
  }

  /**
   * A query of the exchange itself, which many parts have at a start. They come one after the other: together they keep
   * one thread from accounts at most, and a start does not need the second.
   */
  #runOwn<T>(name: string, task: unknown): Promise<T> {
    const result = this.#lastOwn.then(() => this.#run<T>(name, task));
    this.#lastOwn = result.catch(() => {});
    return result;
  }

  /** Has a thread run a query. If the file turns out to be damaged, the projector makes it anew. */
  async #run<T>(name: string, task: unknown, took = (_ms: number): void => {}): Promise<T> {
    const generation = this.#progress.generation();
    const startedUs = nowUs();
    try {
      const { value, tookMs }: TimedAnswer = await this.#pool.run({ name, task } satisfies TimedQuery);
      took(tookMs);
      return value as T;
    } catch (error) {
      if (isDamaged(error)) this.#progress.doubt(generation);
      throw error;
    } finally {
      this.runSec.observe(secondsBetween(startedUs, nowUs()));
    }
  }

  /** Waits until the projector has passed a record of every shard. */
  async #awaitProjected(recordOf: (shard: number) => number): Promise<boolean> {
    const waits: Promise<boolean>[] = [];
    for (let shard = 0; shard < this.#progress.shards; shard++) {
      waits.push(this.#progress.awaitProjected(shard, recordOf(shard), this.#waitMs));
    }
    return (await Promise.all(waits)).every(Boolean);
  }
}

/** Parts of changes and of cancels, which do not wait for reads of the same account. */
const OF_CHANGES: ReadonlySet<string> = new Set<keyof Queries>([
  'cancelledWithKey',
  'convertedWithKey',
  'isSigned',
  'orderByHash',
  'placedWithKey',
]);

/** A damaged file is being made anew: that is a matter of waiting. A query that was not run has no reader left. */
async function answered<T>(turn: Promise<T | typeof NOT_RUN> | null): Promise<QueryResult<T>> {
  try {
    const value = turn === null ? NOT_RUN : await turn;
    return value === NOT_RUN ? BUSY : { ok: true, value };
  } catch (error) {
    if (isDamaged(error)) return BUSY;
    throw error;
  }
}
