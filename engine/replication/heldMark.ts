/**
 * The mark of what a member has seen the log hold: a small file of its data directory, by which a start knows whether
 * the log has all of it, or has lost rows, was restored, or is another one (standing.ts). A request waits for no sync
 * of it.
 * Owner: the replication thread.
 *
 *   byte 0          copy A: CRC-32 and length of a text, and the text, a MarkContent in JSON
 *   byte SLOT_BYTES copy B, the same; the one with the greater `number` is the newer
 *
 * Invariants:
 *   HELDMARK-1  What a reply, an event or a standby's read rests on was noted before it could leave: the mark is
 *               written into the page cache before `held` of a stream grows. It survives the process.
 *   HELDMARK-2  The two copies are written in turn, so a torn write leaves the other one whole.
 *   HELDMARK-3  The mark is a lower bound of what was held. It is exact while the system runs that wrote it, the file
 *               is the one it was written into and was last changed with it, and both copies are whole and one follows
 *               the other: a power cut may take the last SYNC_MS of it, a copy of the directory has another file, and
 *               beside an unreadable copy the other may be the older one. A mark that is not exact becomes so when the
 *               files were compared with the log.
 *   HELDMARK-4  A change of the role, and of the run of the database that rows are sent to, is on the disk, in both
 *               copies, before a row follows it, and so is all that was held before.
 */
import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { assert } from '../../shared/base/assert.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import type { LocalEnd } from '../../shared/wire/threads.ts';
import type { Place, RowName, WrittenPlace } from './log.ts';

export const HELD_MARK_FILE = 'held.mark';
const SLOT_BYTES = 16 << 10;
const COPIES_AT = [0, SLOT_BYTES];
const HEADER_BYTES = 8;
/** Of the leads and the members that a mark names. */
const MOST_LEADS = 64;
const MOST_MEMBERS = 32;
/** Time between two syncs while rows are held. */
export const SYNC_MS = 500;
/** Between the time in a copy and that of the change of the file: a busy machine is no reason to doubt a mark. */
const SAME_CHANGE_MS = 60_000;
/** The number of this start of the system. */
const BOOT_PATH = '/proc/sys/kernel/random/boot_id';

/** A lead of which this member has seen rows, the first of them at this position. */
type SeenLead = { readonly epoch: number; readonly lead: number; readonly first: number };

type MarkContent = {
  /** The id of the log (exchange_fact). */
  readonly log: string;
  /** The server that this member has last sent rows to, or is to; null before it led. */
  readonly place: Omit<WrittenPlace, 'lsn'> | null;
  /** A position of the write-ahead log that was reached there. */
  readonly lsn: string;
  /** True from before its lead on, until a later start has found that its files agree with the log. */
  readonly isLeader: boolean;
  /** The files are a copy of another member's, and were not compared with the log since. */
  readonly isCopied: boolean;
  /** Its last lead. */
  readonly own: { readonly epoch: number; readonly lead: number } | null;
  /** The last row that was seen. */
  readonly last: RowName | null;
  /** By stream: the last sequence that was seen held. */
  readonly held: Readonly<Record<string, number>>;
  readonly leads: readonly SeenLead[];
  /** The names of all members that were known. */
  readonly members: readonly string[];
};

/** HELDMARK-3. */
export type FoundMark = MarkContent & { readonly isExact: boolean };
type Written = MarkContent & Origin & { readonly number: number; readonly writtenMs: number };
/** HELDMARK-3. Where the mark was exact. */
type Origin = { readonly boot: string; readonly file: string };

const NEVER_EXACT: Origin = { boot: '', file: '' };

const NOTHING: Omit<MarkContent, 'log'> = {
  place: null,
  lsn: '0/0',
  isLeader: false,
  isCopied: false,
  own: null,
  last: null,
  held: {},
  leads: [],
  members: [],
};

const sync = promisify(fdatasync);

/** By the word of an operator a member no longer knows that more than these rows of their streams were held. */
export function lowerHeldMark(directory: string, ends: readonly LocalEnd[]): void {
  const found = readHeldMark(directory);
  if (found === null) return;
  const mark = new HeldMark(directory, found.log);
  mark.lower(ends);
  mark.close();
}

