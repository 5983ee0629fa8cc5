/**
 * The replicated log in PostgreSQL (data/schema/log.sql).
 *
 * One connection writes: it appends and holds the lease, so that all writes of this process are in one order. A second
 * connection reads, reports positions and trims; it never waits for standbys, so it answers while the first one waits.
 *
 * Fence (CLUSTERLOG-2): an append locks the leader's row with FOR KEY SHARE if it has the append's epoch and the number
 * of its lead. Taking the lease changes the epoch, a column of a unique key, and so waits for these locks. An append is
 * therefore committed before the epoch changes, and the new leader reads its rows, or it finds no row with its epoch
 * and adds nothing. The number is random: after a failover to a server that lacks the newest lead, the next lead takes
 * the same epoch, and the row has the number of only one of the two.
 *
 * Order (CLUSTERLOG-3): an append adds nothing if the row that it follows is missing. If one of several pending appends
 * fails, the appends after it add nothing.
 *
 * Replaced servers (CLUSTERLOG-5): a primary cut off from its standbys, one of which was promoted, still answers reads,
 * and its answers do not show it. A commit there waits for ever, or comes with a warning.
 *
 * One server (CLUSTERLOG-6): before a lead begins, the log is read to its end from a server no older than the one that
 * has the lease: an abandoned server's log may end at the same position with different rows.
 *
 * Unknown outcomes (CLUSTERLOG-4): a lost connection, an error, and a commit with a warning (SERVERS-2) all reject.
 * `resolve` reads the log and commits once more on the same connection: standbys that have this commit have all earlier
 * ones.
 */
import { assert } from '../../shared/base/assert.ts';
import { type KnownFormats, knownText, newestOf, numbersText } from '../../shared/base/formats.ts';
import type { LogFacts } from '../../shared/wire/clusterStatus.ts';
import { LEASE_MS, type LogRow, type NewRow } from '../../shared/wire/replication.ts';
import type { StreamEnd } from '../../shared/wire/threads.ts';
import type { Statement } from './command.ts';
import { type Allowed, ANY_DATABASE, type Connection, type Purpose, Servers } from './connection.ts';
import { requireReadable } from './formatsOfMember.ts';
import {
  type AskedHandOver,
  type Lease,
  type LogHistory,
  type MemberReport,
  MOST_ROWS_READ,
  type NextLead,
  NotAMemberError,
  type ReadRows,
  type ReplicatedLog,
  type Resolved,
  type RowName,
  type Taken,
  type WrittenPlace,
} from './log.ts';
import { LOG_FACT, readFacts, readHistory, requireCluster, requireNotMoved } from './logFacts.ts';
import { makeTables } from './schema.ts';
import { PostgresRuns } from './serverStarts.ts';
import { appendValues, newLead, SQL } from './statements.ts';

/** A requested hand-over is accepted within the first time or forgotten; then the leader has the second time to end. */
const ASKED_MS = 10_000;
const ACCEPTED_MS = 15_000;
/** For this long, only the named member may take a lease that has ended for a hand-over. */
const KEPT_MS = 3000;
/** If a statement is older than this, the connections check whether their server is still there. */
const SUSPECT_MS = 1000;
const LOOK_EVERY_MS = 250;
const READ_WITHIN_MS = 1500;
/** Rows are not kept for members that are silent for longer: these join anew by a copy. */
const FORGOTTEN_MS = 24 * 3_600_000;
const TRIM_ROWS = 2000;

export type PostgresLogOptions = Allowed & {
  readonly url: string;
  readonly cluster: string;
  readonly holder: string;
  readonly address: string;
  /** The version of the program that this member runs. */
  readonly version: string;
  readonly facts: Readonly<Record<string, string>>;
  /** The formats that this member reads and writes. */
  readonly formats: KnownFormats;
};

export class PostgresLog implements ReplicatedLog {
  readonly #options: PostgresLogOptions;
  readonly #servers: Servers;
  readonly runs: PostgresRuns;
  readonly #connections: Record<Purpose, Connection | null> = { write: null, read: null };
  readonly #connecting: Record<Purpose, Promise<Connection> | null> = { write: null, read: null };
  readonly #watch: NodeJS.Timeout;
  /** The number of the lead that this process has taken; 0 before. */
  #lead = 0;
  #onServer: (place: WrittenPlace) => void = () => {};
  #isLooking = false;
  #isClosed = false;

