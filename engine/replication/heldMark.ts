/**
 * The held mark: a small file in a member's data directory that records how far the member has seen the log hold rows.
 * From it a start knows whether the log still has all of them, or has lost rows, was restored, or is a different log
 * (standing.ts). No request waits for a sync of the file. Owner: the replication thread.
 *
 *   byte 0          copy A: CRC-32 and length of a text, and the text, a MarkContent in JSON
 *   byte SLOT_BYTES copy B, the same; the one with the greater `number` is the newer
 *
 * Invariants:
 *   HELDMARK-1  The mark is written before any reply, event or standby's read that depends on it can leave: it goes
 *               into the page cache before `held` of a stream grows. It survives the process.
 *   HELDMARK-2  The two copies are written in turn, so a torn write leaves the other one whole.
 *   HELDMARK-3  The mark is a lower bound of what was held. It is exact if the system has not restarted since it was
 *               written, the file is still the same one and was not changed since, and both copies are whole and
 *               consecutive. Otherwise it may be too low: a power cut may lose its last SYNC_MS, a copy of the
 *               directory is a different file, and next to an unreadable copy the other may be the older one. The mark
 *               becomes exact again once the files were compared with the log.
 *   HELDMARK-4  A change of role, or of the database run to which rows are sent, is on disk in both copies before any
 *               row follows it, together with everything held before.
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
/** The most leads and members that a mark lists. */
const MOST_LEADS = 64;
const MOST_MEMBERS = 32;
/** Time between two syncs while rows are held. */
export const SYNC_MS = 500;
/**
 * Allowed difference between the time in a copy and the file's change time: a busy machine is no reason to doubt a
 * mark.
 */
const SAME_CHANGE_MS = 60_000;
/** The id of the system's current boot. */
const BOOT_PATH = '/proc/sys/kernel/random/boot_id';

/** A lead of which this member has seen rows, the first of them at this position. */
type SeenLead = { readonly epoch: number; readonly lead: number; readonly first: number };

type MarkContent = {
  /** The id of the log (exchange_fact). */
  readonly log: string;
  /** The server to which this member last sent rows, or will send them; null before it first led. */
  readonly place: Omit<WrittenPlace, 'lsn'> | null;
  /** A position of that server's write-ahead log that was reached. */
  readonly lsn: string;
  /** True from before its lead until a later start has found that its files agree with the log. */
  readonly isLeader: boolean;
  /** True if the files are a copy of another member's and were not compared with the log since. */
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
/** HELDMARK-3. The boot and file for which the mark is exact. */
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

/**
 * Called when an operator accepts a loss: the member no longer claims that more than these rows of their streams were
 * held.
 */
export function lowerHeldMark(directory: string, ends: readonly LocalEnd[]): void {
  const found = readHeldMark(directory);
  if (found === null) return;
  const mark = new HeldMark(directory, found.log);
  mark.lower(ends);
  mark.close();
}

/** The newer of the whole copies, or null if there is none. */
export function readHeldMark(directory: string): FoundMark | null {
  return withCopies(directory, (fd, copies) => {
    const [newest] = copies;
    if (newest === undefined) return null;
    const { number: _number, writtenMs: _writtenMs, boot: _boot, file: _file, ...content } = newest;
    return { ...content, isExact: areExact(fd, copies) };
  });
}

/** Null if both copies are whole or there is no file. */
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
  /** Origin of the files: a process that has not compared them with the log yet makes no mark exact. */
  #origin: Origin;
  readonly #bytes = Buffer.alloc(SLOT_BYTES);
  readonly #held: Record<string, number>;
  #content: MarkContent;
  #number: number;
  #isDirty = false;
  #isClosed = false;

  /** Opens the mark for this log: a mark of another log must have been checked before. */
  constructor(directory: string, log: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, HELD_MARK_FILE);
    const isNew = !existsSync(path);
    this.#fd = openSync(path, isNew ? 'w+' : 'r+', 0o600);
    this.#now = originOf(this.#fd);
    const copies = copiesIn(this.#fd);
    const [found] = copies;
    this.#number = found?.number ?? 0;
    // Unreadable copies may have held more.
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

  /** HELDMARK-4. Called when every row of this member is in the log. */
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

  /** Called before a copy of another member's files arrives. */
  copy(): void {
    this.#change({ isCopied: true });
  }

  /** HELDMARK-4. From now on this member may have rows that the log does not have yet. */
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

  /** The known members; a log that was set back may know fewer. */
  get members(): readonly string[] {
    return this.#content.members;
  }

  /**
   * Records what the log showed; it is written with the next change.
   * @param isLed a member leads in this log: one that it does not know is no longer a member
   */
  see(place: Place | null, names: readonly string[], isLed: boolean): void {
    const { lsn, members: known } = this.#content;
    const members = isLed ? names : [...new Set([...known, ...names])];
    this.#content = { ...this.#content, lsn: place?.lsn ?? lsn };
    if (members.length === known.length && members.every((name) => known.includes(name))) return;
    this.#content = { ...this.#content, members: members.slice(0, MOST_MEMBERS) };
    this.#write();
  }

  /** Makes the mark durable, while other work continues. */
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

  /** Writes both copies: if one becomes unreadable, the other states the same role. */
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

/** Both copies are whole and consecutive. */
function areBothWhole([newest, other]: readonly Written[]): boolean {
  return newest !== undefined && newest.number - 1 === other?.number;
}

/** HELDMARK-3. */
function areExact(fd: number, copies: readonly Written[]): boolean {
  const [newest] = copies;
  if (newest === undefined || !areBothWhole(copies)) return false;
  const { boot, file } = originOf(fd);
  // An older file written over this one has the same inode number and a later change time.
  const isLast = Math.abs(fstatSync(fd).ctimeMs - newest.writtenMs) < SAME_CHANGE_MS;
  return boot !== '' && newest.boot === boot && newest.file === file && isLast;
}

function copyAt(fd: number, at: number): Written | null {
  const bytes = Buffer.alloc(SLOT_BYTES);
  const read = readSync(fd, bytes, 0, SLOT_BYTES, at);
  if (read < HEADER_BYTES) return null;
  const end = HEADER_BYTES + bytes.readUInt32LE(4);
  if (end > read || crc32(bytes.subarray(4, end)) !== bytes.readUInt32LE(0)) return null;
  return JSON.parse(bytes.toString('utf8', HEADER_BYTES, end));
}

/** The current boot, and the file: a copy is a different file, even under the same name. */
function originOf(fd: number): Origin {
  const { dev, ino, birthtimeNs } = fstatSync(fd, { bigint: true });
  const boot = existsSync(BOOT_PATH) ? readFileSync(BOOT_PATH, 'utf8').trim() : '';
  return { boot, file: `${dev}:${ino}:${birthtimeNs}` };
}
