/**
 * Types by which other rooms query the past: each room names its queries where it prepares them (account/queries.ts,
 * markets/queries.ts), and the pool of threads (wiring/queryPool.ts) answers all of them. So no room depends on the
 * queries of another.
 */
import { assert } from '../../shared/base/assert.ts';
import type { ErrorRow } from '../../shared/base/errors.ts';
import type { Asker } from './askers.ts';

/** An account, or a request of an account: nothing is read for a request whose client has gone. */
export type OfAccount = number | Asker;

export type QueryResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly row: ErrorRow };

type Queries = { readonly [name: string]: (task: never) => unknown };

/** Asks for a query by its name. */
type Ask<Q extends Queries, A> = <N extends keyof Q>(
  asker: A,
  name: N,
  task: Parameters<Q[N]>[0],
) => Promise<QueryResult<ReturnType<Q[N]>>>;

/** Queries of data that only the account may see; the task names the account. */
export type ReadsOfAccount<Q extends Queries> = {
  /**
   * The number of the file. A changed number means another file: parts of an answer from two files would not fit
   * together.
   */
  readonly generation: number;
  /** Answers a query of one account. */
  readonly ofAccount: Ask<Q, OfAccount>;
  /** Answers a further part of an answer, over the same records that its first part waited for. */
  readonly furtherOfAccount: Ask<Q, OfAccount>;
  /** Answers the same query over everything that is committed by now, of all accounts. */
  readonly ofAccountByNow: Ask<Q, OfAccount>;
};

/** Queries of public data. */
export type PublicReads<Q extends Queries> = {
  /**
   * Does not wait for the projector, but refuses a read.db that does not follow every shard yet: such a file would show
   * an exchange without a past.
   */
  readonly ofPublic: Ask<Q, Asker>;
  /**
   * Answers a query for all followers of the stream, over these records of the shards; null if the projector has not
   * passed them in time.
   */
  ofStream<N extends keyof Q>(
    through: (shard: number) => number,
    name: N,
    task: Parameters<Q[N]>[0],
  ): Promise<ReturnType<Q[N]> | null>;
  /** Answers the same over the catalogue with all its changes up to this revision, and all changes of status so far. */
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
