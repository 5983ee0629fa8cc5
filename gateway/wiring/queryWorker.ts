/**
 * A thread of the query pool: a read-only connection to read.db, with the queries that each room prepares. The pool
 * asks for a query by its name.
 *
 * Invariant:
 *   QUERYWORKER-1  A query is one transaction, so that everything it reads is of one moment: rows and their total, sums
 *                  and the prices by which they are valued, and how far the journals were followed.
 */
import { workerData } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { NICE_FOLLOWER, stepBack } from '../../shared/base/background.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { isDigestSignedBy } from '../../shared/crypto/walletSignature.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { prepareAccountQueries, settlementsIn } from '../account/queries.ts';
import { prepareMarketQueries } from '../markets/queries.ts';
import type { KeyedOrder, KeyPage } from '../shardlink/journaledKeys.ts';
import { type PrivateTailPage, PrivateTailQueries, type PrivateTailTask } from '../stream/privateTailQueries.ts';
import { KeyQueries } from '../trading/keyQueries.ts';
import type { Placed } from '../trading/placed.ts';

export type QueryWorkerData = {
  readonly readDbPath: string;
  readonly progress: SharedArrayBuffer;
  /** Null where the ledger settles (RULES.md 14.8). */
  readonly settlementDbPath: string | null;
};

export type SignedTask = { readonly address: string; readonly digest: Uint8Array; readonly signature: string };

export type Queries = ReturnType<typeof prepare> & typeof WITHOUT_FILE;

const { readDbPath, settlementDbPath, progress: progressMemory }: QueryWorkerData = workerData;
const progress = new Progress(progressMemory);
const settlements = settlementsIn(settlementDbPath);
let connection: Database.Database | null = null;
let opened: ((name: string, task: unknown) => unknown) | null = null;
let openedGeneration = 0;

const WITHOUT_FILE = {
  isSigned: ({ address, digest, signature }: SignedTask): boolean => isDigestSignedBy(address, digest, signature),
};

// Reads of the past must not take processors from orders.
stepBack(NICE_FOLLOWER);

export function answer(name: string, task: unknown): unknown {
  return name in WITHOUT_FILE ? run(WITHOUT_FILE, name, task) : reader()(name, task);
}

function run(among: object, name: string, task: unknown): unknown {
  return (among as Readonly<Record<string, (task: unknown) => unknown>>)[name](task);
}

/**
 * Opens the file at the first query, because the pool exists before the projector has made the file, and again if
 * another file may have replaced it. QUERYWORKER-1
 */
function reader(): (name: string, task: unknown) => unknown {
  const generation = progress.generation();
  if (opened === null || openedGeneration !== generation) {
    opened = null;
    connection?.close();
    const db = openDatabase(readDbPath, { readonly: true, fileMustExist: true });
    connection = db;
    openedGeneration = generation;
    const queries = prepare(db);
    opened = db.transaction((name: string, task: unknown) => run(queries, name, task));
    // Set only now: some queries have tables of the connection (markets/searchBudgetQueries.ts).
    db.pragma('query_only = ON');
  }
  return opened;
}

function prepare(db: Database.Database) {
  const keys = new KeyQueries(db);
  const privateTail = new PrivateTailQueries(db);
  return {
    ...prepareMarketQueries(db, progress),
    ...prepareAccountQueries(db, settlements),
    journaledKeys: (task: { sinceMs: number; after: number }): KeyPage => keys.journaled(task.sinceMs, task.after),
    placedWithKey: (task: { order: KeyedOrder }): Placed | null => keys.placed(task.order),
    cancelledWithKey: (task: { order: KeyedOrder; hash: Uint8Array }): boolean =>
      keys.hasCancelled(task.order, task.hash),
    convertedWithKey: (task: { use: KeyedOrder }): number => keys.convertedMs(task.use),
    privateTail: (task: PrivateTailTask): PrivateTailPage | null => privateTail.read(task),
  };
}
