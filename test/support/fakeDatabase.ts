/**
 * The database of a replicated log, in memory: a primary and two standbys, of which a commit waits for one (`ANY 1`).
 * Its driver decides when a statement runs, how far each standby has come, and when a server takes over; the statements
 * behave like those of statements.ts on PostgreSQL, with their locks.
 *
 *   statement ──► runs at the primary, and waits for locks ──► is written ──► a standby has it ──► visible, answered
 *                                                                 └── its wait is cancelled ──► visible, not held
 *
 * Invariants:
 *   FAKEDATABASE-1  A commit answered without a warning survives every failover to the standby that has the most.
 *   FAKEDATABASE-2  Of two statements that lock the same, the second runs when the first is visible, or gone.
 *   FAKEDATABASE-3  A base backup has everything written until it was made, and a database restored from it has exactly
 *                   that, under the same identifier.
 */
import assert from 'node:assert/strict';
import {
  type Base,
  type LeadNote,
  type Lease,
  type LogHistory,
  MOST_ROWS_READ,
  type NextLead,
  type RowName,
  type Runs,
  type WrittenPlace,
} from '../../engine/replication/log.ts';
import type { LeadFormats, LogFacts, MemberStatus } from '../../shared/wire/clusterStatus.ts';
import type { LogRow, NewRow } from '../../shared/wire/replication.ts';
import { FakeHeads } from './fakeHeads.ts';

const LEASE_MS = 2000;
const NO_FORMATS: LeadFormats = { formats: '', raised: '' };

/** A statement waits for the lock of another one. */
export const BLOCKED = Symbol('blocked');

/** The number of a write in the order of all, and whether others see it. */
type Write = {
  readonly number: number;
  readonly backend: object;
  readonly locks: 'append' | 'take' | 'renew' | 'nothing';
  isVisible: boolean;
};
type StoredRow = { readonly row: LogRow; readonly write: Write };
type StoredLease = {
  readonly lease: Omit<Lease, 'expiresInMs'>;
  readonly lead: number;
  readonly expiresAtMs: number;
  readonly write: Write;
  readonly run: string;
};
type Reported = Pick<MemberStatus, 'position' | 'formats' | 'hasRoom' | 'filesProblem'> & { readonly run?: string };
/** A lead as a statement names it. */
type LeadOf = { readonly epoch: number; readonly lead: number };

/** A base backup, and the content that a name of a cluster had when another name was used: the whole log. */
export type Backup = {
  readonly system: number;
  readonly timeline: number;
  readonly writes: number;
  readonly rows: readonly (LogRow | null)[];
  readonly lease: Omit<Lease, 'expiresInMs'>;
  readonly lead: number;
  /** Null: it is a new log. */
  readonly ledOn: string | null;
  readonly members: ReadonlyMap<string, Reported>;
  readonly notes: readonly LeadNote[];
  readonly id: string | null;
  readonly foundedOn: string;
  readonly bases: readonly Base[];
  readonly heads: FakeHeads;
};

/** The outcome of a statement that ran; with a write, its answer leaves when that is visible. */
export type Ran<T> = { readonly answer: T; readonly write: Write | null };

