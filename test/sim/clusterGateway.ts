/**
 * The stores of one process of a simulated cluster: changes on which commands depend, in a control.db with real
 * records, and answers to requests with a key. A leader puts each of them into the log; an answer leaves once the log
 * holds it.
 *
 * Invariant:
 *   SIMGATEWAY-1  No command is sent while changes wait for room in the outbox: it could overtake one of them.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { CONTROL_FILE } from '../../engine/replication/joiningFiles.ts';
import { RecordedFile } from '../../shared/records/recordedFile.ts';
import { decodeStatements } from '../../shared/records/statements.ts';
import { type LogRow, OutboxProducer, type Replication, STREAM } from '../../shared/wire/replication.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import type { LocalEnd } from '../../shared/wire/threads.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import type { Random } from '../support/random.ts';

export const GATEWAY_STREAMS = [STREAM.CONTROL, STREAM.ANSWERS] as const;
export type GatewayStream = (typeof GATEWAY_STREAMS)[number];

/** Small, so that a long change waits for room. */
const OUTBOX_BYTES = 4096;
const LONG_BYTES = 9000;
/** A start reads `platform` (prepare.ts). A change has the number of its record. */
const SCHEMA = `CREATE TABLE IF NOT EXISTS platform (key TEXT PRIMARY KEY, value TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS change (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;`;

/** The bytes of a file of SQLite and of its WAL. */
type Files = readonly [Buffer, Buffer];

export class SimGateway {
  outboxBuffer = createRingBuffer(OUTBOX_BYTES);
  /** Answers that clients have. */
  delivered: string[] = [];
  /** The last delivered one. */
  #deliveredSequence = 0;
  readonly controlPath: string;
  #outbox = new OutboxProducer(this.outboxBuffer);
  #control: RecordedFile | null = null;
  #raw: Database.Database | null = null;
  /** A loss of power leaves this of control.db. */
  #synced: Files = [Buffer.alloc(0), Buffer.alloc(0)];
  #syncedChanges = 0;
  /** By sequence number from 1 on, and the number of synced ones. */
  readonly #answers: string[] = [];
  #syncedAnswers = 0;
  #undelivered: { readonly sequence: number; readonly text: string }[] = [];
  #leads = false;

  constructor(directory: string) {
    this.controlPath = join(directory, CONTROL_FILE);
  }

  /** The changes that every command rests on which is sent now. */
  get changes(): number {
    return this.#control!.sequence;
  }

  /** SIMGATEWAY-1. */
  get maySend(): boolean {
    return this.#outbox.flush();
  }

  /** A new process. */
  begin(): void {
    this.outboxBuffer = createRingBuffer(OUTBOX_BYTES);
    this.#outbox = new OutboxProducer(this.outboxBuffer);
    this.#leads = false;
    this.#undelivered = [];
    this.#deliveredSequence = 0;
  }

  /** The files agree with the log: answers that the log does not have were never sent. */
  open(database: FakeDatabase): void {
    this.#openControl();
    const end = database.ends().find(({ stream }) => stream === STREAM.ANSWERS)?.sequence ?? 0;
    const first = database.firstAfter(STREAM.ANSWERS, 0)?.sequence ?? end + 1;
    const isLogged = (text: string, index: number): boolean => {
      const row = database.rowOf(STREAM.ANSWERS, index + 1);
      return row === null ? index + 1 < first : textOf(row) === text;
    };
    const unshared = this.#answers.findIndex((text, index) => !isLogged(text, index));
    if (unshared >= 0) this.#answers.length = unshared;
    this.#syncedAnswers = this.#answers.length;
  }

