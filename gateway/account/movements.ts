/**
 * Deposits and withdrawals of the administrator, each recorded durably so that it is carried out exactly once.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   MOVEMENTS-1  (account, kind, reference) names one movement; its amount changes only while it is refused.
 *   MOVEMENTS-2  A movement is pending from before its command is sent until the shard's reply is known, so a crash in
 *                between leaves it to be sent again; the shard recognises the reference it has already carried out.
 *   MOVEMENTS-3  A movement is found by the hash of its reference, under which journals and read model know it. This
 *                also finds a movement that has lost its reference and was restored from the journals (`control
 *                repair`).
 *   MOVEMENTS-4  issuedMicro is the sum of all deposits that were not refused, less all completed withdrawals: never
 *                less than the USDC that exists, and never above 2^53 - 1.
 *   MOVEMENTS-5  The mark of settlement.db is durable before any movement that was started after it is sent.
 */
import { randomUUID } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { addSafe, MAX_SAFE } from '../../shared/base/int.ts';
import { preparedValue } from '../../shared/base/prepared.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export type FundKind = typeof MOVEMENT.DEPOSIT | typeof MOVEMENT.WITHDRAWAL;
type MovementStatus = 'pending' | 'completed' | 'refused';

export type FundMovement = {
  readonly id: string;
  readonly account: number;
  readonly kind: FundKind;
  readonly amountMicro: number;
  readonly reference: string;
  readonly status: MovementStatus;
  readonly createdMs: number;
  /** For a deposit of full sets: their market. */
  readonly market: number | null;
  /** The fee of a withdrawal on a chain (RULES.md 17.50). */
  readonly feeMicro: number;
};

/** `market` is set for a deposit of full sets. */
export type NewMovement = Pick<FundMovement, 'account' | 'kind' | 'amountMicro' | 'reference' | 'market'> & {
  readonly feeMicro?: number | undefined;
};

/** Key in the table `platform`: settlement.db must be at least as recent as this mark. */
export const SETTLEMENT_MARK = 'settlement_mark';
const COLUMNS =
  'id, account_index AS account, kind, amount_micro AS amountMicro, reference, status, created_ms AS createdMs, ' +
  'market_index AS market, fee_micro AS feeMicro';

export class Movements {
  readonly #changes: Changes;
  readonly #database: ControlDatabase;
  /** MOVEMENTS-4. Null if it was not summed since another member's record changed the rows. */
  #summedMicro: number | null;
  readonly #insert;
  readonly #byHash;
  readonly #reopen;
  readonly #setStatus;
  readonly #pending;
  readonly #setMark;
  #mark: number;

