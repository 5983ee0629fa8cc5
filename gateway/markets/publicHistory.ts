/**
 * The public history as its folder has it (RULES.md 13.15). Only files that the manifest of a day names are opened, by
 * the path that is written there, and none through a link. Nothing here waits for the disk in this thread.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   PUBLICHISTORY-1  Manifests that are kept have at most MOST_FILES files together, but for a single larger one.
 *   PUBLICHISTORY-2  MOST_DOWNLOADS files are read at a time, and of one sender MOST_OF_SENDER, or one while half of
 *                    them are taken: whatever strangers ask for, little waits for the disk, and others come in.
 *   PUBLICHISTORY-3  One manifest is read at a time, in a twentieth of this thread's time at most.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { assert } from '../../shared/base/assert.ts';
import { isDayName } from '../../shared/base/historyTables.ts';
import { errorCode } from '../../shared/base/thrown.ts';
import type { Lane } from '../base/askers.ts';

type HistoryFileFacts = { readonly bytes: number; readonly sha256: string };
type HistoryDay = {
  /** True: the whole day is there. */
  readonly isComplete: boolean;
  readonly manifest: HistoryFileFacts;
  /** By path below the folder of the day. */
  readonly files: ReadonlyMap<string, HistoryFileFacts>;
};

export const MANIFEST = 'manifest.json';
const MOST_FILES = 200_000;
const MOST_DOWNLOADS = 32;
const MOST_OF_SENDER = 4;
const PIECE_BYTES = 32 * 1024;
/** For each millisecond of work. */
const PAUSE = 19;
/** More than the entry of a file has. */
const ENTRY_CHARACTERS = 1024;
const ENTRY = /"path":\s*"([^"]+)"[^{}]*?"bytes":\s*(\d+)[^{}]*?"sha256":\s*"([0-9a-f]{64})"/g;
const COMPLETE = /"complete":\s*(true|false)/;
/** A pipe would wait for its writer. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export class PublicHistory {
  readonly #directory: string;
  readonly #isComplete = new Map<string, boolean>();
  /** The one used last is last. */
  readonly #days = new Map<string, Promise<HistoryDay | null>>();
  readonly #files = new Map<string, number>();
  readonly #downloads = new Map<Lane, number>();
  #reading: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** In order. */
  async days(): Promise<{ readonly day: string; readonly complete: boolean }[]> {
    const names = (await readdir(this.#directory).catch(ifMissing))?.filter(isDayName).sort() ?? [];
    const days = [];
    for (const day of names) {
      const complete = this.#isComplete.get(day) ?? (await this.#readIsComplete(day));
      if (complete === null) continue;
      this.#isComplete.set(day, complete);
      days.push({ day, complete });
    }
    return days;
  }

  /** Null if there is none. */
  day(name: string): Promise<HistoryDay | null> {
    if (!isDayName(name)) return Promise.resolve(null);
    const day = this.#days.get(name) ?? this.#readNext(name);
    this.#days.delete(name);
    this.#days.set(name, day);
    day.then(
      (read) => (read === null ? this.#forget(name) : this.#kept(name, read.files.size)),
      () => this.#forget(name),
    );
    return day;
  }

  /** A file of the manifest, or the manifest itself; null if it is not there as it is written there. */
  async open(day: string, path: string, { bytes }: HistoryFileFacts): Promise<FileHandle | null> {
    const file = await this.#open(day, path);
    if (file === null || (await file.stat()).size === bytes) return file;
    await file.close();
    return null;
  }

  /** PUBLICHISTORY-2: the returned function is called at the end; null: there are too many. */
  begin(sender: Lane): (() => void) | null {
    const ofSender = this.#downloads.get(sender) ?? 0;
    const all = [...this.#downloads.values()].reduce((sum, count) => sum + count, 0);
    const most = all * 2 < MOST_DOWNLOADS ? MOST_OF_SENDER : 1;
    if (ofSender >= most || all >= MOST_DOWNLOADS) return null;
    this.#downloads.set(sender, ofSender + 1);
    return () => {
      const left = this.#downloads.get(sender)! - 1;
      assert(left >= 0, 'PUBLICHISTORY-2: a download ends once');
      if (left === 0) this.#downloads.delete(sender);
      else this.#downloads.set(sender, left);
    };
  }

  /** PUBLICHISTORY-3. */
  #readNext(name: string): Promise<HistoryDay | null> {
    const day = this.#reading.then(() => this.#readDay(name));
    this.#reading = day.catch(() => {});
    return day;
  }

  #forget(name: string): void {
    this.#days.delete(name);
    this.#files.delete(name);
  }

  /** PUBLICHISTORY-1. */
  #kept(name: string, files: number): void {
    this.#files.set(name, files);
    let all = 0;
    for (const count of this.#files.values()) all += count;
    for (const [oldest] of this.#days) {
      if (all <= MOST_FILES || oldest === name) return;
      all -= this.#files.get(oldest) ?? 0;
      this.#forget(oldest);
    }
  }

  async #open(day: string, path: string): Promise<FileHandle | null> {
    try {
      const folder = await realpath(this.#directory);
      const whole = join(folder, day, path);
      if ((await realpath(whole)) !== whole) return null;
      const file = await open(whole, FLAGS);
      if ((await file.stat()).isFile()) return file;
      await file.close();
      return null;
    } catch (error) {
      return ifMissing(error);
    }
  }

  async #readIsComplete(day: string): Promise<boolean | null> {
    const file = await this.#open(day, MANIFEST);
    if (file === null) return null;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(ENTRY_CHARACTERS), 0, ENTRY_CHARACTERS, 0);
      return COMPLETE.exec(buffer.toString('latin1', 0, bytesRead))?.[1] === 'true';
    } finally {
      await file.close();
    }
  }

  /** A manifest may have megabytes: it is never parsed as a whole. */
  async #readDay(day: string): Promise<HistoryDay | null> {
    const file = await this.#open(day, MANIFEST);
    if (file === null) return null;
    try {
      const hash = createHash('sha256');
      const files = new Map<string, HistoryFileFacts>();
      const buffer = Buffer.alloc(PIECE_BYTES);
      let isComplete: boolean | null = null;
      let bytes = 0;
      let rest = '';
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, bytes);
        if (bytesRead === 0) break;
        const startedMs = performance.now();
        bytes += bytesRead;
        hash.update(buffer.subarray(0, bytesRead));
        const text = rest + buffer.toString('latin1', 0, bytesRead);
        isComplete ??= COMPLETE.exec(text)?.[1] === 'true';
        let end = 0;
        for (const { 0: all, 1: path, 2: length, 3: sha256, index } of text.matchAll(ENTRY)) {
          files.set(path, { bytes: Number(length), sha256 });
          end = index + all.length;
        }
        rest = text.slice(Math.max(end, text.length - ENTRY_CHARACTERS));
        if (bytesRead === PIECE_BYTES) await delay(PAUSE * (performance.now() - startedMs));
      }
      return { isComplete: isComplete === true, manifest: { bytes, sha256: hash.digest('hex') }, files };
    } finally {
      await file.close();
    }
  }
}

/** A file that is not there, or a link, is none of the history. */
function ifMissing(error: unknown): null {
  const code = errorCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return null;
  throw error;
}
