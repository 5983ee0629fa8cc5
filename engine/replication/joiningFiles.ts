/**
 * The files of a joining member: the copy while it arrives, and the files that the member had before. Owner: the
 * replication thread, while nothing else has the directory open.
 *
 * Invariants:
 *   JOININGFILES-1  A copy is in a folder of its own until it is whole and durable. Then it is moved to its place,
 *                   control.db last, and an interrupted move continues at the next start.
 *   JOININGFILES-2  None of the member's earlier files are deleted: they are moved into a separate folder.
 *   JOININGFILES-3  Journals are copied row by row (JOURNALCOPY-1), with the cluster's key.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { freeName } from '../../shared/base/freeName.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { ByteReader } from '../../shared/records/bytes.ts';
import { JournalCopy } from '../journal/journalCopy.ts';
import { ShardKey } from '../journal/shardKey.ts';
import type { Part } from './copyTable.ts';

/** The folder of an incomplete copy, and the file that marks it as whole. */
const FOLDER = 'joining';
const WHOLE = 'whole';
/** Folders of the copy. */
const FOLDERS = ['private', 'archive'] as const;
/** A member that cannot continue from its files leaves this file; its text is the reason. */
const ANEW_FILE = 'join-anew';
export const CONTROL_FILE = 'control.db';
/** Names of files that belong to the cluster's state: not the member's own keys and tokens. */
const STATE = new RegExp(
  '^(?:(?:control|idempotency|read|settlement)\\.db|journal[-.]|snapshot-|hashes-|audit\\.log|' +
    '(?:held\\.mark|private|archive)$)',
);
const PART_NAME = /^(?:(?:private|archive)\/)?[a-z0-9][a-z0-9._-]*$/i;
/** A part with this name has rows of a journal. */
export const ROWS = 'rows ';
/** A long file is synced each time it has grown by this much, so that this member is not silent for long. */
const SYNC_BYTES = 64 << 20;
/** The last part. */
export const END = 'end';

export type JoiningDirectory = {
  readonly directory: string;
  readonly shards: number;
  readonly masterKey: Uint8Array;
};

/** Why this member has to join anew, or null. */
export function reasonToJoin(directory: string): string | null {
  const path = join(directory, ANEW_FILE);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

/** The next start joins anew. */
export function leaveReason(directory: string, reason: string): void {
  writeFileSync(join(directory, ANEW_FILE), `${reason}\n`, { mode: 0o600, flush: true });
  syncDirectory(directory);
}

/** JOININGFILES-2. @returns the folder, or null where there was nothing. */
export function setStateAside(directory: string, time: string): string | null {
  const names = stateIn(directory);
  const aside = freeName(join(directory, `left-${time}`));
  if (names.length > 0) {
    mkdirSync(aside, { mode: 0o700 });
    for (const name of names) renameSync(join(directory, name), join(aside, name));
    syncDirectory(aside);
  }
  rmSync(join(directory, ANEW_FILE), { force: true });
  syncDirectory(directory);
  return names.length > 0 ? aside : null;
}

/** Every file of the copy is there, durably. */
export function isWhole(directory: string): boolean {
  return existsSync(join(directory, FOLDER, WHOLE));
}

/** JOININGFILES-1. Moves a copy that is whole to its place, and removes one that is not. */
export function finishJoining(directory: string): void {
  const folder = join(directory, FOLDER);
  if (!existsSync(folder)) return;
  if (isWhole(directory)) {
    for (const name of stateIn(folder)) renameSync(join(folder, name), join(directory, name));
    syncDirectory(directory);
  }
  rmSync(folder, { recursive: true });
  syncDirectory(directory);
}

/** control.db comes last: with it a directory is that of a member. */
function stateIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => STATE.test(name));
  return names.sort((a, b) => Number(a.startsWith(CONTROL_FILE)) - Number(b.startsWith(CONTROL_FILE)));
}

/** Writes the parts of one attempt. */
export class CopyWriter {
  readonly #options: JoiningDirectory;
  readonly #folder: string;
  /** The file that is being written. */
  #name = '';
  #fd = -1;
  /** Of the file, and not known to be on the disk. */
  #unsyncedBytes = 0;
  #journal: JournalCopy | null = null;
  bytes = 0;

  constructor(options: JoiningDirectory) {
    this.#options = options;
    this.#folder = join(options.directory, FOLDER);
    rmSync(this.#folder, { recursive: true, force: true });
    for (const folder of FOLDERS) mkdirSync(join(this.#folder, folder), { recursive: true, mode: 0o700 });
  }

  /** @returns true after the last part, when the copy is whole. */
  async write({ name, bytes }: Part): Promise<boolean> {
    if (name !== this.#name) this.#close();
    this.#name = name;
    this.bytes += bytes.length;
    if (name === END) {
      this.#finish();
      return true;
    }
    if (name.startsWith(ROWS)) {
      this.#journal ??= await this.#openJournal(Number(name.slice(ROWS.length)));
      const reader = new ByteReader(bytes);
      while (!reader.isAtEnd) {
        this.#journal.add({ sequence: reader.number(), bytes: new Uint8Array(reader.bytes()) });
      }
      this.#journal.commit();
      return false;
    }
    if (!PART_NAME.test(name)) throw new Error(`a copy has no file ${JSON.stringify(name)}`);
    if (this.#fd < 0) this.#fd = openSync(join(this.#folder, name), 'a', 0o600);
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done);
    this.#unsyncedBytes += bytes.length;
    if (this.#unsyncedBytes >= SYNC_BYTES) this.#sync();
    return false;
  }

  #sync(): void {
    fsyncSync(this.#fd);
    this.#unsyncedBytes = 0;
  }

  /** Ends the attempt. An unfinished copy is worthless, so a disk that cannot write it does not matter. */
  abandon(): void {
    try {
      this.#close();
    } catch {
      // The files are deleted, and no handle to them is open.
    }
  }

  /** JOININGFILES-3 */
  async #openJournal(shard: number): Promise<JournalCopy> {
    const { shards, masterKey } = this.#options;
    const key = await ShardKey.create(readJournalKey(this.#folder, masterKey), shard);
    return new JournalCopy({ path: join(this.#folder, `journal-${shard}.db`), shard, shards, key });
  }

  #close(): void {
    const journal = this.#journal;
    this.#journal = null;
    journal?.close();
    if (this.#fd < 0) return;
    try {
      this.#sync();
    } finally {
      closeSync(this.#fd);
      this.#fd = -1;
    }
  }

  /** JOININGFILES-1 */
  #finish(): void {
    const journals = Array.from({ length: this.#options.shards }, (_, shard) => `journal-${shard}.db`);
    const missing = [CONTROL_FILE, 'journal.key', ...journals].find((name) => !existsSync(join(this.#folder, name)));
    if (missing !== undefined) throw new Error(`the copy has no ${missing}`);
    for (const folder of FOLDERS) syncDirectory(join(this.#folder, folder));
    syncDirectory(this.#folder);
    writeFileSync(join(this.#folder, WHOLE), '', { flush: true });
    syncDirectory(this.#folder);
    syncDirectory(dirname(this.#folder));
  }
}
