/**
 * The log of a FakeDatabase as one process has it open: two connections, like those of postgresLog.ts. Statements
 * arrive, run and are answered step by step, in order on each connection. A connection may be lost at any moment;
 * statements sent on it may still run much later, without an answer.
 */
import type {
  DatabaseRuns,
  Lease,
  LogHistory,
  MemberReport,
  NextLead,
  ReadRows,
  ReplicatedLog,
  Resolved,
  RowName,
  Taken,
  WrittenPlace,
} from '../../engine/replication/log.ts';
import { FORMATS, type KnownFormats, knownText } from '../../shared/base/formats.ts';
import type { LogFacts } from '../../shared/wire/clusterStatus.ts';
import type { LogRow, NewRow } from '../../shared/wire/replication.ts';
import type { StreamEnd } from '../../shared/wire/threads.ts';
import { BLOCKED, type FakeDatabase, type Ran } from './fakeDatabase.ts';

type Run = (backend: object) => Ran<unknown> | typeof BLOCKED;
type Statement = {
  readonly run: Run;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
};
type Outcome = { readonly statement: Statement; readonly answer?: unknown; readonly error?: Error };

/** One connection: its statements, in order, and their answers. */
class Connection {
  isGone = false;
  readonly #database: FakeDatabase;
  readonly #generation: number;
  readonly databaseRun: string;
  #sent: Statement[] = [];
  #current: { readonly statement: Statement; readonly ran: Ran<unknown> } | null = null;
  #outcomes: Outcome[] = [];

  constructor(database: FakeDatabase) {
    this.#database = database;
    this.#generation = database.generation;
    this.databaseRun = database.run;
  }

  get isIdle(): boolean {
    return this.#sent.length === 0 && this.#current === null && this.#outcomes.length === 0;
  }

