/**
 * Records by hour, for two days, which accounts made a request or had a socket open: a bit for each account in each
 * hour.
 * Owner: the gateway thread; in memory, noted in control.db once a minute, so a crash forgets a minute.
 *
 * Invariants:
 *   ONLINE-1  The last 48 hours are kept; every other row of control.db is deleted with the next note.
 */
import { MAX_ACCOUNTS } from '../../shared/base/codes.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

const HOUR_MS = 3_600_000;
const HOURS_KEPT = 48;
const FIRST_WORDS = 32;

type HourRow = { hour_ms: number; accounts: Uint8Array };

export class OnlineAccounts {
  readonly #changes: Changes;
  /** Bits by the start of the hour. */
  readonly #hours = new Map<number, Uint32Array>();
  /** Hours that differ from control.db. */
  readonly #dirty = new Set<number>();
  readonly #write;
  readonly #deleteOld;
  readonly #select;
  readonly #database: ControlDatabase;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#write = database.prepare<[number, Uint8Array]>('INSERT OR REPLACE INTO online_hours VALUES (?, ?)');
    this.#deleteOld = database.prepare<[number]>('DELETE FROM online_hours WHERE hour_ms <= ?');
    this.#database = database;
    this.#select = database.prepare<[number], HourRow>('SELECT * FROM online_hours WHERE hour_ms = ?');
    for (const row of database.prepare<[], HourRow>('SELECT * FROM online_hours').iterate()) {
      this.#hours.set(row.hour_ms, bitsOf(row));
    }
  }

  /** The leading member notes its own callers; this member's callers are added. */
  reload(changed: TakenRows): void {
    for (const hour of changed.numbersOf('online_hours')) {
      const row = this.#select.get(hour);
      if (row === undefined) {
        this.#hours.delete(hour);
        this.#dirty.delete(hour);
        continue;
      }
      const bits = bitsOf(row);
      const own = this.#dirty.has(hour) ? this.#hours.get(hour)! : bits;
      const all = own.length > bits.length ? longer(bits, own.length - 1) : bits;
      for (const [word, value] of own.entries()) all[word] |= value;
      this.#hours.set(hour, all);
    }
  }

  note(account: number, nowMs: number): void {
    const hour = nowMs - (nowMs % HOUR_MS);
    let bits = this.#hours.get(hour) ?? new Uint32Array(FIRST_WORDS);
    const word = account >>> 5;
    if (word >= bits.length) bits = longer(bits, word);
    const bit = 1 << (account & 31);
    if ((bits[word] & bit) !== 0) return;
    bits[word] |= bit;
    this.#hours.set(hour, bits);
    this.#dirty.add(hour);
  }

  /** The number of accounts in the hour of `nowMs` and the `hours` - 1 before it. */
  count(nowMs: number, hours: number): number {
    const last = nowMs - (nowMs % HOUR_MS);
    const all: Uint32Array[] = [];
    for (let i = 0; i < hours; i++) {
      const bits = this.#hours.get(last - i * HOUR_MS);
      if (bits !== undefined) all.push(bits);
    }
    const words = Math.max(0, ...all.map(({ length }) => length));
    let count = 0;
    for (let word = 0; word < words; word++) {
      let any = 0;
      for (const bits of all) any |= bits[word] ?? 0;
      for (; any !== 0; any &= any - 1) count++;
    }
    return count;
  }

  /** Writes new hours to control.db, and deletes old ones. */
  save(nowMs: number): void {
    const oldest = nowMs - (nowMs % HOUR_MS) - HOURS_KEPT * HOUR_MS;
    for (const hour of this.#hours.keys()) {
      if (hour > oldest) continue;
      this.#hours.delete(hour);
      this.#dirty.delete(hour);
    }
    if (this.#dirty.size === 0 || this.#database.isFollowing === true) return;
    for (const hour of this.#dirty) {
      const bits = this.#hours.get(hour)!;
      this.#changes.write(() => this.#write.run(hour, new Uint8Array(bits.buffer)));
    }
    this.#dirty.clear();
    this.#changes.write(() => this.#deleteOld.run(oldest));
  }
}

function bitsOf({ accounts }: HourRow): Uint32Array {
  return new Uint32Array(new Uint8Array(accounts).buffer);
}

function longer(bits: Uint32Array, word: number): Uint32Array {
  const grown = new Uint32Array(Math.min(Math.max(2 * bits.length, word + 1), MAX_ACCOUNTS / 32));
  grown.set(bits);
  return grown;
}