  #openControl(): void {
    this.#raw = new Database(this.controlPath);
    this.#raw.pragma('journal_mode = WAL');
    this.#raw.exec(SCHEMA);
    const isLocal = (table: string): boolean => table !== 'change';
    this.#control = new RecordedFile({ database: this.#raw, isFollowing: true, isLocal });
    this.sync();
  }

  ends(): readonly LocalEnd[] {
    return GATEWAY_STREAMS.map((stream) => ({ stream, sequence: this.#end(stream) }));
  }

  #end(stream: GatewayStream): number {
    return stream === STREAM.ANSWERS ? this.#answers.length : this.changes;
  }

  lead(replication: Replication): void {
    this.#leads = true;
    this.#control!.lead({
      put: (sequence, bytes) => this.#outbox.put({ stream: STREAM.CONTROL, sequence, bytes }),
      held: () => replication.held(STREAM.CONTROL),
    });
    if (this.changes === 0) this.change('founded', false);
  }

  apply(row: LogRow): void {
    if (row.stream === STREAM.CONTROL) {
      this.#control!.apply(row);
      return;
    }
    assert.equal(row.sequence, this.#answers.length + 1, 'the answers have no gap');
    this.#answers.push(textOf(row));
  }

  /** @param isLong longer than the outbox */
  change(text: string, isLong: boolean): void {
    const change = this.#control!.database.prepare('INSERT INTO change (text) VALUES (?)');
    change.run(isLong ? text.padEnd(LONG_BYTES, '.') : text);
  }

  answer(text: string): void {
    if (!this.#leads) return;
    const sequence = this.#answers.push(text);
    this.#outbox.put({ stream: STREAM.ANSWERS, sequence, bytes: Buffer.from(text) });
    this.#undelivered.push({ text, sequence });
  }

  /** The answers whose rows are held leave. */
  deliver(replication: Replication): void {
    this.#outbox.flush();
    while (
      this.#undelivered.length > 0 &&
      this.#undelivered[0]!.sequence <= replication.held(STREAM.ANSWERS) &&
      replication.state() !== 'lost'
    ) {
      const { text, sequence } = this.#undelivered.shift()!;
      this.delivered.push(text);
      this.#deliveredSequence = sequence;
    }
  }

  /** The last record of a stream that clients know of. */
  acknowledged(stream: GatewayStream, replication: Replication): number {
    if (stream === STREAM.ANSWERS) return this.#deliveredSequence;
    return Math.min(replication.held(stream), this.changes);
  }

  /** Answers that were given up are no longer expected. */
  forget(isKept: (text: string) => boolean): void {
    this.delivered = this.delivered.filter(isKept);
  }

  has(text: string): boolean {
    return this.#answers.includes(text);
  }

  isAllHeld(replication: Replication): boolean {
    return GATEWAY_STREAMS.every((stream) => replication.held(stream) === this.#end(stream));
  }

  /** The last record in its files, even while the process is down. */
  endOf(stream: GatewayStream): number {
    if (stream === STREAM.ANSWERS) return this.#answers.length;
    return this.#readControl((db) => db.prepare<[], number>('SELECT max(number) FROM change').pluck().get() ?? 0) ?? 0;
  }

  /** Shows its files, even while the process is down: `textAt` returns null if there is none. */
  readTexts<T>(read: (textAt: (stream: GatewayStream, sequence: number) => string | null) => T): T {
    const control =
      this.#raw ?? (existsSync(this.controlPath) ? new Database(this.controlPath, { readonly: true }) : null);
    const hasChanges = control?.prepare("SELECT 1 FROM sqlite_master WHERE name = 'change'").get() !== undefined;
    const select = hasChanges
      ? control?.prepare<[number], string>('SELECT text FROM change WHERE number = ?').pluck()
      : null;
    try {
      return read((stream, sequence) => {
        if (stream === STREAM.ANSWERS) return this.#answers[sequence - 1] ?? null;
        return select?.get(sequence) ?? null;
      });
    } finally {
      if (this.#raw === null) control?.close();
    }
  }

  digest(stream: GatewayStream): string {
    const texts =
      stream === STREAM.ANSWERS
        ? this.#answers
        : (this.#readControl((db) => db.prepare<[], string>('SELECT text FROM change').pluck().all()) ?? []);
    return texts.map((text) => text.slice(0, 40)).join();
  }

  durable(stream: number): number {
    return stream === STREAM.ANSWERS ? this.#syncedAnswers : this.#syncedChanges;
  }

  sync(): void {
    this.#syncedAnswers = this.#answers.length;
    if (this.#syncedChanges === this.changes && this.#synced[0].length > 0) return;
    this.#synced = this.#files();
    this.#syncedChanges = this.changes;
  }

  /** A leader syncs each change (RULES.md 18.1). A standby may lose unsynced changes with the power. */
  die(isPowerCut: boolean, random: Random): void {
    const isLost = isPowerCut && !this.#leads && random.chance(50);
    const files = isLost ? this.#synced : this.#files();
    this.stop();
    this.#restore(files);
    if (isPowerCut) this.#answers.length = random.between(this.#syncedAnswers, this.#answers.length);
  }

  stop(): void {
    this.#raw!.close();
    this.#raw = null;
  }

  /** The answers of another member, for an empty directory. */
  copyAnswers(other: SimGateway): void {
    this.#answers.push(...other.#answers);
    this.#syncedAnswers = this.#answers.length;
  }

  /** Its files were set aside. */
  clear(): void {
    this.#answers.length = 0;
    this.#syncedAnswers = 0;
    this.#syncedChanges = 0;
  }

  #files(): Files {
    const bytesOf = (path: string): Buffer => (existsSync(path) ? readFileSync(path) : Buffer.alloc(0));
    return [bytesOf(this.controlPath), bytesOf(`${this.controlPath}-wal`)];
  }

  #restore([db, wal]: Files): void {
    rmSync(`${this.controlPath}-shm`, { force: true });
    writeFileSync(this.controlPath, db);
    writeFileSync(`${this.controlPath}-wal`, wal);
  }

  #readControl<T>(read: (db: Database.Database) => T): T | null {
    if (this.#raw !== null) return read(this.#raw);
    if (!existsSync(this.controlPath)) return null;
    const db = new Database(this.controlPath, { readonly: true });
    try {
      return db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'change'").get() === undefined ? null : read(db);
    } finally {
      db.close();
    }
  }
}

/** The text in a row of the gateway's streams. */
export function textOf({ stream, bytes }: Pick<LogRow, 'stream' | 'bytes'>): string {
  if (stream === STREAM.ANSWERS) return Buffer.from(bytes).toString();
  return decodeStatements(bytes).statements[0]!.values[0] as string;
}
