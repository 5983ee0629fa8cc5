/**
 * The file of `npm run polymarket`: accounts with their keys, and the orders that it has placed for them.
 * Owner: its one thread.
 *
 * Invariants:
 *   POLYSTORE-1  An order and its first part are written before the exchange gets it: after a crash it is found again.
 *   POLYSTORE-2  An account has at most MOST_ORDERS + PRUNED_AT_ONCE orders and MOST_KEYS keys; the oldest orders go
 *                first.
 */
import { readFileSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { openDatabase } from '../../../shared/base/openDatabase.ts';
import { prepared } from '../../../shared/base/prepared.ts';

export const MOST_KEYS = 100;
const MOST_ORDERS = 10_000;
/** The oldest orders of an account go each time that so many have come, and with the first one after a start. */
const PRUNED_AT_ONCE = 100;

export type AccountRow = {
  readonly address: string;
  readonly user_id: string;
  readonly key_id: string;
  readonly secret: string;
  readonly passphrase: string;
  readonly is_funded: number;
};
export type KeyRow = {
  readonly key: string;
  readonly address: string;
  readonly nonce: string;
  readonly secret: string;
  readonly passphrase: string;
};
type NewOrder = {
  readonly id: string;
  readonly address: string;
  readonly owner: string;
  readonly maker: string;
  readonly market_id: string;
  readonly outcome_index: number;
  readonly side: 'BUY' | 'SELL';
  readonly kind: 'GTC' | 'GTD' | 'FOK' | 'FAK';
  readonly maker_amount: string;
  readonly taker_amount: string;
  readonly expiration_sec: number;
  readonly created_sec: number;
};
export type OrderRow = NewOrder & { readonly number: number };
type PartRow = { readonly order_hash: string; readonly number: number; readonly order_id: string | null };

export class PolymarketStore {
  readonly #database: Database;
  /** By account: orders until its oldest ones go. */
  readonly #toCome = new Map<string, number>();

  /** @param path ':memory:' for a store that ends with the process. */
  constructor(path: string) {
    this.#database = openDatabase(path, { timeout: 0 });
    try {
      this.#database.pragma('locking_mode = EXCLUSIVE');
      this.#database.pragma('journal_mode = WAL');
      this.#database.pragma('synchronous = FULL');
      this.#database.pragma('foreign_keys = ON');
      if (this.#database.pragma('user_version', { simple: true }) === 0) this.#makeTables();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  setting(name: string): string | undefined {
    return this.#get<{ value: string }>('SELECT value FROM settings WHERE name = ?', name)?.value;
  }

  setSetting(name: string, value: string): void {
    this.#run('INSERT OR REPLACE INTO settings VALUES (?, ?)', name, value);
  }

  account(address: string): AccountRow | undefined {
    return this.#get('SELECT * FROM accounts WHERE address = ?', address);
  }

  accountCount(): number {
    return this.#get<{ count: number }>('SELECT count(*) count FROM accounts')!.count;
  }

  putAccount({ address, user_id, key_id, secret, passphrase, is_funded }: AccountRow): void {
    const sql = `INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (address) DO UPDATE SET
      user_id = excluded.user_id, key_id = excluded.key_id, secret = excluded.secret,
      passphrase = excluded.passphrase, is_funded = excluded.is_funded`;
    this.#run(sql, address, user_id, key_id, secret, passphrase, is_funded);
  }

  key(key: string): KeyRow | undefined {
    return this.#get('SELECT * FROM keys WHERE key = ?', key);
  }

  keyOfNonce(address: string, nonce: string): KeyRow | undefined {
    return this.#get('SELECT * FROM keys WHERE address = ? AND nonce = ?', address, nonce);
  }

  keysOf(address: string): readonly KeyRow[] {
    return this.#all('SELECT * FROM keys WHERE address = ? ORDER BY key', address);
  }

  /** @returns false where the account has all the keys that one may have. */
  addKey({ key, address, nonce, secret, passphrase }: KeyRow): boolean {
    if (this.keysOf(address).length >= MOST_KEYS) return false;
    this.#run('INSERT INTO keys VALUES (?, ?, ?, ?, ?)', key, address, nonce, secret, passphrase);
    return true;
  }

  removeKey(key: string): void {
    this.#run('DELETE FROM keys WHERE key = ?', key);
  }

  /** The signer to whom a proxy or Safe belongs. */
  signerOf(funder: string): string | undefined {
    return this.#get<{ address: string }>('SELECT address FROM funders WHERE funder = ?', funder)?.address;
  }

  setSigner(funder: string, address: string): void {
    this.#run('INSERT INTO funders VALUES (?, ?)', funder, address);
  }

  funderCount(address: string): number {
    return this.#get<{ count: number }>('SELECT count(*) count FROM funders WHERE address = ?', address)!.count;
  }

  /** POLYSTORE-1, POLYSTORE-2. @returns the number of the order */
  addOrder(order: NewOrder): number {
    return this.#together(() => {
      const names = Object.keys(order);
      const sql = `INSERT INTO orders (${names}) VALUES (${names.map((name) => `@${name}`)})`;
      const number = Number(prepared(this.#database, sql).run(order).lastInsertRowid);
      const toCome = this.#toCome.get(order.address) ?? 0;
      if (toCome === 0) this.#prune(order.address);
      this.#toCome.set(order.address, toCome === 0 ? PRUNED_AT_ONCE : toCome - 1);
      return number;
    });
  }

  #prune(address: string): void {
    const sql = `DELETE FROM orders WHERE address = ? AND number <= (SELECT number FROM orders WHERE address = ?
      ORDER BY number DESC LIMIT 1 OFFSET ?)`;
    this.#run(sql, address, address, MOST_ORDERS);
  }

  addPart(order_hash: string, number: number): void {
    this.#run('INSERT OR IGNORE INTO parts VALUES (?, ?, NULL)', order_hash, number);
  }

  setOrderId(order_hash: string, order_id: string): void {
    this.#run('UPDATE parts SET order_id = ? WHERE order_hash = ?', order_id, order_hash);
  }

  order(id: string): OrderRow | undefined {
    return this.#get('SELECT * FROM orders WHERE id = ?', id);
  }

  /** The order that this one of the exchange is a part of; by its hash or by its id there. */
  orderOfHash(order_hash: string): OrderRow | undefined {
    return this.#get('SELECT o.* FROM orders o JOIN parts USING (number) WHERE order_hash = ?', order_hash);
  }

  orderOfId(order_id: string): OrderRow | undefined {
    return this.#get('SELECT o.* FROM orders o JOIN parts USING (number) WHERE order_id = ?', order_id);
  }

  parts(number: number): readonly PartRow[] {
    return this.#all('SELECT * FROM parts WHERE number = ? ORDER BY order_hash', number);
  }

  removeOrder(number: number): void {
    this.#run('DELETE FROM orders WHERE number = ?', number);
  }

  #makeTables(): void {
    const schema = readFileSync(new URL('../../../data/schema/polymarket-001.sql', import.meta.url), 'utf8');
    this.#together(() => this.#database.exec(`${schema}; PRAGMA user_version = 1`));
  }

  #together<T>(work: () => T): T {
    return this.#database.transaction(work).immediate();
  }

  #get<T>(sql: string, ...values: unknown[]): T | undefined {
    return prepared<unknown[], T>(this.#database, sql).get(...values);
  }

  #all<T>(sql: string, ...values: unknown[]): readonly T[] {
    return prepared<unknown[], T>(this.#database, sql).all(...values);
  }

  #run(sql: string, ...values: unknown[]): void {
    prepared(this.#database, sql).run(...values);
  }
}
