/**
 * The sandbox provider's memory, a small SQLite file: after a restart the provider knows everything in it.
 * Owner: the provider's thread.
 *
 * Invariants:
 *   RAMPSTORE-1  A change is on the disk before the method that makes it returns.
 *   RAMPSTORE-2  A deal takes, gives back and pays out at most once each, and one transfer per purpose is alive at a
 *                time: the tables allow no second row.
 */
import { readFileSync, statSync } from 'node:fs';
import Sqlite, { type Database, type Statement } from 'better-sqlite3';
import { isDamaged } from '../../../shared/base/damagedDatabase.ts';
import { accessProblem } from '../../../shared/base/fileAccess.ts';
import { openDatabase } from '../../../shared/base/openDatabase.ts';
import { prepared, preparedValue } from '../../../shared/base/prepared.ts';
import { errorMessage } from '../../../shared/base/thrown.ts';
import type { DealStatus } from './switches.ts';

export type RampKind = 'onramp' | 'offramp';

export type LaunchRow = {
  readonly id: string;
  readonly token_hash: string;
  readonly visitor_hash: string | null;
  readonly kind: RampKind;
  readonly reference: string;
  readonly wallet: string;
  readonly amount_micro: number | null;
  readonly currency: string;
  readonly method: string;
  readonly return_url: string | null;
  readonly expires_ms: number;
};

export type DealRow = {
  readonly sequence: number;
  readonly id: string;
  readonly launch_id: string;
  readonly kind: RampKind;
  readonly reference: string;
  readonly wallet: string;
  readonly amount_micro: number;
  readonly currency: string;
  readonly method: string;
  readonly status: DealStatus;
  readonly tx_hash: string | null;
  readonly agreed_ms: number;
  readonly listed_ms: number;
  readonly deadline_ms: number | null;
  readonly funded_ms: number | null;
  readonly updated_ms: number;
  readonly is_open: 0 | 1;
};

export type TransferRow = {
  readonly nonce: string;
  readonly purpose: 'deliver' | 'return';
  readonly subject: string;
  readonly to_address: string;
  readonly value_micro: number;
  readonly valid_before_sec: number;
  readonly signature: string;
  readonly state: 'open' | 'final' | 'dead';
  readonly tx_hash: string | null;
};

type ArrivalRow = {
  readonly tx_hash: string;
  readonly from_address: string;
  readonly value_micro: number;
  readonly deal_id: string | null;
  readonly state: 'kept' | 'to_return' | 'returned';
};

type BankAct = 'taken' | 'given_back' | 'paid_out';
/** The setting that holds the address of this file's wallet. */
const WALLET = 'wallet';
const RUNBOOK = 'data/docs/damages.md';
export type HookRow = { sequence: number; event_id: string; body: string; due_ms: number; tries: number };

/**
 * Throws, naming the file and what helps, if the file is damaged or belongs to another wallet. Deals are paid from one
 * wallet.
 */
export function openRampStore(path: string, wallet: string, say: (line: string) => void): RampStore {
  const next = `put its backup in its place, or move it away: then the provider begins anew. See ${RUNBOOK}`;
  try {
    const isEmpty = statSync(path, { throwIfNoEntry: false })?.size === 0;
    const store = new RampStore(path);
    if (isEmpty) say(`${path} was empty: the provider begins anew, and knows no deal of before`);
    const owner = store.setting(WALLET);
    if (owner !== undefined && owner !== wallet) {
      store.close();
      throw new RampFileError(`${path} is of the wallet ${owner}, not of ${wallet}: ${next}`);
    }
    store.setSetting(WALLET, wallet);
    return store;
  } catch (error) {
    if (error instanceof RampFileError) throw error;
    const message = errorMessage(error);
    const what = isDamaged(error) ? `${path} is damaged (${message}): ${next}` : `${path}: ${message}`;
    throw new RampFileError(accessProblem(path, error) ?? what);
  }
}

class RampFileError extends Error {}

export class RampStore {
  readonly #database: Database;

