/**
 * Other rooms ask for the past by types: each names its queries, with their tasks and answers, in a type of its own
 * (account/reads.ts, markets/reads.ts), and the pool of threads (wiring/queryPool.ts) has them all. So no room depends
 * on the queries
 * of another.
 */
import { assert } from '../../shared/base/assert.ts';
import type { ErrorRow } from '../../shared/base/errors.ts';
import type { Asker } from './askers.ts';

/** An account, or a call of one: nothing is read for a call whose client has gone. */
export type OfAccount = number | Asker;

export type QueryResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly row: ErrorRow };

type Queries = { readonly [name: string]: (task: never) => unknown };

/** Queries of what an account alone may see; the task names it. */
export type ReadsOfAccount<Q extends Queries> = {
  /** Another number stands for another file: parts of an answer from two of them would not fit together. */
  readonly generation: number;
  /** The task is of this account. */
  ofAccount<N extends keyof Q>(
    asker: OfAccount,
    name: N,
    task: Parameters<Q[N]>[0],
  ): Promise<QueryResult<ReturnType<Q[N]>>>;
  /** A further part of an answer, over what its first part has waited for. */
  furtherOfAccount<N extends keyof Q>(
    asker: OfAccount,
    name: N,
    task: Parameters<Q[N]>[0],
  ): Promise<QueryResult<ReturnType<Q[N]>>>;
  /** The same over everything that is committed by now, of all accounts. */
  ofAccountByNow<N extends keyof Q>(
    asker: OfAccount,
    name: N,
    task: Parameters<Q[N]>[0],
  ): Promise<QueryResult<ReturnType<Q[N]>>>;
};

/** Queries of public data. */
export type PublicReads<Q extends Queries> = {
  /**
   * The query does not wait for the projector, but a read.db that does not follow every shard is no answer: it would
   * show an exchange without a past.
   */
  ofPublic<N extends keyof Q>(asker: Asker, name: N, task: Parameters<Q[N]>[0]): Promise<QueryResult<ReturnType<Q[N]>>>;
  /** A query for all who follow the stream, over these records of the shards; null: they are not there in time. */
  ofStream<N extends keyof Q>(
    through: (shard: number) => number,
    name: N,
    task: Parameters<Q[N]>[0],
  ): Promise<ReturnType<Q[N]> | null>;
  /** The same over the catalogue with all its changes up to this revision, and all changes of status so far. */
  ofCatalog<N extends keyof Q>(
    asker: Asker,
    revision: number,
    name: N,
    task: Parameters<Q[N]>[0],
  ): Promise<QueryResult<ReturnType<Q[N]>>>;
};

export function accountOf(asker: OfAccount): number {
  const lane = typeof asker === 'number' ? asker : asker.lane;
  assert(typeof lane === 'number', 'queries: what is of an account is asked by one');
  return lane;
}
