/**
 * The rows of envelopes: one for each nonce of a key, and one for each transaction that was signed for it. They are
 * never deleted; their bytes are kept until the nonce is used up, that is, while one of them may still be mined.
 */
import { prepared, preparedValue } from '../base/prepared.ts';
import type { StoreDatabase } from '../records/recordedDatabase.ts';
import type { Hex, Receipt } from './node.ts';

const ENVELOPE_TABLES = `
  CREATE TABLE IF NOT EXISTS envelopes (
    key_address TEXT NOT NULL, nonce INTEGER NOT NULL, job INTEGER, destination TEXT NOT NULL, data BLOB NOT NULL,
    gas INTEGER NOT NULL, reserved_ms INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'mined', 'final', 'foreign')),
    hash TEXT, block_number INTEGER, block_hash TEXT,
    PRIMARY KEY (key_address, nonce)) WITHOUT ROWID, STRICT;
  CREATE INDEX IF NOT EXISTS envelopes_unsettled ON envelopes (key_address, nonce) WHERE state IN ('open', 'mined');
  CREATE INDEX IF NOT EXISTS envelopes_jobs ON envelopes (key_address, job);
  CREATE TABLE IF NOT EXISTS envelope_attempts (
    key_address TEXT NOT NULL, nonce INTEGER NOT NULL, attempt INTEGER NOT NULL, hash TEXT NOT NULL UNIQUE,
    bytes BLOB NOT NULL, max_fee_wei TEXT NOT NULL, priority_fee_wei TEXT NOT NULL, signed_ms INTEGER NOT NULL,
    PRIMARY KEY (key_address, nonce, attempt)) WITHOUT ROWID, STRICT;
`;

export function addEnvelopeTables(db: Pick<StoreDatabase, 'exec'>): void {
  db.exec(ENVELOPE_TABLES);
}

export type Envelope = {
  readonly nonce: number;
  /** Null: the transaction only fills a gap. */
  readonly job: number | null;
  readonly state: 'open' | 'mined';
  readonly hash: Hex | null;
  readonly block_number: number | null;
  readonly block_hash: Hex | null;
};
export type Attempt = {
  readonly attempt: number;
  readonly hash: Hex;
  readonly max_fee_wei: string;
  readonly priority_fee_wei: string;
  readonly signed_ms: number;
};
export type Draft = { readonly to: Hex; readonly data: Hex; readonly gas: number };

export class EnvelopeRows {
  readonly #db: StoreDatabase;
  readonly #key: Hex;

  constructor(db: StoreDatabase, key: Hex) {
    addEnvelopeTables(db);
    this.#db = db;
    this.#key = key;
  }

  /** Carries out one durable step. */
  commit(change: () => void): void {
    this.#db.transaction(change)();
  }

  /** Envelopes without a final end, by nonce, without their data, because a batch has a hundred kilobytes. */
  unsettled(): Envelope[] {
    return prepared<[Hex], Envelope>(
      this.#db,
      `SELECT nonce, job, state, hash, block_number, block_hash FROM envelopes
         WHERE key_address = ? AND state IN ('open', 'mined') ORDER BY nonce`,
    ).all(this.#key);
  }

  countOpen(): number {
    return preparedValue<[Hex], number>(
      this.#db,
      `SELECT count(*) FROM envelopes WHERE key_address = ? AND state = 'open'`,
    ).get(this.#key)!;
  }

  attempts(nonce: number): Attempt[] {
    return prepared<[Hex, number], Attempt>(
      this.#db,
      `SELECT attempt, hash, max_fee_wei, priority_fee_wei, signed_ms FROM envelope_attempts
         WHERE key_address = ? AND nonce = ? ORDER BY attempt`,
    ).all(this.#key, nonce);
  }

  draft(nonce: number): Draft {
    const { to, data, gas } = prepared<[Hex, number], Omit<Draft, 'data'> & { data: Buffer }>(
      this.#db,
      'SELECT destination AS "to", data, gas FROM envelopes WHERE key_address = ? AND nonce = ?',
    ).get(this.#key, nonce)!;
    return { to, data: `0x${data.toString('hex')}`, gas };
  }

  bytes(hash: Hex): Hex {
    const found = preparedValue<[Hex], Buffer>(this.#db, 'SELECT bytes FROM envelope_attempts WHERE hash = ?');
    return `0x${found.get(hash)!.toString('hex')}`;
  }

  /** The mined transaction of a job, or the last signed one; null until there is one. */
  hashOfJob(job: number): Hex | null {
    const found = preparedValue<[Hex, number], Hex>(
      this.#db,
      `SELECT ifnull(envelopes.hash, envelope_attempts.hash) FROM envelopes JOIN envelope_attempts
           USING (key_address, nonce) WHERE key_address = ? AND job = ? ORDER BY nonce DESC, attempt DESC LIMIT 1`,
    );
    return found.get(this.#key, job) ?? null;
  }

  /** The nonce after the highest one that was ever used here. */
  nextNonce(): number {
    const last = preparedValue<[Hex], number | null>(
      this.#db,
      'SELECT max(nonce) FROM envelopes WHERE key_address = ?',
    ).get(this.#key);
    return last === null || last === undefined ? 0 : last + 1;
  }

  has(nonce: number): boolean {
    const found = prepared(this.#db, 'SELECT 1 FROM envelopes WHERE key_address = ? AND nonce = ?');
    return found.get(this.#key, nonce) !== undefined;
  }

  add(nonce: number, job: number | null, { to, data, gas }: Draft, nowMs: number): void {
    prepared(
      this.#db,
      `INSERT INTO envelopes (key_address, nonce, job, destination, data, gas, reserved_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ).run(this.#key, nonce, job, to, toBlob(data), gas, nowMs);
  }

  addAttempt(nonce: number, attempt: Attempt, bytes: Hex): void {
    const { hash, max_fee_wei, priority_fee_wei, signed_ms } = attempt;
    prepared(this.#db, 'INSERT INTO envelope_attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
      this.#key,
      nonce,
      attempt.attempt,
      hash,
      toBlob(bytes),
      max_fee_wei,
      priority_fee_wei,
      signed_ms,
    );
  }

  setMined(nonce: number, { hash, blockNumber, blockHash }: Receipt): void {
    this.#set(nonce, 'mined', hash, blockNumber, blockHash);
  }

  setOpen(nonce: number): void {
    this.#set(nonce, 'open', null, null, null);
  }

  /**
   * Stores the end: `final` with its transaction, or `foreign` without one. No other transaction can be mined with this
   * nonce.
   */
  end(nonce: number, state: 'final' | 'foreign'): void {
    prepared(this.#db, `UPDATE envelopes SET state = ?, data = x'' WHERE key_address = ? AND nonce = ?`).run(
      state,
      this.#key,
      nonce,
    );
    prepared(this.#db, `UPDATE envelope_attempts SET bytes = x'' WHERE key_address = ? AND nonce = ?`).run(
      this.#key,
      nonce,
    );
  }

  #set(nonce: number, state: string, hash: Hex | null, blockNumber: number | null, blockHash: Hex | null): void {
    prepared(
      this.#db,
      `UPDATE envelopes SET state = ?, hash = ?, block_number = ?, block_hash = ?
         WHERE key_address = ? AND nonce = ?`,
    ).run(state, hash, blockNumber, blockHash, this.#key, nonce);
  }
}

function toBlob(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}