  /** @param path ':memory:' for a store that ends with the process. */
  constructor(path: string) {
    this.#database = openDatabase(path, { timeout: 0 });
    try {
      this.#database.pragma('locking_mode = EXCLUSIVE');
      this.#database.pragma('journal_mode = WAL');
      this.#database.pragma('synchronous = FULL');
      this.#database.pragma('foreign_keys = ON');
      const isNew = this.#database.pragma('user_version', { simple: true }) === 0;
      // The whole file is checked: it is small, and a damaged page would otherwise be met in the middle of a deal.
      const found = isNew ? 'ok' : this.#database.pragma('integrity_check(1)', { simple: true });
      if (found !== 'ok') throw new Sqlite.SqliteError(String(found).replaceAll('\n', ' '), 'SQLITE_CORRUPT');
      if (isNew) this.#makeTables();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  /** Makes all tables, or none if the process is killed in the meantime. */
  #makeTables(): void {
    const schema = readFileSync(new URL('../../../data/schema/ramp-001.sql', import.meta.url), 'utf8');
    this.together(() => this.#database.exec(`${schema}; PRAGMA user_version = 1`));
  }

  /** Returns the rows of any query, for audits. */
  query(sql: string): unknown[] {
    return this.#prepared(sql).all();
  }

  /** Makes all of the changes, or none. */
  together<T>(change: () => T): T {
    return this.#database.inTransaction ? change() : this.#database.transaction(change)();
  }

  addLaunch(row: LaunchRow): void {
    this.#insert('launches', row);
  }

  launchOfToken(tokenHash: string): LaunchRow | undefined {
    return this.#prepared<LaunchRow>('SELECT * FROM launches WHERE token_hash = ?').get(tokenHash);
  }

  launchOfVisitor(visitorHash: string): LaunchRow | undefined {
    return this.#prepared<LaunchRow>('SELECT * FROM launches WHERE visitor_hash = ?').get(visitorHash);
  }

  setVisitor(id: string, visitorHash: string): void {
    this.#prepared('UPDATE launches SET visitor_hash = ? WHERE id = ?').run(visitorHash, id);
  }

  addDeal(row: Omit<DealRow, 'sequence'>): void {
    this.#insert('deals', row);
  }

  deal(id: string): DealRow | undefined {
    return this.#prepared<DealRow>('SELECT * FROM deals WHERE id = ?').get(id);
  }

  dealOfLaunch(launchId: string): DealRow | undefined {
    return this.#prepared<DealRow>('SELECT * FROM deals WHERE launch_id = ?').get(launchId);
  }

  openDeals(): DealRow[] {
    return this.#prepared<DealRow>('SELECT * FROM deals WHERE is_open = 1 ORDER BY sequence').all();
  }

  /** Newest first, before the sequence number. */
  dealsOf(reference: string, kind: RampKind, beforeSequence: number, nowMs: number, limit: number): DealRow[] {
    const sql =
      'SELECT * FROM deals WHERE reference = ? AND kind = ? AND sequence < ? AND listed_ms <= ? ' +
      'ORDER BY sequence DESC LIMIT ?';
    return this.#prepared<DealRow>(sql).all(reference, kind, beforeSequence, nowMs, limit);
  }

  /** Deals that succeeded or gave back between two moments, after the sequence number, oldest first. */
  dealsSettled(fromMs: number, beforeMs: number, afterSequence: number, limit: number): DealRow[] {
    const sql =
      "SELECT * FROM deals WHERE status IN ('success', 'refunded') AND updated_ms >= ? AND updated_ms < ? " +
      'AND sequence > ? ORDER BY sequence LIMIT ?';
    return this.#prepared<DealRow>(sql).all(fromMs, beforeMs, afterSequence, limit);
  }

  /**
   * Returns the sale that such an arrival pays for: the oldest waiting sale, or else the oldest that has waited too
   * long.
   */
  dealAwaiting(wallet: string, amountMicro: number): DealRow | undefined {
    const sql =
      "SELECT * FROM deals WHERE kind = 'offramp' AND funded_ms IS NULL AND wallet = ? AND amount_micro = ? " +
      'ORDER BY is_open DESC, sequence LIMIT 1';
    return this.#prepared<DealRow>(sql).get(wallet, amountMicro);
  }

  changeDeal(id: string, changes: Partial<DealRow>): void {
    this.#update('deals', 'id', id, changes);
  }

  addBank(dealId: string, act: BankAct, { amount_micro, currency }: DealRow, at_ms: number): void {
    this.#insert('bank', { deal_id: dealId, act, amount_micro, currency, at_ms });
  }

  bankMicro(act: BankAct): number {
    return this.#value<number>('SELECT coalesce(sum(amount_micro), 0) FROM bank WHERE act = ?').get(act)!;
  }

  addTransfer(row: TransferRow): void {
    this.#insert('transfers', row);
  }

  openTransfers(): TransferRow[] {
    return this.#prepared<TransferRow>("SELECT * FROM transfers WHERE state = 'open' ORDER BY sequence").all();
  }

  hasTransfer(purpose: TransferRow['purpose'], subject: string): boolean {
    const sql = "SELECT 1 FROM transfers WHERE purpose = ? AND subject = ? AND state <> 'dead'";
    return this.#prepared(sql).get(purpose, subject) !== undefined;
  }

  changeTransfer(nonce: string, changes: Partial<TransferRow>): void {
    this.#update('transfers', 'nonce', nonce, changes);
  }

  /** USDC that is promised and has not left yet. */
  promisedMicro(): number {
    const sql = "SELECT coalesce(sum(value_micro), 0) FROM transfers WHERE state = 'open'";
    const unsigned =
      "SELECT coalesce(sum(amount_micro), 0) FROM deals WHERE is_open = 1 AND kind = 'onramp' AND id NOT IN " +
      "(SELECT subject FROM transfers WHERE purpose = 'deliver' AND state <> 'dead')";
    return this.#value<number>(sql).get()! + this.#value<number>(unsigned).get()!;
  }

  addArrival(row: ArrivalRow): void {
    this.#insert('arrivals', row);
  }

  arrivalOf(dealId: string): ArrivalRow | undefined {
    return this.#prepared<ArrivalRow>('SELECT * FROM arrivals WHERE deal_id = ?').get(dealId);
  }

  arrival(txHash: string): ArrivalRow | undefined {
    return this.#prepared<ArrivalRow>('SELECT * FROM arrivals WHERE tx_hash = ?').get(txHash);
  }

  arrivalsToReturn(): ArrivalRow[] {
    return this.#prepared<ArrivalRow>("SELECT * FROM arrivals WHERE state = 'to_return'").all();
  }

  changeArrival(txHash: string, changes: Partial<ArrivalRow>): void {
    this.#update('arrivals', 'tx_hash', txHash, changes);
  }

  addHook(row: Omit<HookRow, 'sequence' | 'tries'>): void {
    this.#insert('hooks', row);
  }

  hooksDue(nowMs: number, limit: number): HookRow[] {
    const sql = 'SELECT * FROM hooks WHERE due_ms <= ? ORDER BY due_ms, sequence LIMIT ?';
    return this.#prepared<HookRow>(sql).all(nowMs, limit);
  }

  delayHook(sequence: number, dueMs: number): void {
    this.#prepared('UPDATE hooks SET due_ms = ?, tries = tries + 1 WHERE sequence = ?').run(dueMs, sequence);
  }

  removeHook(sequence: number): void {
    this.#prepared('DELETE FROM hooks WHERE sequence = ?').run(sequence);
  }

  setting(name: string): string | undefined {
    return this.#value<string>('SELECT value FROM settings WHERE name = ?').get(name);
  }

  setSetting(name: string, value: string): void {
    this.#prepared('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)').run(name, value);
  }

  #insert(table: string, row: object): void {
    const names = Object.keys(row);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`;
    this.#prepared(sql).run(row);
  }

  #update(table: string, key: string, value: string, changes: object): void {
    const names = Object.keys(changes).sort();
    const sql = `UPDATE ${table} SET ${names.map((name) => `${name} = @${name}`).join(', ')} WHERE ${key} = @key_value`;
    this.#prepared(sql).run({ ...changes, key_value: value });
  }

  #prepared<Row>(sql: string): Statement<unknown[], Row> {
    return prepared(this.#database, sql);
  }

  #value<Value>(sql: string): Statement<unknown[], Value> {
    return preparedValue(this.#database, sql);
  }
}
