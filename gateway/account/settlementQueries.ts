/**
 * Reads the settlement status of trades and movements of funds (RULES.md 14.8, 14.41) from settlement.db, which the
 * settlement thread writes. Without a chain each is settled when it is made.
 *
 * A trade that settlement has not reached is pending; while the file does not exist, every trade is. It is pending from
 * the time it was made, whenever settlement reads it.
 */
import type Database from 'better-sqlite3';
import { FUND_MOVEMENT, type SettlementStatus } from '../../shared/base/codes.ts';
import { sequenceOfId, shardOfId } from '../../shared/base/ids.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { errorCode, errorMessage } from '../../shared/base/thrown.ts';

export type TradeSettlementRecord = Readonly<{
  settlement_status: SettlementStatus;
  history: readonly { readonly status: SettlementStatus; readonly at: string }[];
  batch_id: string | null;
  transaction_hash: string | null;
  block_number: number | null;
  reason: string | null;
  unwound_at: string | null;
}>;

type MovedRecord = {
  /** FUND_MOVEMENT. */
  readonly kind: number;
  readonly shard: number;
  readonly shardSequence: number;
};
export type MovementSettlement = { readonly status: SettlementStatus; readonly hash: string | null };

/** Trades by the bytes of their ids. */
export type Settlements = {
  statusesOf(ids: readonly Uint8Array[]): SettlementStatus[];
  of(id: Uint8Array, filledAt: string): TradeSettlementRecord;
  ofMovements(account: number, movements: readonly MovedRecord[]): MovementSettlement[];
};

type WorkRow = {
  readonly id: number;
  readonly status: SettlementStatus;
  readonly reason: string | null;
  readonly unwound_ms: number | null;
  readonly batch: string | null;
  readonly hash: string | null;
  readonly block_number: number | null;
};

type FoundMovement = MovementSettlement & { readonly position: number };

const NO_TRANSACTION = { batch_id: null, transaction_hash: null, block_number: null, reason: null, unwound_at: null };
const OF_TRADE = 'work.kind = 0 AND work.part = 0';
const PENDING: MovementSettlement = { status: 'pending', hash: null };
const SETTLED: MovementSettlement = { status: 'settled', hash: null };
/** By kind of movement: the kinds of work that carry it out (engine/settlement/work.ts); other kinds have none. */
const WORK_OF = new Map<number, readonly number[]>([
  [FUND_MOVEMENT.SPLIT, [1]],
  [FUND_MOVEMENT.MERGE, [2]],
  // To the wallet, or into its unheld escrow.
  [FUND_MOVEMENT.WITHDRAWAL, [3, 6]],
  [FUND_MOVEMENT.CLAIM, [5]],
  [FUND_MOVEMENT.SETTLEMENT, [5]],
  [FUND_MOVEMENT.REFUND, [5]],
  // The work of the movement to which the fee belongs.
  [FUND_MOVEMENT.FEE, [1, 2, 3, 6]],
]);
/** Slots for kinds in the query: missing kinds are null, which matches none. */
const KINDS = [2, 3, 4, 5];

/** Without a chain. */
export const LEDGER_SETTLEMENTS: Settlements = {
  statusesOf: (ids) => ids.map(() => 'settled'),
  of: (_id, filledAt) => ({
    settlement_status: 'settled',
    history: [{ status: 'settled', at: filledAt }],
    ...NO_TRANSACTION,
  }),
  ofMovements: (_account, movements) => movements.map(() => SETTLED),
};

export class ChainSettlements implements Settlements {
  readonly #path: string;
  #reader: SettlementReader | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  statusesOf(ids: readonly Uint8Array[]): SettlementStatus[] {
    return this.#open()?.statusesOf(ids) ?? ids.map(() => 'pending');
  }

  of(id: Uint8Array, filledAt: string): TradeSettlementRecord {
    const found = this.#open()?.of(id);
    const pending = { status: 'pending', at: filledAt } as const;
    if (found == null) return { settlement_status: 'pending', history: [pending], ...NO_TRANSACTION };
    return { ...found, history: [pending, ...found.history.slice(1)] };
  }

  ofMovements(account: number, movements: readonly MovedRecord[]): MovementSettlement[] {
    return this.#open()?.ofMovements(account, movements) ?? movements.map(() => PENDING);
  }

  #open(): SettlementReader | null {
    this.#reader ??= tryOpen(this.#path);
    return this.#reader;
  }
}