/** The newer of the copies that are whole; null where there is none. */
export function readHeldMark(directory: string): FoundMark | null {
  return withCopies(directory, (fd, copies) => {
    const [newest] = copies;
    if (newest === undefined) return null;
    const { number: _number, writtenMs: _writtenMs, boot: _boot, file: _file, ...content } = newest;
    return { ...content, isExact: areExact(fd, copies) };
  });
}

/** Null where both copies are whole, or there is no file. */
export function heldMarkDamage(directory: string): string | null {
  const damage = withCopies(directory, (_, copies) => {
    if (copies.length === COPIES_AT.length) return null;
    return copies.length === 0 ? 'no copy in it is whole' : 'one of the two copies in it is not whole';
  });
  if (damage === null) return null;
  return `${join(directory, HELD_MARK_FILE)} is damaged (${damage}): it no longer proves what was not acknowledged`;
}

export class HeldMark {
  readonly #fd: number;
  readonly #now: Origin;
  /** That of the files: a process that has not compared them with the log yet makes no mark exact. */
  #origin: Origin;
  readonly #bytes = Buffer.alloc(SLOT_BYTES);
  readonly #held: Record<string, number>;
  #content: MarkContent;
  #number: number;
  #isDirty = false;
  #isClosed = false;

  /** Of this log: a mark of another one has to have been looked at before. */
  constructor(directory: string, log: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, HELD_MARK_FILE);
    const isNew = !existsSync(path);
    this.#fd = openSync(path, isNew ? 'w+' : 'r+', 0o600);
    this.#now = originOf(this.#fd);
    const copies = copiesIn(this.#fd);
    const [found] = copies;
    this.#number = found?.number ?? 0;
    // Copies that cannot be read may have said more.
    this.#origin = isNew || areExact(this.#fd, copies) ? this.#now : NEVER_EXACT;
    this.#content = found?.log === log ? found : { ...NOTHING, log, members: found?.members ?? [] };
    this.#held = { ...this.#content.held };
    this.#writeNow();
    syncDirectory(directory);
  }

