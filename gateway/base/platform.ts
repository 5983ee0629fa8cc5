/**
 * The state of the platform as a whole: a few texts in control.db, kept in memory.
 * Owner: the gateway thread.
 */
import { FLOORS, type Floors, readFloors } from '../../shared/base/floors.ts';
import { PAUSED, RESTORED, type Restored, readRestored } from '../../shared/base/restored.ts';
import type { AuditHead } from '../../shared/crypto/auditChain.ts';
import type { ControlDatabase } from './database.ts';

/** The number of shards of the data directory: it decides the shard of each market. */
const SHARDS = 'shards';
/** The contract and chain for which orders are signed. */
const DOMAIN = 'signing_domain';
/** Set once the journals of this member exist. */
export const HAS_JOURNALS = 'has_journals';
/** The end of the audit log of this member. */
export const AUDIT_HEAD = 'audit_head';
export const AUDIT_SHARED = 'audit_shared';
/** The newest floor of numbers for which the contract was asked for its floors of nonces. */
const CONTRACT_FLOORS_READ = 'contract_floors_read';

export class Platform {
  readonly #values = new Map<string, string>();
  readonly #select;
  readonly #write;

  constructor(database: ControlDatabase) {
    this.#select = database.prepare<[], { key: string; value: string }>('SELECT key, value FROM platform');
    this.reload();
    this.#write = database.prepare<[string, string]>(
      'INSERT INTO platform (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    );
  }

  /** Reads the texts again: they are few. None is ever deleted. */
  reload(): void {
    for (const { key, value } of this.#select.iterate()) this.#values.set(key, value);
  }

  /** Undefined until the first start of the data directory has fixed it. */
  get shards(): number | undefined {
    const value = this.#values.get(SHARDS);
    return value === undefined ? undefined : Number(value);
  }

  fixShards(shards: number): void {
    this.#set(SHARDS, String(shards));
  }

  get domain(): string | undefined {
    return this.#values.get(DOMAIN);
  }

  fixDomain(domain: string): void {
    this.#set(DOMAIN, domain);
  }

  /** True once every shard has created its journal: from then on none may be missing. */
  get hasJournals(): boolean {
    return this.#values.get(HAS_JOURNALS) === 'yes';
  }

  setHasJournals(): void {
    if (!this.hasJournals) this.#set(HAS_JOURNALS, 'yes');
  }

  /** Null if the directory was opened after it came from a backup, or never came from one. */
  get restored(): Restored | null {
    return readRestored(this.#values.get(RESTORED));
  }

  /** Oldest first; none if the directory was never restored to an earlier time. */
  get floors(): Floors {
    return readFloors(this.#values.get(FLOORS));
  }

  /** 0 if never, as in a directory that was never restored to an earlier time. */
  get contractFloorsRead(): number {
    return Number(this.#values.get(CONTRACT_FLOORS_READ) ?? 0);
  }

  setContractFloorsRead(floor: number): void {
    this.#set(CONTRACT_FLOORS_READ, String(floor));
  }

  get paused(): boolean {
    return this.#values.get(PAUSED) === 'yes';
  }

  setPaused(paused: boolean): void {
    this.#set(PAUSED, paused ? 'yes' : 'no');
    // An operator has read the report on the restored directory, and opens the exchange.
    if (!paused && this.restored !== null) this.#set(RESTORED, '');
  }

  /** The end of the audit log when it was last noted; null if it never was. */
  get auditHead(): AuditHead | null {
    const value = this.#values.get(AUDIT_HEAD);
    return value === undefined ? null : JSON.parse(value);
  }

  /** The last line of the audit log that the replicated log is known to hold. */
  get auditShared(): number {
    return Number(this.#values.get(AUDIT_SHARED) ?? 0);
  }

  setAuditShared(sequence: number): void {
    this.#set(AUDIT_SHARED, String(sequence));
  }

  setAuditHead(head: AuditHead): void {
    this.#set(AUDIT_HEAD, JSON.stringify(head));
  }

  read(key: string): string | undefined {
    return this.#values.get(key);
  }

  write(key: string, value: string): void {
    this.#set(key, value);
  }

  #set(key: string, value: string): void {
    this.#write.run(key, value);
    this.#values.set(key, value);
  }
}