  constructor(database: ControlDatabase, changes: Changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    hashReferences(database);
    this.#insert = database.prepare<FundMovement & { referenceHash: Uint8Array }>(
      `INSERT INTO movements (id, account_index, kind, amount_micro, reference, status, created_ms, reference_hash,
         market_index, fee_micro)
       VALUES ($id, $account, $kind, $amountMicro, $reference, $status, $createdMs, $referenceHash, $market,
         $feeMicro)`,
    );
    this.#byHash = database.prepare<[Uint8Array], FundMovement>(
      `SELECT ${COLUMNS} FROM movements WHERE reference_hash = ?`,
    );
    this.#reopen = database.prepare<FundMovement>(
      `UPDATE movements SET amount_micro = $amountMicro, status = $status, created_ms = $createdMs,
         market_index = $market, fee_micro = $feeMicro WHERE id = $id`,
    );
    this.#setStatus = database.prepare<[MovementStatus, string]>('UPDATE movements SET status = ? WHERE id = ?');
    this.#pending = database.prepare<[], FundMovement>(
      `SELECT ${COLUMNS} FROM movements WHERE status = 'pending' ORDER BY created_ms, id`,
    );
    this.#setMark = database.prepare<[string, string]>(
      'INSERT INTO platform (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    );
    this.#database = database;
    this.#mark = markOf(database);
    this.#summedMicro = countIssued(database);
  }

  /** The sum is computed when it is asked for: once after any number of records. */
  reload(): void {
    this.#mark = markOf(this.#database);
    this.#summedMicro = null;
  }

  find(account: number, kind: FundKind, reference: string): FundMovement | undefined {
    return this.#byHash.get(referenceHash(account, kind, reference));
  }

  /** Finds a movement that is in the journals; undefined if this file is older than they are. */
  byHash(hash: Uint8Array): Pick<FundMovement, 'id' | 'reference'> | undefined {
    return this.#byHash.get(hash);
  }

  pending(): FundMovement[] {
    return this.#pending.all();
  }

  get #issuedMicro(): number {
    this.#summedMicro ??= countIssued(this.#database);
    return this.#summedMicro;
  }

  /** True if the ledger's sums stay safe integers after another deposit of this amount. */
  hasRoomFor(amountMicro: number): boolean {
    return amountMicro <= MAX_SAFE - this.#issuedMicro;
  }

  /** Stores the mark of settlement.db on which later movements depend (MOVEMENTS-5). */
  noteMark(mark: number): void {
    if (mark <= this.#mark) return;
    this.#mark = mark;
    this.#changes.write(() => this.#setMark.run(SETTLEMENT_MARK, String(mark)));
  }

  /** Resolves when every movement so far is on disk in its present state. */
  durable(): Promise<void> {
    return this.#changes.durable();
  }

  /**
   * Records a movement, which is sent once it is durable. The caller has found no movement with this reference, or a
   * refused one.
   */
  start(fields: NewMovement, nowMs: number): FundMovement {
    const { account, kind, reference, amountMicro, feeMicro = 0 } = fields;
    const before = this.#issuedMicro;
    const earlier = this.find(account, kind, reference);
    const movement: FundMovement = {
      id: earlier?.id ?? randomUUID(),
      ...fields,
      feeMicro,
      status: 'pending',
      createdMs: nowMs,
    };
    if (earlier === undefined) {
      const row = { ...movement, referenceHash: referenceHash(account, kind, reference) };
      this.#changes.write(() => this.#insert.run(row));
    } else {
      assert(earlier.status === 'refused', 'MOVEMENTS-1: only a refused movement starts again');
      this.#changes.write(() => this.#reopen.run(movement));
    }
    if (kind === MOVEMENT.DEPOSIT) this.#summedMicro = addSafe(before, amountMicro);
    return movement;
  }

  complete(movement: FundMovement): FundMovement {
    return this.#end(movement, 'completed', movement.kind === MOVEMENT.WITHDRAWAL ? movement.amountMicro : 0);
  }

  refuse(movement: FundMovement): FundMovement {
    return this.#end(movement, 'refused', movement.kind === MOVEMENT.DEPOSIT ? movement.amountMicro : 0);
  }

  /** @param lessMicro the amount by which the issued USDC shrinks */
  #end(movement: FundMovement, status: MovementStatus, lessMicro: number): FundMovement {
    assert(movement.status === 'pending', 'MOVEMENTS-2: only a pending movement ends');
    const issuedMicro = this.#issuedMicro;
    this.#summedMicro = issuedMicro - lessMicro;
    this.#changes.write(() => this.#setStatus.run(status, movement.id));
    return { ...movement, status };
  }
}

/**
 * MOVEMENTS-3, for rows that were written before control-013.sql added the column. Without their hashes a repeated
 * deposit of an old directory would not be found, and be carried out again.
 */
function hashReferences(database: ControlDatabase): void {
  const write = database.prepare<[Uint8Array, string]>('UPDATE movements SET reference_hash = ? WHERE id = ?');
  const rows = database
    .prepare<[], FundMovement>(`SELECT ${COLUMNS} FROM movements WHERE reference_hash IS NULL`)
    .all();
  if (rows.length === 0) return;
  database.transaction(() => {
    for (const { id, account, kind, reference } of rows) write.run(referenceHash(account, kind, reference), id);
  })();
}

function markOf(database: ControlDatabase): number {
  const read = preparedValue<[string], string>(database, 'SELECT value FROM platform WHERE key = ?');
  return Number(read.get(SETTLEMENT_MARK) ?? 0);
}

/** Summed by SQLite in 64 bits: all deposits together may exceed the safe integers, the difference does not. */
function countIssued(database: ControlDatabase): number {
  const sum = preparedValue<[number, number], number | null>(
    database,
    `SELECT SUM(CASE kind WHEN ? THEN amount_micro ELSE -amount_micro END) FROM movements
       WHERE status = 'completed' OR (status = 'pending' AND kind = ?)`,
  ).get(MOVEMENT.DEPOSIT, MOVEMENT.DEPOSIT);
  return sum ?? 0;
}