export class FakeDatabase {
  /** False: no connection is accepted. */
  isReachable = true;
  /** It grows with every failover. */
  timeline = 1;
  /** Connections of an older one are gone. */
  generation = 1;
  /** Identifier of the database: a new database has another, a restored one has its backup's. */
  system = 1;
  /** The table of refused members. */
  heads = new FakeHeads();
  /** It grows with each start and promotion of a server. */
  starts = 1;
  /** The servers that follow this one have gone on since that run, or are the same. */
  #goneOnSince = '';
  /** Calls with each row as soon as a standby has it, in the order of the log. */
  onHeld: (row: LogRow) => void = () => {};
  readonly #nowMs: () => number;
  /** Rows by position, from 1 on; null if trimmed. */
  #rows: (StoredRow | null)[] = [];
  readonly #byName = new Map<string, StoredRow>();
  readonly #ends = new Map<number, StoredRow[]>();
  #leases: StoredLease[] = [];
  #underway: Write[] = [];
  #writes = 0;
  /** The last write that each standby has. */
  #received: [number, number] = [0, 0];
  #heldRows = 0;
  #start = 1;
  /** Only grows, even if a failover has lost a lead. */
  #leads = 0;
  /** The notes of leads, with the position at which each was taken. */
  #notes: { readonly note: LeadNote; readonly write: Write }[] = [];
  #id: string | null = null;
  #foundedOn = '';
  #bases: readonly Base[] = [];
  readonly #members = new Map<string, Reported>();
  #beginner: string | null = null;
  readonly #refused = new Set<string>();
  readonly #left = new Set<string>();
  #systems = 1;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#fill(this.#nothing());
  }

  get run(): string {
    return `${this.system}/${this.timeline}/${this.starts}`;
  }

  /** The name of the primary. */
  get server(): string {
    return `primary ${this.generation}`;
  }

  get epoch(): number {
    return this.#lease().lease.epoch;
  }

  /** The last position that is visible. */
  get end(): number {
    let end = this.#rows.length;
    while (end > 0 && this.#rows[end - 1]?.write.isVisible === false) end--;
    return end;
  }

  /** The last position that a standby has. */
  get held(): number {
    return this.#heldRows;
  }

  /** The last position that both standbys have. */
  get safe(): number {
    const everywhere = Math.min(...this.#received);
    return this.#rows.findLastIndex((stored) => stored !== null && stored.write.number <= everywhere) + 1;
  }

  get isAllHeld(): boolean {
    return Math.max(...this.#received) === this.#writes;
  }

  // Statements.

  take(
    backend: object,
    holder: string,
    address: string,
    isForced: boolean,
    of?: NextLead,
  ): Ran<LeadOf | null> | typeof BLOCKED {
    if (this.#underway.some(({ locks }) => locks !== 'nothing')) return BLOCKED;
    const { lease, expiresAtMs } = this.#lease();
    const isAsSeen = of === undefined || (of.raised === lease.raised && (of.epoch ?? lease.epoch) === lease.epoch);
    if (!isAsSeen) return { answer: null, write: null };
    if (!isForced && expiresAtMs > this.#nowMs()) return { answer: null, write: null };
    const { run: ledOn } = this.#lease();
    const mayRun = holder === '' || ledOn === '' || ledOn === this.run || of?.run === this.run;
    if (!mayRun) return { answer: null, write: null };
    const epoch = lease.epoch + 1;
    const write = this.#write(backend, 'take');
    const lead = ++this.#leads;
    const { run: _, ...next } = of ?? {};
    const taken = { ...lease, ...next, epoch, holder, address };
    const note = { epoch, lead, start: this.#rows.length, run: this.run };
    this.#notes.push({ note, write });
    const run = holder === '' ? ledOn : this.run;
    this.#leases.push({ lease: taken, lead, expiresAtMs: this.#nowMs() + LEASE_MS, write, run });
    return { answer: { epoch, lead }, write };
  }

  raise(backend: object, from: string, to: string): Ran<boolean> | typeof BLOCKED {
    if (this.#underway.some(({ locks }) => locks === 'take' || locks === 'renew')) return BLOCKED;
    const stored = this.#lease();
    if (stored.lease.raised !== from) return { answer: false, write: null };
    const write = this.#write(backend, 'renew');
    this.#leases.push({ ...stored, lease: { ...stored.lease, raised: to }, write });
    return { answer: true, write };
  }

  /** @param on the run on which this leader leads, if it is known */
  renew(backend: object, of: LeadOf, on: string | null, leaseMs = LEASE_MS): Ran<boolean> | typeof BLOCKED {
    if (this.#underway.some(({ locks }) => locks === 'take' || locks === 'renew')) return BLOCKED;
    const { lease, lead, run: ledOn } = this.#lease();
    const isOn = ledOn === '' || ledOn === this.run || on === this.run;
    if (!this.#isOf(of) || !isOn) return { answer: false, write: null };
    const write = this.#write(backend, 'renew');
    this.#leases.push({ lease, lead, expiresAtMs: this.#nowMs() + leaseMs, write, run: this.run });
    return { answer: true, write };
  }

  append(backend: object, of: LeadOf, after: number, rows: readonly NewRow[]): Ran<boolean> | typeof BLOCKED {
    if (this.#underway.some(({ locks }) => locks === 'take')) return BLOCKED;
    const isBehind = after === 0 || this.#visible(after) !== null;
    if (!this.#isOf(of) || !isBehind) return { answer: false, write: null };
    const taken = rows.map((row, index) => this.#rows[after + index] ?? this.#byName.get(nameOf(row)));
    if (taken.some((stored) => stored?.write.isVisible === false)) return BLOCKED;
    if (taken.some((stored) => stored !== undefined)) throw new Error('duplicate key');
    const names = rows.map(nameOf);
    if (new Set(names).size < names.length) throw new Error('duplicate key');
    assert.equal(this.#rows.length, after, 'rows are written behind the last one');
    const write = this.#write(backend, 'append');
    for (const row of rows) this.#add({ row: { ...row, ...of, position: this.#rows.length + 1 }, write });
    return { answer: true, write };
  }

  confirm(backend: object): Ran<string> {
    return { answer: this.server, write: this.#write(backend, 'nothing') };
  }

  namesFrom(position: number): readonly RowName[] {
    return this.#visibleFrom(position, Number.POSITIVE_INFINITY);
  }

  readAfter(position: number, mostBytes: number): readonly LogRow[] {
    return this.#visibleFrom(position + 1, mostBytes).slice(0, MOST_ROWS_READ);
  }

  lease(): Lease {
    const { lease, expiresAtMs } = this.#lease();
    return { ...lease, expiresInMs: expiresAtMs - this.#nowMs() };
  }

  nameAt(position: number): RowName | null {
    return this.#visible(position)?.row ?? null;
  }

  rowOf(stream: number, sequence: number): LogRow | null {
    const stored = this.#byName.get(nameOf({ stream, sequence }));
    return stored?.write.isVisible === true ? stored.row : null;
  }

  firstAfter(stream: number, sequence: number): RowName | null {
    const rows = this.#ends.get(stream) ?? [];
    return rows.find(({ row, write }) => row.sequence > sequence && write.isVisible)?.row ?? null;
  }

  ends(): readonly LogRow[] {
    const last = [...this.#ends.values()].flatMap((rows) => rows.findLast(({ write }) => write.isVisible)?.row ?? []);
    const has = new Set(last.map(({ stream }) => stream));
    const before = this.#bases
      .filter(({ stream }) => !has.has(stream))
      .map(({ stream, sequence }) => {
        return { position: 0, epoch: 0, lead: 0, stream, sequence, bytes: new Uint8Array() };
      });
    return [...last, ...before].sort((a, b) => a.stream - b.stream);
  }

  report(holder: string, reported: Reported): void {
    const run = reported.run === this.run ? this.run : '';
    this.#members.set(holder, { ...reported, run });
  }

  /** Sets whether a start is refused here. */
  refuse(holder: string, isRefused: boolean): void {
    if (isRefused) this.#refused.add(holder);
    else this.#refused.delete(holder);
  }

  /** An operator says that it will not come back. */
  leave(holder: string): void {
    this.#members.delete(holder);
    this.#left.add(`${this.run} ${holder}`);
    this.#refused.delete(holder);
  }

  runs(holder: string, known: readonly string[]): Runs {
    const others = [...new Set([...this.#members.keys(), ...known])].filter((name) => name !== holder);
    const hasAnswered = (name: string): boolean =>
      this.#members.get(name)?.run === this.run || this.#left.has(`${this.run} ${name}`) || this.#refused.has(name);
    const silent = others.filter((name) => !hasAnswered(name));
    const refused = [...this.#refused].filter((name) => name !== holder);
    const { run, timeline } = this;
    const isBegun = this.#visibleFrom(1, 1).length > 0 || this.#bases.length > 0;
    return { id: this.#id, run, ledOn: this.#lease().run, timeline, isBegun, silent, refused };
  }

  hasAllOf({ ledOn }: Pick<Runs, 'ledOn'>): boolean {
    return this.#goneOnSince === ledOn;
  }

  facts(): LogFacts {
    const members = [...this.#members].map(([holder, reported]) => {
      const { run: _, ...shown } = reported;
      return { holder, address: '', ...shown, version: '', silentMs: 0 };
    });
    const start = this.#visibleFrom(1, 1)[0]?.position ?? 0;
    const known = { start, end: this.end, logBytes: 0, members, handOver: null };
    return { ...known, place: this.place, database: null, formats: this.lease() };
  }

  get place(): WrittenPlace {
    const lsn = `0/${this.#writes.toString(16).toUpperCase()}`;
    return { system: String(this.system), timeline: this.timeline, lsn, run: this.run };
  }

  history(): LogHistory {
    const leads = this.#notes.filter(({ write }) => write.isVisible).map(({ note }) => note);
    const { end, place, run } = this;
    return { id: this.#id, end, place, run, foundedOn: this.#foundedOn, leads, bases: this.#bases };
  }

  found(id: string): string {
    this.#id ??= id;
    return this.#id;
  }

  /** An operator makes a log without anything. */
  foundNew(id: string): void {
    this.found(id);
    this.#foundedOn = this.run;
  }

  beginner(holder: string): string {
    this.#beginner ??= holder;
    return this.#beginner;
  }

  /** The log begins anew, with everything that its founder has. */
  refound(id: string, bases: readonly Base[]): void {
    const { system, timeline, heads } = this;
    this.generation++;
    const known = { id, foundedOn: this.run, bases, heads };
    this.#fill({ ...this.#nothing(), system, timeline, writes: this.#writes, ...known });
  }

  /** The last row of each stream stays. */
  trim(): number {
    const least = Math.min(...[...this.#members.values()].map(({ position }) => position));
    let count = 0;
    for (let position = this.#start; position <= least && position <= this.end; position++) {
      const stored = this.#rows[position - 1] ?? null;
      const rows = this.#ends.get(stored?.row.stream ?? 0) ?? [];
      if (stored === null || rows.at(-1) === stored) continue;
      rows.splice(rows.indexOf(stored), 1);
      this.#byName.delete(nameOf(stored.row));
      this.#rows[position - 1] = null;
      if (position === this.#start) this.#start++;
      count++;
    }
    return count;
  }

  // Faults, and time.

  /** Sends written data to a standby, up to a number of writes. */
  replicate(standby: 0 | 1, most = Number.POSITIVE_INFINITY): void {
    this.#received[standby] = Math.min(this.#writes, this.#received[standby] + most);
    const received = Math.max(...this.#received);
    for (const write of this.#underway) if (write.number <= received) write.isVisible = true;
    this.#underway = this.#underway.filter(({ isVisible }) => !isVisible);
    for (; this.#heldRows < this.#rows.length; this.#heldRows++) {
      const stored = this.#rows[this.#heldRows]!;
      if (stored !== null && stored.write.number > received) break;
      if (stored !== null) this.onHeld(stored.row);
    }
  }

  /** The wait of a commit for the standbys ends with a warning. */
  cancel(write: Write): void {
    write.isVisible = true;
    this.#underway = this.#underway.filter((other) => other !== write);
  }

  isHeld({ number }: Write): boolean {
    return number <= Math.max(...this.#received);
  }

  /** A standby takes over: the one that has the most, or the other. Every connection is lost. */
  failOver(which: 'furthest' | 'other' = 'furthest'): void {
    const last = (which === 'furthest' ? Math.max : Math.min)(...this.#received);
    this.#goneOnSince = which === 'furthest' ? this.run : '';
    this.starts++;
    this.timeline++;
    this.generation++;
    const dropped = this.#rows.splice(this.#rows.findLastIndex((stored) => !isAfter(stored, last)) + 1);
    for (const stored of dropped) {
      this.#byName.delete(nameOf(stored!.row));
      this.#ends.get(stored!.row.stream)!.pop();
    }
    this.#leases = this.#leases.filter(({ write }) => write.number <= last);
    this.#notes = this.#notes.filter(({ write }) => write.number <= last);
    for (const { write } of this.#notes) write.isVisible = true;
    for (const { write } of [...this.#leases, ...this.#rows.filter((stored) => stored !== null)])
      write.isVisible = true;
    this.#underway = [];
    this.#heldRows = Math.min(this.#heldRows, this.#rows.length);
    // Both follow the new primary. A number is not used again for something else that was lost.
    this.#received = [last, last];
    this.#writes = last;
  }

  /** Makes a backup of the primary, which goes on. */
  backup(): Backup {
    const { lease, lead, run: ledOn } = this.#leases.at(-1)!;
    const { system, timeline } = this;
    const rows = this.#rows.map((stored) => stored?.row ?? null);
    const notes = this.#notes.map(({ note }) => note);
    const log = { id: this.#id, foundedOn: this.#foundedOn, bases: this.#bases };
    const known = { members: new Map(this.#members), notes, heads: this.heads.copy(), ...log };
    return { system, timeline, writes: this.#writes, rows, lease, lead, ledOn, ...known };
  }

  /** The database is lost, and another one is in its place: as it was at a backup, or without anything. */
  replace(backup: Backup | null): void {
    this.generation++;
    this.starts++;
    this.#goneOnSince = '';
    if (backup === null) this.system = ++this.#systems;
    this.#fill(backup ?? this.#nothing());
  }

  /** From now on the members use another name in the same database. @param was the content that the name had before */
  rename(was: Backup | null): void {
    this.generation++;
    const { system, timeline } = this;
    this.#fill({ ...(was ?? this.#nothing()), system, timeline, writes: this.#writes });
  }

  #nothing(): Backup {
    const lease = { epoch: 0, holder: '', address: '', ...NO_FORMATS };
    const known = { members: new Map(), notes: [], id: null, foundedOn: '', bases: [], heads: new FakeHeads() };
    return { system: this.system, timeline: 1, writes: 0, rows: [], lease, lead: 0, ledOn: null, ...known };
  }

  #fill({ system, timeline, writes, rows, lease, lead, ledOn, ...of }: Backup): void {
    const { members, notes, id, foundedOn, bases, heads } = of;
    Object.assign(this, { system, timeline });
    const write = { number: writes, backend: this, locks: 'nothing', isVisible: true } as const;
    this.#rows = rows.map((row) => (row === null ? null : { row, write }));
    this.#start = this.#rows.findIndex((stored) => stored !== null) + 1 || this.#rows.length + 1;
    this.#byName.clear();
    this.#ends.clear();
    for (const stored of this.#rows) if (stored !== null) this.#index(stored);
    this.#members.clear();
    for (const [holder, reported] of members) this.#members.set(holder, reported);
    this.#refused.clear();
    this.heads = heads.copy();
    this.#beginner = null;
    this.#leases = [{ lease, lead, expiresAtMs: 0, write, run: ledOn ?? this.run }];
    this.#notes = notes.map((note) => ({ note, write }));
    this.#id = id;
    this.#foundedOn = foundedOn;
    this.#bases = bases;
    this.#underway = [];
    this.#heldRows = this.#rows.length;
    this.#received = [writes, writes];
    this.#writes = writes;
  }

  #lease(): StoredLease {
    return this.#leases.findLast(({ write }) => write.isVisible)!;
  }

  #isOf({ epoch, lead }: LeadOf): boolean {
    const stored = this.#lease();
    return stored.lease.epoch === epoch && stored.lead === lead;
  }

  #write(backend: object, locks: Write['locks']): Write {
    const write = { number: ++this.#writes, backend, locks, isVisible: false };
    this.#underway.push(write);
    // Former leases are kept for a failover, which keeps at least what every standby has.
    const everywhere = Math.min(...this.#received);
    const firstKept = this.#leases.findLastIndex((stored) => stored.write.number <= everywhere);
    this.#leases.splice(0, Math.max(0, firstKept));
    return write;
  }

  #add(stored: StoredRow): void {
    this.#rows.push(stored);
    this.#index(stored);
  }

  #index(stored: StoredRow): void {
    const { stream } = stored.row;
    this.#byName.set(nameOf(stored.row), stored);
    const rows = this.#ends.get(stream) ?? [];
    this.#ends.set(stream, rows);
    rows.push(stored);
  }

  #visible(position: number): StoredRow | null {
    const stored = this.#rows[position - 1] ?? null;
    return stored?.write.isVisible === true ? stored : null;
  }

  #visibleFrom(position: number, mostBytes: number): readonly LogRow[] {
    const rows: LogRow[] = [];
    for (let at = Math.max(position, this.#start), bytes = 0; at <= this.#rows.length && bytes < mostBytes; at++) {
      const stored = this.#visible(at);
      if (stored === null) continue;
      rows.push(stored.row);
      bytes += stored.row.bytes.length;
    }
    return rows;
  }
}

function isAfter(stored: StoredRow | null, last: number): boolean {
  return stored !== null && stored.write.number > last;
}

function nameOf({ stream, sequence }: { readonly stream: number; readonly sequence: number }): string {
  return `${stream}/${sequence}`;
}