/** Null before settlement has made the file and its tables. */
function tryOpen(path: string): SettlementReader | null {
  let db: Database.Database | null = null;
  try {
    db = openDatabase(path, { readonly: true, fileMustExist: true });
    db.pragma('query_only = ON');
    return new SettlementReader(db);
  } catch (error) {
    db?.close();
    if (errorCode(error) === 'SQLITE_CANTOPEN' || /^no such table: /.test(errorMessage(error))) return null;
    throw error;
  }
}

export class SettlementReader {
  readonly #statuses: Database.Statement<[wanted: string], { position: number; status: SettlementStatus }>;
  readonly #work: Database.Statement<[shard: number, sequence: number], WorkRow>;
  readonly #history: Database.Statement<[work: number], { status: SettlementStatus; at_ms: number }>;
  readonly #movements: Database.Statement<[wanted: string, account: number], FoundMovement>;
  readonly #followed: Database.Statement<[], { shard: number; sequence: number }>;
  readonly #readOne: (shard: number, sequence: number) => TradeSettlementRecord | null;

  constructor(db: Database.Database) {
    this.#statuses = db.prepare(`
      SELECT wanted.key AS position, work.status FROM json_each(?) AS wanted CROSS JOIN work
        ON work.shard = wanted.value ->> 0 AND work.sequence = wanted.value ->> 1 AND ${OF_TRADE}`);
    this.#work = db.prepare(`
      SELECT work.id, work.status, work.reason, work.unwound_ms, jobs.batch, jobs.hash, jobs.block_number
      FROM work LEFT JOIN jobs ON jobs.id = work.job WHERE work.shard = ? AND work.sequence = ? AND ${OF_TRADE}`);
    this.#movements = db.prepare(`
      SELECT wanted.key AS position, work.status, jobs.hash FROM json_each(?) AS wanted CROSS JOIN work
        ON work.shard = wanted.value ->> 0 AND work.kind IN (${KINDS.map((at) => `wanted.value ->> ${at}`)})
          AND work.sequence = wanted.value ->> 1 AND work.account = ?
      LEFT JOIN jobs ON jobs.id = work.job`);
    this.#followed = db.prepare('SELECT shard, sequence FROM followed');
    this.#history = db.prepare('SELECT status, at_ms FROM history WHERE work = ? ORDER BY step');
    // One transaction, so that status and history are of the same moment.
    this.#readOne = db.transaction((shard: number, sequence: number) => {
      const work = this.#work.get(shard, sequence);
      if (work === undefined) return null;
      const history = this.#history.all(work.id);
      return {
        settlement_status: work.status,
        history: history.map(({ status, at_ms }) => ({ status, at: new Date(at_ms).toISOString() })),
        batch_id: work.batch,
        transaction_hash: work.hash,
        block_number: work.block_number,
        reason: work.reason,
        unwound_at: work.unwound_ms === null ? null : new Date(work.unwound_ms).toISOString(),
      };
    });
  }

  /** One query for a page of trades. */
  statusesOf(ids: readonly Uint8Array[]): SettlementStatus[] {
    const statuses = ids.map((): SettlementStatus => 'pending');
    const wanted = JSON.stringify(ids.map((id) => [shardOfId(id), sequenceOfId(id)]));
    for (const { position, status } of this.#statuses.all(wanted)) statuses[position] = status;
    return statuses;
  }

  /** A movement without work that settlement has passed has nothing left to do on the chain. */
  ofMovements(account: number, movements: readonly MovedRecord[]): MovementSettlement[] {
    const followed = new Map(this.#followed.all().map(({ shard, sequence }) => [shard, sequence]));
    const found = movements.map(({ shard, shardSequence }) => {
      return (followed.get(shard) ?? 0) >= shardSequence ? SETTLED : PENDING;
    });
    const wanted = movements.map(({ shard, shardSequence, kind }) => {
      return [shard, shardSequence, ...(WORK_OF.get(kind) ?? [])];
    });
    for (const { position, status, hash } of this.#movements.all(JSON.stringify(wanted), account)) {
      found[position] = { status, hash };
    }
    return found;
  }

  /** Null if settlement has not reached it. */
  of(id: Uint8Array): TradeSettlementRecord | null {
    return this.#readOne(shardOfId(id), sequenceOfId(id));
  }
}