  private constructor(options: PostgresLogOptions) {
    this.#options = options;
    this.#servers = new Servers(options.url, options);
    this.runs = new PostgresRuns(this, options, () => this.#connections.read);
    this.#watch = setInterval(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** Creates missing tables. Rejects with NotAMemberError if the cluster's facts differ. */
  static async open(options: PostgresLogOptions): Promise<PostgresLog> {
    const log = new PostgresLog(options);
    try {
      await log.#prepare();
      return log;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Opens the log for an operator: no table is created, and no call waits for the database's standbys. */
  static async observe(options: Pick<PostgresLogOptions, 'url' | 'cluster'>): Promise<PostgresLog> {
    const noMember = { holder: '', address: '', version: '', facts: {}, formats: {} };
    const log = new PostgresLog({ ...options, ...noMember, ...ANY_DATABASE });
    try {
      await requireCluster(log, options.cluster);
      return log;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { cluster, facts, formats } = this.#options;
    const connection = await this.#connection('write');
    await makeTables(connection);
    await requireNotMoved(connection, cluster);
    await connection.run(SQL.addCluster, [cluster, numbersText(newestOf(formats))]);
    for (const [name, value] of Object.entries(facts)) {
      await connection.run(SQL.addFact, [cluster, name, value]);
      const { rows } = await connection.run<{ value: string }>(SQL.fact, [cluster, name]);
      if (rows[0]?.value === value) continue;
      throw new NotAMemberError(`the cluster ${cluster} has ${name} ${rows[0]?.value}, and this process ${value}`);
    }
    const { rows } = await connection.run<Parameters<typeof requireReadable>[0]>(SQL.formats, [cluster]);
    requireReadable(rows[0], formats);
  }

  async take(isForced: boolean, next?: NextLead): Promise<Taken | null> {
    const { cluster, holder, address } = this.#options;
    const connection = await this.#connection('write');
    const lead = newLead();
    const own = [next?.formats ?? null, next?.raised ?? null, next?.epoch ?? null, next?.run ?? null];
    const values = [cluster, holder, address, LEASE_MS, isForced, KEPT_MS, lead, ...own];
    const { rows, hasWarning } = await connection.run<{ epoch: number }>(SQL.take, values);
    if (rows[0] === undefined) return null;
    requireReplicated(hasWarning);
    this.#requireOneServer(connection);
    this.#lead = lead;
    this.runs.lead(connection.databaseRun);
    const start = await connection.run<{ position: number }>(SQL.startLead, [cluster, lead]);
    return { epoch: rows[0].epoch, lead, end: start.rows[0].position };
  }

  async lease(): Promise<Lease> {
    const [lease] = await this.read<Lease>(SQL.lease, [this.#options.cluster]);
    assert(lease !== undefined, 'log: its cluster is there since it was opened');
    return lease;
  }

  /** Rejects on a new connection: its server may lack held rows, and `resolve` finds out. */
  async renew(epoch: number): Promise<boolean> {
    const existing = this.#connections.write;
    const connection = await this.#connection('write');
    if (connection !== existing) throw new Error('the connection to the log was lost, and there is another one');
    const of = [this.#options.cluster, epoch, LEASE_MS, this.#lead, await this.runs.ledOn(connection)];
    const { count, hasWarning } = await connection.run(SQL.renew, of);
    requireReplicated(hasWarning);
    return count === 1;
  }

  async release(epoch: number): Promise<void> {
    const values = [this.#options.cluster, epoch, 0, this.#lead, null];
    await (await this.#connection('write')).run(SQL.renew, values);
  }

  async fence(): Promise<void> {
    await this.write(SQL.take, [this.#options.cluster, '', '', 0, true, 0, newLead(), null, null, null, null]);
  }

  /** Replaces a fact of all members. @returns false if it was not `from` */
  async replaceFact(name: string, from: string, to: string): Promise<boolean> {
    return (await this.write(SQL.replaceFact, [this.#options.cluster, name, from, to])) > 0;
  }

  found(id: string): Promise<string> {
    return this.#noted(LOG_FACT, id);
  }

  beginner(): Promise<string> {
    return this.#noted('beginner', this.#options.holder);
  }

  /** @returns the present value of the fact */
  async #noted(name: string, value: string): Promise<string> {
    await this.write(SQL.addFact, [this.#options.cluster, name, value]);
    return (await this.fact(name))!;
  }

  history(): Promise<LogHistory> {
    return readHistory(this, this.#options.cluster);
  }

  watchServer(onServer: (place: WrittenPlace) => void): void {
    this.#onServer = onServer;
    const { write } = this.#connections;
    if (write !== null && !write.isGone) onServer(write.writtenPlace);
  }

  /** Null if the cluster has no such fact. */
  async fact(name: string): Promise<string | null> {
    const [found] = await this.read<{ value: string }>(SQL.fact, [this.#options.cluster, name]);
    return found?.value ?? null;
  }

  async raise(from: string, to: string): Promise<boolean> {
    return (await this.write(SQL.raise, [this.#options.cluster, from, to])) > 0;
  }

  async askHandOver({ epoch, to, isForced }: AskedHandOver): Promise<boolean> {
    return this.#note(SQL.askHandOver, [this.#options.cluster, epoch, to, isForced, ASKED_MS]);
  }

  async acceptHandOver(epoch: number): Promise<void> {
    await this.#note(SQL.acceptHandOver, [this.#options.cluster, this.#options.holder, epoch, ACCEPTED_MS]);
  }

  async withdrawHandOver({ epoch, to }: AskedHandOver): Promise<boolean> {
    return this.#note(SQL.withdrawHandOver, [this.#options.cluster, to, epoch]);
  }

  /** Append never opens a connection: what was sent on the previous one may still arrive, and `resolve` finds out. */
  async append(epoch: number, after: number, rows: readonly NewRow[]): Promise<boolean> {
    const connection = this.#connections.write;
    if (connection === null || connection.isGone) throw new Error('the connection to the log is lost');
    const values = appendValues({ cluster: this.#options.cluster, epoch, lead: this.#lead }, after, rows);
    const { count, hasWarning } = await connection.command(SQL.append, values);
    assert(count === 0 || count === rows.length, 'CLUSTERLOG-3: all rows of an append are added or none');
    requireReplicated(hasWarning);
    return count > 0;
  }

  async resolve(epoch: number, lastHeld: number): Promise<Resolved> {
    const { cluster } = this.#options;
    const connection = await this.#connection('write');
    const run = await this.runs.ledOn(connection);
    const reading = connection.run<RowName>(SQL.namesFrom, [cluster, lastHeld]);
    const renewing = connection.run(SQL.renew, [cluster, epoch, LEASE_MS, this.#lead, run]);
    const [{ rows }, { count, hasWarning }] = await Promise.all([reading, renewing]);
    requireReplicated(hasWarning);
    const hasLastHeld = lastHeld === 0 || rows[0]?.position === lastHeld;
    return { isLeader: count === 1, hasLastHeld, rows: rows.filter(({ position }) => position > lastHeld) };
  }

  async readAfter(position: number, mostBytes: number): Promise<ReadRows> {
    const values = [this.#options.cluster, position, MOST_ROWS_READ, mostBytes];
    const connection = await this.#connection('read');
    const { rows } = await connection.runWithin<LogRow>(READ_WITHIN_MS, SQL.readAfter, values);
    return { rows: rows.map(copied), server: connection.identity };
  }

  async confirm(): Promise<string> {
    const connection = await this.#connection('write');
    const { hasWarning } = await connection.run(SQL.confirm);
    requireReplicated(hasWarning);
    this.#requireOneServer(connection);
    return connection.identity;
  }

  /** If reads come from another server, one of the two connections is abandoned. Throws if that is this one. */
  #requireOneServer(write: Connection): void {
    const { read } = this.#connections;
    if (read === null || read.identity === write.identity) return;
    if (read.timeline <= write.timeline) read.destroy();
    else {
      write.destroy();
      throw new Error(`${write.server} was replaced by ${read.server}`);
    }
  }

  async nameAt(position: number): Promise<RowName | null> {
    const [row] = await this.read<RowName>(SQL.nameAt, [this.#options.cluster, position]);
    return row ?? null;
  }

  async rowOf(stream: number, sequence: number): Promise<LogRow | null> {
    const [row] = await this.read<LogRow>(SQL.rowOf, [this.#options.cluster, stream, sequence]);
    return row === undefined ? null : copied(row);
  }

  async firstAfter(stream: number, sequence: number): Promise<RowName | null> {
    const [row] = await this.read<RowName>(SQL.firstAfter, [this.#options.cluster, stream, sequence]);
    return row ?? null;
  }

  async ends(): Promise<readonly StreamEnd[]> {
    return this.read<StreamEnd>(SQL.ends, [this.#options.cluster]);
  }

  async report(position: number, about: MemberReport = {}): Promise<void> {
    const { applied = position, hasRoom = true, filesProblem = '', run = '' } = about;
    const { cluster, holder, address, version, formats } = this.#options;
    const own = [address, position, version, knownText(formats), hasRoom, applied, filesProblem, run];
    await this.#note(SQL.report, [cluster, holder, ...own]);
  }

  async facts(): Promise<LogFacts> {
    const { server } = await this.#connection('read');
    return readFacts(this, this.#options.cluster, server);
  }

  /** Notes a fact that a server's failure may lose. @returns true if it was new */
  async #note(statement: Statement, values: readonly unknown[]): Promise<boolean> {
    const connection = await this.#connection('read');
    return (await connection.runWithin(READ_WITHIN_MS, statement, values)).count > 0;
  }

  async trim(): Promise<number> {
    const connection = await this.#connection('read');
    const values = [this.#options.cluster, FORGOTTEN_MS, TRIM_ROWS];
    await connection.runWithin(READ_WITHIN_MS, SQL.forgetLeads, [this.#options.cluster]);
    return (await connection.runWithin(READ_WITHIN_MS, SQL.trim, values)).count;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    const { write, read } = this.#connections;
    // A statement that waits for the standbys would delay the end.
    if (write !== null && write.oldestMs > 0) write.destroy();
    await Promise.allSettled([write?.close(), read?.close()]);
  }

  /** Runs a statement whose commit the standbys have too. @returns the number of rows affected */
  async write(statement: Statement, values: readonly unknown[]): Promise<number> {
    const connection = await this.#connection('write');
    const { count, hasWarning } = await connection.run(statement, values);
    requireReplicated(hasWarning);
    return count;
  }

  /** Runs a statement that does not wait for the standbys. */
  async read<Row>(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    const connection = await this.#connection('read');
    return (await connection.runWithin<Row>(READ_WITHIN_MS, statement, values)).rows;
  }

  /** Returns the connection, or a new one if it is gone. */
  async #connection(purpose: Purpose): Promise<Connection> {
    if (this.#isClosed) throw new Error('the log is closed');
    const existing = this.#connections[purpose];
    if (existing !== null && !existing.isGone) return existing;
    this.#connecting[purpose] ??= this.#servers.connect(purpose).finally(() => {
      this.#connecting[purpose] = null;
    });
    const connection = await this.#connecting[purpose];
    if (this.#isClosed) {
      connection.destroy();
      throw new Error('the log is closed');
    }
    if (this.#connections[purpose] !== connection && purpose === 'write') this.#onServer(connection.writtenPlace);
    this.#connections[purpose] = connection;
    if (purpose === 'write' && this.#connections.read?.isReadOnly) this.#connections.read.destroy();
    return connection;
  }

  /**
   * Checks why a statement takes long. The server may be waiting for its standbys; then this process waits too. Or the
   * server or the connection has silently gone; or the server was abandoned and another one serves.
   */
  async #look(): Promise<void> {
    const { write, read } = this.#connections;
    if (this.#isLooking || write === null || write.isGone || write.oldestMs < SUSPECT_MS) return;
    this.#isLooking = true;
    try {
      const [backend] = await this.read<{ state: string }>(SQL.backend, [write.pid]);
      if (read !== null && this.#connections.read?.timeline !== write.timeline) write.destroy();
      else if (backend?.state !== 'active') write.destroy();
      else if (await this.#servers.hasNewer(write.timeline)) {
        write.destroy();
        read?.destroy();
      }
    } catch {
      write.destroy();
    } finally {
      this.#isLooking = false;
    }
  }
}

/** A copy with memory of its own, which can be sent to another thread. */
function copied(row: LogRow): LogRow {
  return { ...row, bytes: new Uint8Array(row.bytes) };
}

function requireReplicated(hasWarning: boolean): void {
  if (hasWarning) throw new Error('CLUSTERLOG-4: the database has not waited for its standbys');
}