  /** HELDMARK-1. The log has these rows, and all before them. @param named those of them that have a name, in order */
  hold(rows: readonly LocalEnd[], named: readonly RowName[]): void {
    if (rows.length === 0) return;
    assert(!this.#isClosed, 'HELDMARK-1: nothing is held after the end of the mark');
    for (const { stream, sequence } of rows) {
      if (sequence > (this.#held[stream] ?? 0)) this.#held[stream] = sequence;
    }
    this.#see(named);
    this.#write();
  }

  /** HELDMARK-4. Every row that this member has is one of the log. */
  follow(): void {
    this.#origin = this.#now;
    this.#change({ isLeader: false, isCopied: false });
  }

  /** The journal of a stream was cut. */
  lower(ends: readonly LocalEnd[]): void {
    for (const { stream, sequence } of ends) {
      const known = this.#held[stream];
      if (known !== undefined) this.#held[stream] = Math.min(sequence, known);
    }
    this.#change({});
  }

  /** A copy of the files of another member is to come. */
  copy(): void {
    this.#change({ isCopied: true });
  }

  /** HELDMARK-4. From now on it may have rows that the log does not have yet. */
  lead(own: { readonly epoch: number; readonly lead: number }): void {
    this.#change({ isLeader: true, own: { epoch: own.epoch, lead: own.lead } });
  }

  /** HELDMARK-4. Rows are sent to this server from now on. */
  sendTo({ system, timeline, run, lsn }: WrittenPlace): void {
    if (this.#content.place?.run === run) return;
    this.#change({ place: { system, timeline, run }, lsn });
  }

  get log(): string {
    return this.#content.log;
  }

  /** The members that were known, of which a log that was set back may know less. */
  get members(): readonly string[] {
    return this.#content.members;
  }

  /**
   * The log is looked at now and then: that is written with what follows.
   * @param isLed a member leads in this log: whom it does not know is no member any more
   */
  see(place: Place | null, names: readonly string[], isLed: boolean): void {
    const { lsn, members: known } = this.#content;
    const members = isLed ? names : [...new Set([...known, ...names])];
    this.#content = { ...this.#content, lsn: place?.lsn ?? lsn };
    if (members.length === known.length && members.every((name) => known.includes(name))) return;
    this.#content = { ...this.#content, members: members.slice(0, MOST_MEMBERS) };
    this.#write();
  }

  /** Makes it durable, beside everything else. */
  async sync(): Promise<void> {
    if (!this.#isDirty || this.#isClosed) return;
    this.#isDirty = false;
    await sync(this.#fd);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    fsyncSync(this.#fd);
    closeSync(this.#fd);
  }

  #see(named: readonly RowName[]): void {
    const row = named.at(-1);
    if (row === undefined || row.position <= (this.#content.last?.position ?? 0)) return;
    let { leads } = this.#content;
    for (const { epoch, lead, position } of named) {
      if (leads.at(-1)?.lead !== lead) leads = [...leads, { epoch, lead, first: position }].slice(-MOST_LEADS);
    }
    const { position, epoch, lead, stream, sequence } = row;
    this.#content = { ...this.#content, last: { position, epoch, lead, stream, sequence }, leads };
  }

  #change(change: Partial<MarkContent>): void {
    this.#content = { ...this.#content, ...change };
    this.#writeNow();
  }

  /** Into both copies: where one is unreadable later, the other says the same of the role. */
  #writeNow(): void {
    for (const _ of COPIES_AT) {
      this.#write();
      this.#isDirty = false;
      fsyncSync(this.#fd);
    }
  }

  /** HELDMARK-2. */
  #write(): void {
    if (this.#isClosed) return;
    const [number, writtenMs] = [++this.#number, Date.now()];
    const content: Written = { ...this.#content, held: this.#held, ...this.#origin, number, writtenMs };
    const bytes = this.#bytes;
    const length = bytes.write(JSON.stringify(content), HEADER_BYTES);
    assert(length < SLOT_BYTES - HEADER_BYTES, 'HELDMARK-2: a copy has room for all of it');
    bytes.writeUInt32LE(length, 4);
    bytes.writeUInt32LE(crc32(bytes.subarray(4, HEADER_BYTES + length)), 0);
    const at = (this.#number % 2) * SLOT_BYTES;
    const written = writeSync(this.#fd, bytes, 0, HEADER_BYTES + length, at);
    assert(written === HEADER_BYTES + length, 'HELDMARK-2: a copy is written whole');
    this.#isDirty = true;
  }
}

function withCopies<T>(directory: string, look: (fd: number, copies: readonly Written[]) => T): T | null {
  const path = join(directory, HELD_MARK_FILE);
  if (!existsSync(path)) return null;
  const fd = openSync(path, 'r');
  try {
    return look(fd, copiesIn(fd));
  } finally {
    closeSync(fd);
  }
}

/** Those that are whole, the newest first. */
function copiesIn(fd: number): readonly Written[] {
  const copies = COPIES_AT.map((at) => copyAt(fd, at)).filter((copy) => copy !== null);
  return copies.sort((a, b) => b.number - a.number);
}

/** Without a copy between them that cannot be read. */
function areBothWhole([newest, other]: readonly Written[]): boolean {
  return newest !== undefined && newest.number - 1 === other?.number;
}

/** HELDMARK-3. */
function areExact(fd: number, copies: readonly Written[]): boolean {
  const [newest] = copies;
  if (newest === undefined || !areBothWhole(copies)) return false;
  const { boot, file } = originOf(fd);
  // One of an earlier time that was written over the file has the number of the file, and a later change.
  const isLast = Math.abs(fstatSync(fd).ctimeMs - newest.writtenMs) < SAME_CHANGE_MS;
  return boot !== '' && newest.boot === boot && newest.file === file && isLast;
}

function copyAt(fd: number, at: number): Written | null {
  const bytes = Buffer.alloc(SLOT_BYTES);
  const read = readSync(fd, bytes, 0, SLOT_BYTES, at);
  if (read < HEADER_BYTES) return null;
  const end = HEADER_BYTES + bytes.readUInt32LE(4);
  if (end > read || crc32(bytes.subarray(4, end)) !== bytes.readUInt32LE(0)) return null;
  return JSON.parse(bytes.toString('utf8', HEADER_BYTES, end)) as Written;
}

/** This start of the system, and the file: a copy of one is another one, also under its name. */
function originOf(fd: number): Origin {
  const { dev, ino, birthtimeNs } = fstatSync(fd, { bigint: true });
  const boot = existsSync(BOOT_PATH) ? readFileSync(BOOT_PATH, 'utf8').trim() : '';
  return { boot, file: `${dev}:${ino}:${birthtimeNs}` };
}