  run<T>(run: (backend: object) => Ran<T> | typeof BLOCKED): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.isGone) reject(new Error('the connection is lost'));
      else this.#sent.push({ run, resolve, reject } as Statement);
    });
  }

  /** The server goes on with the next statement. @returns false when nothing changed. */
  serve(): boolean {
    if (this.#generation !== this.#database.generation) return false;
    if (this.#current !== null) {
      const { statement, ran } = this.#current;
      if (!ran.write!.isVisible) return false;
      const isReplicated = this.#database.isHeld(ran.write!);
      const error = new Error('the database has not waited for its standbys');
      this.#outcomes.push(isReplicated ? { statement, answer: ran.answer } : { statement, error });
      this.#current = null;
      return true;
    }
    const statement = this.#sent[0];
    if (statement === undefined) return false;
    try {
      const ran = statement.run(this);
      if (ran === BLOCKED) return false;
      if (ran.write === null) this.#outcomes.push({ statement, answer: ran.answer });
      else this.#current = { statement, ran };
    } catch (error) {
      this.#outcomes.push({ statement, error: error as Error });
    }
    this.#sent.shift();
    return true;
  }

  /** Delivers the next answer. @returns false if there is none. */
  deliver(): boolean {
    if (this.#generation !== this.#database.generation && !this.isGone) this.lose();
    const outcome = this.isGone ? undefined : this.#outcomes.shift();
    if (outcome === undefined) return false;
    if (outcome.error !== undefined) outcome.statement.reject(outcome.error);
    else outcome.statement.resolve(outcome.answer as never);
    return true;
  }

  /** The wait of its commit is cancelled: the answer is a warning. @returns false when none waits. */
  cancel(): boolean {
    const write = this.#current?.ran.write;
    if (write === undefined || write === null || write.isVisible) return false;
    this.#database.cancel(write);
    return true;
  }

  /** The process notices that it is gone. */
  lose(): void {
    this.isGone = true;
    const open = [...this.#outcomes.map(({ statement }) => statement), this.#current?.statement, ...this.#sent];
    for (const statement of open) statement?.reject(new Error('the connection is lost'));
  }
}

export class FakeLog implements ReplicatedLog {
  readonly #database: FakeDatabase;
  readonly #holder: string;
  readonly #known: KnownFormats;
  readonly #connections: { write: Connection | null; read: Connection | null } = { write: null, read: null };
  /** Lost ones, whose statements may still run. */
  #late: Connection[] = [];
  #lead = 0;
  #ledOn = '';
  #onServer: (place: WrittenPlace) => void = () => {};

  constructor(database: FakeDatabase, holder: string, known: KnownFormats = FORMATS) {
    this.#database = database;
    this.#holder = holder;
    this.#known = known;
  }

  /** The last lead that this process has taken; 0 before the first. */
  get lead(): number {
    return this.#lead;
  }

  /** The run on which that goes on. */
  get ledOn(): string {
    return this.#ledOn;
  }

  // Faults, and the steps of statements.

  /** @returns whether anything moved. */
  serve(purpose: 'write' | 'read'): boolean {
    return this.#connections[purpose]?.serve() ?? false;
  }

  deliver(purpose: 'write' | 'read'): boolean {
    return this.#connections[purpose]?.deliver() ?? false;
  }

  /** Everything that can move does. */
  settle(): boolean {
    let hasMoved = false;
    for (const purpose of ['write', 'read'] as const) {
      while (this.serve(purpose) || this.deliver(purpose)) hasMoved = true;
    }
    return hasMoved;
  }

  cancel(): boolean {
    return this.#connections.write?.cancel() ?? false;
  }

  /** @param isLate true: sent statements may still run */
  cut(purpose: 'write' | 'read', isLate = true): void {
    const connection = this.#connections[purpose];
    if (connection === null) return;
    connection.lose();
    if (isLate && !connection.isIdle) this.#late.push(connection);
    this.#connections[purpose] = null;
  }

  /** A statement of a lost connection runs. */
  serveLate(): boolean {
    const hasMoved = this.#late[0]?.serve() ?? false;
    if (!hasMoved) this.#late.shift();
    return hasMoved;
  }

  // The log.

  async take(isForced: boolean, of?: NextLead): Promise<Taken | null> {
    const connection = this.#connection('write');
    const address = `http://${this.#holder}`;
    const take = (backend: object) => this.#database.take(backend, this.#holder, address, isForced, of);
    const taken = await connection.run(take);
    if (taken === null) return null;
    this.#lead = taken.lead;
    this.#ledOn = connection.databaseRun;
    return { ...taken, end: await connection.run(() => ({ answer: this.#database.end, write: null })) };
  }

  get runs(): DatabaseRuns {
    const { read } = this.#connections;
    return {
      now: read === null || read.isGone ? '' : read.databaseRun,
      find: (known) => this.#read(() => this.#database.runs(this.#holder, known)),
      haveAllOf: (runs) => this.#read(() => this.#database.hasAllOf(runs)),
      note: async () => {},
    };
  }

  lease(): Promise<Lease> {
    return this.#read(() => this.#database.lease());
  }

  async renew(epoch: number): Promise<boolean> {
    const existing = this.#connections.write;
    const connection = this.#connection('write');
    if (connection !== existing) throw new Error('the connection to the log was lost, and there is another one');
    const own = { epoch, lead: this.#lead };
    const run = await this.#runOf(connection);
    return connection.run((backend) => this.#database.renew(backend, own, run));
  }

  async release(epoch: number): Promise<void> {
    const own = { epoch, lead: this.#lead };
    await this.#connection('write').run((backend) => this.#database.renew(backend, own, null, 0));
  }

  async fence(): Promise<void> {
    await this.#connection('write').run((backend) => this.#database.take(backend, '', '', true));
  }

  raise(from: string, to: string): Promise<boolean> {
    return this.#connection('write').run((backend) => this.#database.raise(backend, from, to));
  }

  askHandOver(): Promise<boolean> {
    return Promise.resolve(false);
  }

  acceptHandOver(): Promise<void> {
    return Promise.resolve();
  }

  withdrawHandOver(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async append(epoch: number, after: number, rows: readonly NewRow[]): Promise<boolean> {
    const connection = this.#connections.write;
    if (connection === null || connection.isGone) throw new Error('the connection to the log is lost');
    return connection.run((backend) => this.#database.append(backend, { epoch, lead: this.#lead }, after, rows));
  }

  async resolve(epoch: number, lastHeld: number): Promise<Resolved> {
    const connection = this.#connection('write');
    const run = await this.#runOf(connection);
    const reading = connection.run(() => ({ answer: this.#database.namesFrom(lastHeld), write: null }));
    const own = { epoch, lead: this.#lead };
    const renewing = connection.run((backend) => this.#database.renew(backend, own, run));
    const [rows, isLeader] = await Promise.all([reading, renewing]);
    const hasLastHeld = lastHeld === 0 || rows[0]?.position === lastHeld;
    return { isLeader, hasLastHeld, rows: rows.filter(({ position }) => position > lastHeld) };
  }

  readAfter(position: number, mostBytes: number): Promise<ReadRows> {
    return this.#read(() => ({ rows: this.#database.readAfter(position, mostBytes), server: this.#database.server }));
  }

  async confirm(): Promise<string> {
    return this.#connection('write').run((backend) => this.#database.confirm(backend));
  }

  nameAt(position: number): Promise<RowName | null> {
    return this.#read(() => this.#database.nameAt(position));
  }

  rowOf(stream: number, sequence: number): Promise<LogRow | null> {
    return this.#read(() => this.#database.rowOf(stream, sequence));
  }

  firstAfter(stream: number, sequence: number): Promise<RowName | null> {
    return this.#read(() => this.#database.firstAfter(stream, sequence));
  }

  ends(): Promise<readonly StreamEnd[]> {
    return this.#read(() => this.#database.ends());
  }

  report(position: number, { hasRoom = true, filesProblem = '', run = '' }: MemberReport = {}): Promise<void> {
    const reported = { position, formats: knownText(this.#known), hasRoom, filesProblem, run };
    return this.#read(() => this.#database.report(this.#holder, reported));
  }

  facts(): Promise<LogFacts> {
    return this.#read(() => this.#database.facts());
  }

  history(): Promise<LogHistory> {
    return this.#read(() => this.#database.history());
  }

  beginner(): Promise<string> {
    return this.#read(() => this.#database.beginner(this.#holder));
  }

  found(id: string): Promise<string> {
    return this.#read(() => this.#database.found(id));
  }

  watchServer(onServer: (place: WrittenPlace) => void): void {
    this.#onServer = onServer;
    if (this.#connections.write !== null) onServer(this.#database.place);
  }

  trim(): Promise<number> {
    return this.#read(() => this.#database.trim());
  }

  async close(): Promise<void> {
    this.cut('write');
    this.cut('read');
  }

  /** The run on which this member leads (serverStarts.ts). */
  async #runOf(connection: Connection): Promise<string> {
    const { databaseRun } = connection;
    if (databaseRun === this.#ledOn) return databaseRun;
    const ledOn = this.#ledOn;
    const hasAll = () => ({ answer: this.#database.hasAllOf({ ledOn }), write: null });
    if (await connection.run(hasAll)) this.#ledOn = databaseRun;
    return this.#ledOn;
  }

  async #read<T>(read: () => T): Promise<T> {
    return this.#connection('read').run(() => ({ answer: read(), write: null }));
  }

  #connection(purpose: 'write' | 'read'): Connection {
    const existing = this.#connections[purpose];
    if (existing !== null && !existing.isGone) return existing;
    if (!this.#database.isReachable) throw new Error('no server answers');
    const connection = new Connection(this.#database);
    this.#connections[purpose] = connection;
    if (purpose === 'write') this.#onServer(this.#database.place);
    return connection;
  }
}
