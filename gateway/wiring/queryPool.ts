/**
 * Answers queries about the past from read.db, on threads of their own, so that a scan never delays the gateway.
 * Owner: the gateway thread.
 *
 * First a query waits until the projector has passed the last record that was acknowledged to its account, so an
 * account always reads its own writes (RULES.md 7.1). Then it waits for the turn of its account, or of the address of a
 * caller without credentials (fairQueue.ts). Both waits are bounded; if one takes longer, the answer is ENGINE_BUSY.
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
import type { UnreadArchive } from '../account/archivedOrdersQueries.ts';
import type { OrderFilters } from '../account/orderListsQueries.ts';
import type { StoredOrder } from '../account/orderQueries.ts';
import type { AccountReads } from '../account/reads.ts';
import type { Asker } from '../base/askers.ts';
import type { HistoryPage } from '../base/page.ts';
import { accountOf, type OfAccount, type QueryResult } from '../base/reads.ts';
import type { WindowTask } from '../markets/exchangeQueries.ts';
import type { MarketReads } from '../markets/reads.ts';
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
  /** Database of the progress of trades on a chain; null if the ledger settles. */
  readonly settlementDbPath: string | null;
  /** The last record of a shard that may have been acknowledged to an account. */
  readonly lastAcknowledged: (account: number, shard: number) => number;
  /** The last record of a shard that may have changed the status of a market. */
  readonly lastMarketChange: (shard: number) => number;
  /** Adds the name of the order's group to a record. */
  readonly inGroup: <R extends object>(record: R, group: number) => R;
  /** Called, by each thread at most once, for a file of the archive that is missing or damaged. */
  readonly onUnreadArchive?: (path: string) => void;
  /** The longest wait of a query for the projector. */
  readonly waitMs?: number;
  /** False: no account or address rests that has read much (fairQueue.ts), for a server without limits. */
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
/** An idle second thread is kept for this long: starting one takes more processor time than hundreds of queries. */
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
  /** Ids of the threads that have started. */
  readonly #readyThreads = new Set<number>();
  /** Settles when the exchange's own queries so far have ended. */
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
      // With atomics a thread waits in Atomics.wait and never turns its event loop, where iterators are freed.
      atomics: 'disabled',
      loadBalancer: (_task, threads) => threads.find((thread) => this.#mayRun(thread)) ?? null,
    });
    this.#pool.on('workerCreate', ({ id }: Thread) => this.#readyThreads.add(id));
    this.#pool.on('message', ({ unreadArchive }: UnreadArchive) => options.onUnreadArchive?.(unreadArchive));
    this.#pool.on('workerDestroy', ({ id }: Thread) => this.#readyThreads.delete(id));
  }

  /** The run times of queries, without their wait for a turn. */
  readonly runSec = new Histogram(DURATION_BOUNDS_SEC);

  /** Queries that wait for a thread. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** The time from which on the history is complete; 0: from the first record on. */
  get historyFromMs(): number {
    return this.#progress.historyFromMs();
  }

  /** Returns an order of the account in any state; null if the account has no order with this hash. */
  async orderByHash(asker: OfAccount, hash: Uint8Array): Promise<QueryResult<OrderRecord | null>> {
    const account = accountOf(asker);
    const result = await this.#ask<Queries['orderByHash']>('orderByHash', asker, { account, hash });
    if (!result.ok) return result;
    if (result.value === null) return { ok: true, value: null };
    return { ok: true, value: this.#named(result.value) };
  }

  async userOrders(asker: OfAccount, filters: OrderFilters): Promise<QueryResult<HistoryPage<OrderRecordV2>>> {
    const account = accountOf(asker);
    const result = await this.#ask<Queries['userOrders']>('userOrders', asker, { account, filters });
    if (!result.ok) return result;
    return { ok: true, value: { ...result.value, rows: result.value.rows.map((row) => this.#named(row)) } };
  }

  /** Returns the newest orders by creation. */
  async newestOrders(asker: OfAccount, limit: number): Promise<QueryResult<OrderRecord[]>> {
    const account = accountOf(asker);
    const result = await this.#ask<Queries['newestOrders']>('newestOrders', asker, { account, limit });
    return result.ok ? { ok: true, value: result.value.map((row) => this.#named(row)) } : result;
  }

  readonly ofAccount: Reads['ofAccount'] = (asker, name, task) => this.#ask(name, asker, task);

  get generation(): number {
    return this.#progress.generation();
  }

  readonly furtherOfAccount: Reads['furtherOfAccount'] = (asker, name, task) => this.#inTurn(name, asker, task);

  readonly ofAccountByNow: Reads['ofAccountByNow'] = async (asker, name, task) => {
    const isThere = await this.#awaitProjected((shard) => Math.max(this.#progress.committed(shard), 0));
    return isThere ? this.ofAccount(asker, name, task) : BUSY;
  };

  nflPart(asker: Asker, task: NflTask): Promise<QueryResult<NflPart>> {
    return this.#public<Queries['nflPart']>('nflPart', asker, task);
  }

  /** Returns the order that the command with this key placed; null if another command placed it. */
  placedWithKey(order: KeyedOrder): Promise<QueryResult<Placed | null>> {
    return this.#ask<Queries['placedWithKey']>('placedWithKey', order.account, { order });
  }

  cancelledWithKey(order: KeyedOrder, hash: Uint8Array): Promise<QueryResult<boolean>> {
    return this.#ask<Queries['cancelledWithKey']>('cancelledWithKey', order.account, { order, hash });
  }

  /**
   * Returns the time at which the conversion of funds with this key was carried out, 0 if none was. Nothing that was
   * acknowledged names its record, so the query waits for everything that is committed by now.
   */
  async convertedWithKey(use: KeyedOrder): Promise<QueryResult<number>> {
    const isThere = await this.#awaitProjected((shard) => Math.max(this.#progress.committed(shard), 0));
    return isThere ? this.#inTurn<Queries['convertedWithKey']>('convertedWithKey', use.account, { use }) : BUSY;
  }

  /** Returns the keys of the read model since a moment, one page at a time. Does not wait for the projector. */
  journaledKeys(sinceMs: number, after: number): Promise<KeyPage> {
    return this.#runOwn('journaledKeys', { sinceMs, after });
  }

  /** Returns the volumes of all markets; null before the projector has started. */
  async marketVolumes(): Promise<MarketVolumes | null> {
    return this.#hasStarted() ? this.#runOwn('marketVolumes', null) : null;
  }

  /** Returns volumes by market; null before the projector has started. */
  async volumesBetween(window: WindowTask): Promise<BigInt64Array | null> {
    return this.#hasStarted() ? this.#runOwn('volumesBetween', window) : null;
  }

  /** Waits for the projector as a query does; null if the projector is not there in time. */
  async privateTail(shard: number, from: number, through: number): Promise<PrivateTailPage | null> {
    const isThere = await this.#progress.awaitProjected(shard, through, this.#waitMs);
    return isThere ? this.#runOwn('privateTail', { shard, from, through }) : null;
  }

  readonly ofPublic: Reads['ofPublic'] = (asker, name, task) => this.#public(name, asker, task);

  readonly ofStream: Reads['ofStream'] = async (through, name, task) => {
    const isThere = this.#hasStarted() && (await this.#awaitProjected(through));
    return isThere ? this.#runOwn(name, task) : null;
  };

  readonly ofCatalog: Reads['ofCatalog'] = async (asker, revision, name, task) => {
    const isThere = await Promise.all([
      this.#progress.awaitCatalog(revision, this.#waitMs),
      this.#awaitProjected(this.#lastMarketChange),
    ]);
    return isThere.every(Boolean) ? this.ofPublic(asker, name, task) : BUSY;
  };

  /**
   * Checks whether the key of the address has signed the digest; a recovery takes milliseconds. Does not wait for the
   * projector.
   */
  async isSigned(account: number, task: worker.SignedTask): Promise<QueryResult<boolean>> {
    return this.#inTurn<Queries['isSigned']>('isSigned', account, task);
  }

  /** Closes the pool and gives up queries that are still running. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  /** True once the projector has opened read.db for every shard, unless it is being made anew (RULES.md 10.21). */
  #hasStarted(): boolean {
    if (this.#progress.isBeingMade()) return false;
    for (let shard = 0; shard < this.#progress.shards; shard++) {
      if (this.#progress.projected(shard) === NOT_KNOWN) return false;
    }
    return true;
  }

  /** A query is not given to a thread that is still starting: another thread would be free long before. */
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
    // A decision changes the gains of its holders, and is acknowledged to none of them (RULES.md 13.11).
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
   * Runs a query of the exchange itself; at a start many parts have one. They run one after the other: together they
   * take at most one thread from accounts, and a start does not need the second.
   */
  #runOwn<T>(name: string, task: unknown): Promise<T> {
    const result = this.#lastOwn.then(() => this.#run<T>(name, task));
    this.#lastOwn = result.catch(() => {});
    return result;
  }

  /** Runs a query on a thread. If the file turns out to be damaged, the projector makes it anew. */
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

/** Parts of changes and of cancels. They do not wait for reads of the same account. */
const OF_CHANGES: ReadonlySet<string> = new Set<keyof Queries>([
  'cancelledWithKey',
  'convertedWithKey',
  'isSigned',
  'orderByHash',
  'placedWithKey',
]);

/** A damaged file is being made anew: the caller has to wait. A query that was not run has no reader left. */
async function answered<T>(turn: Promise<T | typeof NOT_RUN> | null): Promise<QueryResult<T>> {
  try {
    const value = turn === null ? NOT_RUN : await turn;
    return value === NOT_RUN ? BUSY : { ok: true, value };
  } catch (error) {
    if (isDamaged(error)) return BUSY;
    throw error;
  }
}
