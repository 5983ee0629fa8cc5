/**
 * Makes the parts of a copy of this member's files for a joining member, while the exchange continues to use them:
 * databases through SQLite's backup, journals row by row, other files up to their end. Owner: a thread of its own
 * (givingMain.ts).
 *
 * Invariants:
 *   GIVING-1  The copy has every row that the log held when it was begun.
 *   GIVING-2  A file on which another file depends is copied after it, so that the copy can only be too recent in it:
 *             the archive and private frames after the read model that asks for them, journals after these, and
 *             control.db, without which no command is accepted, after the journals.
 *   GIVING-3  Only a few parts wait for the other side, and a database's copy is deleted once it is given.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { partsOfFile } from '../../shared/base/fileParts.ts';
import { lastLineOf } from '../../shared/base/lastLine.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { ByteWriter } from '../../shared/records/bytes.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { Row } from '../journal/row.ts';
import { snapshotFiles } from '../snapshot/filesOf.ts';
import type { Attempt, CopyTable } from './copyTable.ts';
import { END, ROWS } from './joiningFiles.ts';

type GivingOptions = {
  readonly table: Pick<CopyTable, 'put' | 'giving'>;
  readonly attempt: Attempt;
  readonly directory: string;
  readonly shards: number;
  /** The last sequence of each stream that the log held. */
  readonly ends: ReadonlyMap<number, number>;
  /** Resolves when control.db is copied to this path, with this record at least. */
  readonly copyControl: (path: string, atLeast: number) => Promise<void>;
};

/** Folder for copies of databases; they are worthless once the giver has ended. */
export const GIVING_FOLDER = 'giving';
const PART_BYTES = 512 << 10;
const MOST_WAITING = 16;
const POLL_MS = 20;
/** The time within which this member's files must have everything that the log held. */
const PATIENCE_MS = 60_000;

/** The other side no longer asks. */
export class NotWantedError extends Error {}

export class Giving {
  readonly #options: GivingOptions;
  readonly #temporary: string;
  #part = 0;
  #left = 0;

  constructor(options: GivingOptions) {
    this.#options = options;
    this.#temporary = join(options.directory, GIVING_FOLDER);
  }

