/**
 * Reads how far trades have come on a chain (RULES.md 14.8) from settlement.db, which the settlement thread writes.
 * Without a chain every trade is settled when it is made.
 *
 * A trade that settlement has not reached is pending, and so is every trade before it has made its file: it is pending
 * since it was made, whenever settlement has read of it.
 */
import Database from 'better-sqlite3';
import type { SettlementStatus } from '../../shared/base/codes.ts';
import { sequenceOfId, shardOfId } from '../../shared/base/ids.ts';

export type TradeSettlementRecord = Readonly<{
  settlement_status: SettlementStatus;
  history: readonly { readonly status: SettlementStatus; readonly at: string }[];
  batch_id: string | null;
  transaction_hash: string | null;
  block_number: number | null;
  reason: string | null;
  unwound_at: string | null;
}>;

/** By the bytes of their ids. */
export type Settlements = {
  statusesOf(ids: readonly Uint8Array[]): SettlementStatus[];
  of(id: Uint8Array, matchedMs: number): TradeSettlementRecord;
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

const NO_TRANSACTION = { batch_id: null, transaction_hash: null, block_number: null, reason: null, unwound_at: null };
const OF_TRADE = 'work.kind = 0 AND work.part = 0';

/** Without a chain. */
export const LEDGER_SETTLEMENTS: Settlements = {
  statusesOf: (ids) => ids.map(() => 'settled'),
  of: (_id, matchedMs) => ({
    settlement_status: 'settled',
    history: [{ status: 'settled', at: new Date(matchedMs).toISOString() }],
    ...NO_TRANSACTION,
  }),
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

  of(id: Uint8Array, matchedMs: number): TradeSettlementRecord {
    const found = this.#open()?.of(id);
    const pending = { status: 'pending', at: new Date(matchedMs).toISOString() } as const;
    if (found == null) return { settlement_status: 'pending', history: [pending], ...NO_TRANSACTION };
    return { ...found, history: [pending, ...found.history.slice(1)] };
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
    db = new Database(path, { readonly: true, fileMustExist: true });
    db.pragma('query_only = ON');
    return new SettlementReader(db);
  } catch (error) {
    db?.close();
    const { code, message } = error as { readonly code?: string; readonly message: string };
    if (code === 'SQLITE_CANTOPEN' || /^no such table: /.test(message)) return null;
    throw error;
  }
}

export class SettlementReader {
  readonly #statuses: Database.Statement<[wanted: string], { position: number; status: SettlementStatus }>;
  readonly #work: Database.Statement<[shard: number, sequence: number], WorkRow>;
  readonly #history: Database.Statement<[work: number], { status: SettlementStatus; at_ms: number }>;
  readonly #readOne: (shard: number, sequence: number) => TradeSettlementRecord | null;

  constructor(db: Database.Database) {
    this.#statuses = db.prepare(`
      SELECT wanted.key AS position, work.status FROM json_each(?) AS wanted CROSS JOIN work
        ON work.shard = wanted.value ->> 0 AND work.sequence = wanted.value ->> 1 AND ${OF_TRADE}`);
    this.#work = db.prepare(`
      SELECT work.id, work.status, work.reason, work.unwound_ms, jobs.batch, jobs.hash, jobs.block_number
      FROM work LEFT JOIN jobs ON jobs.id = work.job WHERE work.shard = ? AND work.sequence = ? AND ${OF_TRADE}`);
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

  /** Null: settlement has not reached it. */
  of(id: Uint8Array): TradeSettlementRecord | null {
    return this.#readOne(shardOfId(id), sequenceOfId(id));
  }
}
