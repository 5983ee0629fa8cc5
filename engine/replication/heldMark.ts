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
 *   HELDMARK-3  The mark is a lower bound of what was held. It is exact while the system runs that wrote it, and the
 *               file is the one it was written into: a power cut may take the last SYNC_MS of it, and a copy of the
 *               directory has another file.
 *   HELDMARK-4  A change of the role, and of the run of the database that rows are sent to, is on the disk before a row
 *               follows it, and so is all that was held before.
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
const HEADER_BYTES = 8;
/** Of the leads and the members that a mark names. */
const MOST_LEADS = 64;
const MOST_MEMBERS = 32;
/** Time between two syncs while rows are held. */
export const SYNC_MS = 500;
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
type Written = MarkContent & Origin & { readonly number: number };
/** HELDMARK-3. Where the mark was exact. */
type Origin = { readonly boot: string; readonly file: string };

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
  const path = join(directory, HELD_MARK_FILE);
  if (!existsSync(path)) return null;
  const fd = openSync(path, 'r');
  try {
    const newest = newestCopy(fd);
    if (newest === null) return null;
    const { number: _, boot, file, ...content } = newest;
    const now = originOf(fd);
    return { ...content, isExact: boot === now.boot && boot !== '' && file === now.file };
  } finally {
    closeSync(fd);
  }
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
    this.#fd = openSync(
      join(directory, HELD_MARK_FILE),
      existsSync(join(directory, HELD_MARK_FILE)) ? 'r+' : 'w+',
      0o600,
    );
    this.#now = originOf(this.#fd);
    const found = newestCopy(this.#fd);
    this.#number = found?.number ?? 0;
    this.#origin = found === null ? this.#now : { boot: found.boot, file: found.file };
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

  #writeNow(): void {
    this.#write();
    this.#isDirty = false;
    fsyncSync(this.#fd);
  }

  /** HELDMARK-2. */
  #write(): void {
    if (this.#isClosed) return;
    const content: Written = { ...this.#content, held: this.#held, ...this.#origin, number: ++this.#number };
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

function newestCopy(fd: number): Written | null {
  const copies = [0, SLOT_BYTES].map((at) => copyAt(fd, at)).filter((copy) => copy !== null);
  return copies.sort((a, b) => b.number - a.number)[0] ?? null;
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