  /** GIVING-2 */
  async run(): Promise<void> {
    const { directory, shards } = this.#options;
    rmSync(this.#temporary, { recursive: true, force: true });
    mkdirSync(this.#temporary, { mode: 0o700 });
    try {
      await this.#file('journal.key');
      if (existsSync(join(directory, 'read.db'))) await this.#database('read.db', null);
      for (const name of filesOf(join(directory, 'archive'))) await this.#file(`archive/${name}`);
      await this.#database('idempotency.db', STREAM.ANSWERS);
      if (existsSync(join(directory, 'settlement.db'))) await this.#database('settlement.db', STREAM.SETTLEMENT);
      await this.#auditLog();
      for (const name of filesOf(join(directory, 'private'))) await this.#file(`private/${name}`);
      for (let shard = 0; shard < shards; shard++) {
        const names = snapshotFiles(directory, shard).flatMap((snapshot) => snapshot.names);
        for (const name of new Set(names)) await this.#file(name);
        await this.#journal(shard);
      }
      await this.#control();
      await this.#put(END, new Uint8Array(0));
    } finally {
      rmSync(this.#temporary, { recursive: true, force: true });
    }
  }

  /** GIVING-3 */
  async #put(name: string, bytes: Uint8Array): Promise<void> {
    const { table, attempt } = this.#options;
    await table.put(attempt, { part: ++this.#part, name, bytes });
    for (this.#left++; this.#left >= MOST_WAITING; ) {
      await sleep(POLL_MS);
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const left = await this.#options.table.giving(this.#options.attempt);
    if (left === null) throw new NotWantedError();
    this.#left = left;
  }

  /** Waits for something, and meanwhile reports that this side is present. */
  async #until<T>(what: string, look: () => T | null): Promise<T> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = look();
      if (found !== null) return found;
      if (performance.now() > deadlineMs) throw new Error(`${what} is behind the log`);
      await this.#look();
      await sleep(POLL_MS);
    }
  }

  /** Gives a file that is only appended to, or replaced as a whole. A file that has disappeared is left out. */
  async #file(name: string, path = join(this.#options.directory, name), lengthBytes?: number): Promise<void> {
    const parts = partsOfFile(path, PART_BYTES, lengthBytes);
    if (parts === null) return;
    let isEmpty = true;
    for (const part of parts) {
      isEmpty = false;
      await this.#put(name, part);
    }
    if (isEmpty) await this.#put(name, new Uint8Array(0));
  }

  /** @param stream the stream of its records; null for a file without records */
  async #database(name: string, stream: number | null): Promise<void> {
    const path = join(this.#options.directory, name);
    const copy = join(this.#temporary, name);
    const database = openDatabase(path, { readonly: true, timeout: 5000 });
    try {
      const wanted = stream === null ? 0 : (this.#options.ends.get(stream) ?? 0);
      if (wanted > 0) {
        const end = database.prepare<[], number>('SELECT sequence FROM record_end').pluck();
        await this.#until(name, () => ((end.get() ?? 0) >= wanted ? true : null));
      }
      database.prepare('VACUUM INTO ?').run(copy);
    } finally {
      database.close();
    }
    await this.#look();
    await this.#file(name, copy);
    rmSync(copy);
  }

  /** Up to the end of a line; after the last one there is room for others. */
  async #auditLog(): Promise<void> {
    const path = join(this.#options.directory, 'audit.log');
    if (!existsSync(path)) return;
    const wanted = this.#options.ends.get(STREAM.AUDIT) ?? 0;
    const end = await this.#until('audit.log', () => {
      const { text, endBytes } = lastLineOf(path);
      const sequence: number = text === null ? 0 : JSON.parse(text).sequence;
      return sequence >= wanted ? endBytes : null;
    });
    if (end > 0) await this.#file('audit.log', path, end);
  }

  /** GIVING-1 */
  async #journal(shard: number): Promise<void> {
    const database = openDatabase(join(this.#options.directory, `journal-${shard}.db`), { readonly: true });
    try {
      const wanted = this.#options.ends.get(shard) ?? 0;
      const select = database.prepare<[number], Row>(
        'SELECT sequence, bytes FROM journal WHERE sequence > ? ORDER BY sequence',
      );
      let last = 0;
      for (let isFirst = true; ; isFirst = false) {
        const writer = new ByteWriter();
        let bytes = 0;
        for (const row of select.iterate(last)) {
          last = row.sequence;
          writer.number(row.sequence);
          writer.bytes(row.bytes);
          bytes += row.bytes.length;
          if (bytes >= PART_BYTES) break;
        }
        if (bytes > 0 || isFirst) await this.#put(ROWS + shard, writer.done());
        if (bytes < PART_BYTES && last >= wanted) return;
        if (bytes > 0) continue;
        const end = last;
        await this.#until(`journal-${shard}.db`, () => (select.get(end) === undefined ? null : true));
      }
    } finally {
      database.close();
    }
  }

  async #control(): Promise<void> {
    const { ends, copyControl } = this.#options;
    const copy = join(this.#temporary, 'control.db');
    let isCopied = false;
    let failure: Error | null = null;
    copyControl(copy, ends.get(STREAM.CONTROL) ?? 0).then(
      () => {
        isCopied = true;
      },
      (error: Error) => {
        failure = error;
      },
    );
    await this.#until('control.db', () => {
      if (failure !== null) throw failure;
      return isCopied ? true : null;
    });
    await this.#file('control.db', copy);
  }
}

function filesOf(directory: string): string[] {
  return existsSync(directory)
    ? readdirSync(directory)
        .filter((name) => !name.endsWith('.part'))
        .sort()
    : [];
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
