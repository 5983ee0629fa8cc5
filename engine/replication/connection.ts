/**
 * Connections to the PostgreSQL that holds the replicated log, and the choice among its servers.
 *
 * A URL may name several servers: `postgres://user:password@one:5432,two:5432/database`. The writable server is used.
 * If two are writable, the one on the newer timeline is used: a failover starts a new timeline, and an abandoned
 * primary stays on the old one.
 *
 * Invariants:
 *   SERVERS-1  A process never goes back to a server of an older timeline than it has seen.
 *   SERVERS-2  A warning is reported with the statement it belongs to: a commit that came with one may be on the
 *              primary alone, because waiting for the standbys was cancelled.
 *   SERVERS-3  A statement whose connection is gone rejects. No statement is sent twice.
 *   SERVERS-4  A connection for writing is to a server that syncs what it commits (`fsync`, `full_page_writes`), and
 *              has standbys that a commit waits for, unless the settings allow otherwise.
 *   SERVERS-5  A connection that finds its server read-only is abandoned: a session may stay read-only for ever, while
 *              the next session is writable. A connection for reading is abandoned too, once the server can be written
 *              again.
 */
import pg from 'pg';
import { serverName, serversOf } from '../../shared/base/journalUrl.ts';
import { errorCode, errorMessage } from '../../shared/base/thrown.ts';
import { Command, type CommandValue, type Statement } from './command.ts';
import { type Place, TakesNoRowsError, type WrittenPlace } from './log.ts';
import { THREAD_TIMING, type Timing } from './timing.ts';

/**
 * A server has this time to accept a connection and report its state; once one has, a better server has the second
 * time.
 */
const CONNECT_MS = 1500;
const BETTER_MS = 200;
/** A server that does not close a connection within this time is disconnected. */
const CLOSE_MS = 1000;
/** TCP keep-alive on both sides: a dead peer is noticed after this time even if nothing is sent. */
const KEEP_ALIVE_SEC = 1;

/**
 * `write` waits for the standbys at each commit. `read` never does: it notes facts that may be lost, and answers while
 * the standbys are gone.
 */
export type Purpose = 'write' | 'read';

/** Errors of a server that refuses rows and has not executed the statement; it may accept rows again later. */
const READ_ONLY = '25006';
const REFUSALS: Readonly<Record<string, string>> = {
  [READ_ONLY]: 'it is read-only (default_transaction_read_only)',
  '53100': 'its disk is full',
  '58030': 'its disk fails',
};

type Answer<Row> = { readonly rows: readonly Row[]; readonly count: number; readonly hasWarning: boolean };
type Pending = { readonly sinceMs: number; hasWarning: boolean };
type About = {
  readonly purpose: Purpose;
  readonly pid: number;
  readonly place: Place;
  readonly databaseRun: string;
  readonly isReadOnly: boolean;
};
/** These flags say what a database may lack, in tests and trials. */
export type Allowed = { readonly isUnreplicatedAllowed: boolean; readonly isUnsyncedAllowed: boolean };
export const ANY_DATABASE: Allowed = { isUnreplicatedAllowed: true, isUnsyncedAllowed: true };

export class Connection {
  readonly pid: number;
  readonly place: Place;
  /** The run of the database (mayTake.ts). */
  readonly databaseRun: string;
  readonly server: string;
  /** The session was read-only when it began: only a new connection may be writable. */
  readonly isReadOnly: boolean;
  readonly #purpose: Purpose;
  readonly #client: pg.Client;
  readonly #timing: Timing;
  /** Statements that were sent, in order. */
  readonly #pending: Pending[] = [];
  #isGone = false;

  constructor(
    client: pg.Client,
    server: string,
    { purpose, pid, place, databaseRun, isReadOnly }: About,
    timing: Timing,
  ) {
    this.#client = client;
    this.#timing = timing;
    this.server = server;
    this.pid = pid;
    this.place = place;
    this.databaseRun = databaseRun;
    this.isReadOnly = isReadOnly;
    this.#purpose = purpose;
    client.on('notice', () => {
      const first = this.#pending[0];
      if (first !== undefined) first.hasWarning = true;
    });
    client.on('error', () => this.destroy());
    client.on('end', () => this.destroy());
  }

  get timeline(): number {
    return this.place.timeline;
  }

  get writtenPlace(): WrittenPlace {
    return { ...this.place, run: this.databaseRun };
  }

  /** Two writable servers, even at the same address, either differ in age or belong to different databases. */
  get identity(): string {
    return `${this.server} on timeline ${this.timeline}`;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The age of the oldest statement without an answer, 0 if there is none. */
  get oldestMs(): number {
    const first = this.#pending[0];
    return first === undefined ? 0 : performance.now() - first.sinceMs;
  }

  /** Statements are sent at once and run in order. */
  run<Row>({ name, text }: Statement, values: readonly unknown[] = []): Promise<Answer<Row>> {
    return new Promise((resolve, reject) => {
      const end = this.#begin(reject);
      if (end === null) return;
      // A promise would be resolved only after the warnings of the next statement have arrived.
      const query = { name, text, values: [...values], types: TYPES } as pg.QueryConfig;
      this.#client.query(query, (error: Error | null, result: pg.QueryResult) => {
        const hasWarning = end();
        if (error) reject(this.#noted(error));
        else resolve({ rows: result.rows, count: result.rowCount ?? 0, hasWarning });
      });
    });
  }

  /** The same for a statement that returns no rows. */
  command(statement: Statement, values: readonly CommandValue[]): Promise<Answer<never>> {
    return new Promise((resolve, reject) => {
      const end = this.#begin(reject);
      if (end === null) return;
      const command = new Command(statement, values, (error, count) => {
        const hasWarning = end();
        if (error) reject(this.#noted(error));
        else resolve({ rows: [], count, hasWarning });
      });
      this.#client.query(command as unknown as pg.Submittable);
    });
  }

  /** Returns the error of a statement in the terms that members know. */
  #noted(error: Error): Error {
    const code = errorCode(error);
    const reason = REFUSALS[code ?? ''];
    if (reason === undefined) return error;
    // SERVERS-5. Connections for reading continue.
    if (code === READ_ONLY && this.#purpose === 'write') this.destroy();
    return new TakesNoRowsError(this.server, reason);
  }

  /** @returns the function that ends the statement and says whether a warning came with it; null if it was not begun */
  #begin(reject: (error: Error) => void): (() => boolean) | null {
    if (this.#isGone) {
      reject(new Error(`no connection to ${this.server}`));
      return null;
    }
    const pending: Pending = { sinceMs: performance.now(), hasWarning: false };
    this.#pending.push(pending);
    return () => {
      this.#pending.splice(this.#pending.indexOf(pending), 1);
      return pending.hasWarning;
    };
  }

  /** Several statements without values, as one transaction. */
  async runScript(text: string): Promise<void> {
    const pending: Pending = { sinceMs: performance.now(), hasWarning: false };
    this.#pending.push(pending);
    try {
      await this.#client.query(text);
    } finally {
      this.#pending.splice(this.#pending.indexOf(pending), 1);
    }
  }

  /** Like `run`, but a server that does not answer in time is abandoned with its connection. */
  async runWithin<Row>(timeoutMs: number, statement: Statement, values: readonly unknown[] = []): Promise<Answer<Row>> {
    const timer = setTimeout(() => this.destroy(), timeoutMs);
    try {
      return await this.run<Row>(statement, values);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it at once: pending statements reject, and their outcome is unknown. */
  destroy(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    giveUp(this.#client);
  }

  /** Pending statements are answered first, if that takes less than a second. */
  async close(): Promise<void> {
    if (this.#isGone) return;
    this.#isGone = true;
    const endTimer = this.#timing.every(CLOSE_MS, () => giveUp(this.#client));
    await this.#client.end();
    endTimer();
  }
}

/** Values come as text. 64-bit integers are safe integers here and become numbers. */
const TYPES = {
  getTypeParser: (type: number, format: 'text' | 'binary'): unknown =>
    type === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(type, format as 'text'),
};

export class Servers {
  readonly #urls: readonly string[];
  readonly #allowed: Allowed;
  readonly #timing: Timing;
  #newestTimeline = 0;

  constructor(url: string, allowed: Allowed, timing: Timing = THREAD_TIMING) {
    this.#urls = serversOf(url);
    this.#allowed = allowed;
    this.#timing = timing;
  }

  /** A connection to the server that can be written. */
  async connect(purpose: Purpose): Promise<Connection> {
    const found: Connection[] = [];
    const problems: Error[] = [];
    let isChosen = false;
    const all: Promise<void>[] = [];
    const newest = this.#newestTimeline;
    const first = new Promise<void>((resolve) => {
      for (const url of this.#urls) all.push(this.#connectTo(url, purpose).then(add, refuse));
      function add(connection: Connection): void {
        if (isChosen) connection.destroy();
        else found.push(connection);
        // SERVERS-1: after an abandoned connection the other servers have the full time.
        if (connection.timeline >= newest) resolve();
      }
    });
    function refuse(error: Error): void {
      problems.push(error);
    }
    await Promise.race([Promise.all(all), first.then(() => this.#timing.sleep(BETTER_MS))]);
    isChosen = true;
    found.sort((a, b) => b.timeline - a.timeline);
    const [best, ...others] = found;
    for (const other of others) other.destroy();
    if (best === undefined) throw problemOf(problems);
    if (best.timeline < this.#newestTimeline) {
      best.destroy();
      throw new Error(`SERVERS-1: ${best.server} is an abandoned primary`);
    }
    this.#newestTimeline = best.timeline;
    return best;
  }

  /** Returns true if a server of a newer timeline is writable. */
  async hasNewer(timeline: number): Promise<boolean> {
    if (this.#urls.length === 1) return false;
    const connection = await this.connect('read').catch(() => null);
    connection?.destroy();
    return connection !== null && connection.timeline > timeline;
  }

  async #connectTo(url: string, purpose: Purpose): Promise<Connection> {
    const server = serverName(url);
    const client = clientOf(url, purpose);
    const late = new Error(`no answer within ${CONNECT_MS / 1000} s`);
    const endTimer = this.#timing.every(CONNECT_MS, () => giveUp(client, late));
    try {
      await client.connect();
      const facts = (await client.query<ServerFacts>(SERVER_FACTS)).rows[0];
      if (facts.is_standby) throw new Error('it is a standby');
      if (purpose === 'write') requireDurable(facts, this.#allowed);
      const isReadOnly = facts.read_only === 'on';
      if (purpose === 'write' && isReadOnly) throw new TakesNoRowsError(server, REFUSALS[READ_ONLY]);
      const { pid, system, lsn } = facts;
      const place = { system, timeline: Number.parseInt(facts.timeline, 16), lsn };
      const databaseRun = `${system}/${place.timeline}/${facts.started}`;
      return new Connection(client, server, { purpose, pid, place, databaseRun, isReadOnly }, this.#timing);
    } catch (error) {
      giveUp(client);
      if (error instanceof TakesNoRowsError) throw error;
      // An error of the network has several causes and no message of its own.
      const message = errorMessage(error);
      const code = errorCode(error);
      throw new Error(`${server}: ${message || code}`);
    } finally {
      endTimer();
    }
  }
}

/** Picks the most telling problem of all servers: that the usable one refuses rows. */
function problemOf(problems: readonly Error[]): Error {
  const refusal = problems.find((problem) => problem instanceof TakesNoRowsError);
  return refusal ?? new Error(problems.map(({ message }) => message).join('; ') || 'no server of the log has answered');
}

/** SERVERS-4 */
function requireDurable({ standbys, commit, fsync, full_pages }: ServerFacts, allowed: Allowed): void {
  if (!allowed.isUnsyncedAllowed) {
    if (fsync !== 'on') throw new Error('fsync is off: what it has committed may be lost with its machine');
    if (full_pages !== 'on') throw new Error('full_page_writes is off: its tables may be torn by a power cut');
  }
  if (allowed.isUnreplicatedAllowed) return;
  if (standbys === '') throw new Error('it has no synchronous standbys: synchronous_standby_names is empty');
  if (commit !== 'on') throw new Error(`synchronous_commit is ${commit} and cannot be set to on`);
}

type ServerFacts = {
  readonly pid: number;
  readonly is_standby: boolean;
  readonly system: string;
  readonly timeline: string;
  readonly lsn: string;
  readonly standbys: string;
  readonly commit: string;
  readonly fsync: string;
  readonly full_pages: string;
  readonly read_only: string;
  readonly started: string;
};

/** The first eight digits of the name of a file of the write-ahead log are its timeline. */
const SERVER_FACTS = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS is_standby,
  CASE WHEN pg_is_in_recovery() THEN '0' ELSE substring(pg_walfile_name(pg_current_wal_lsn()) FOR 8) END AS timeline,
  CASE WHEN pg_is_in_recovery() THEN '0/0' ELSE pg_current_wal_insert_lsn()::text END AS lsn,
  (SELECT system_identifier::text FROM pg_control_system()) AS system,
  current_setting('synchronous_standby_names') AS standbys, current_setting('synchronous_commit') AS commit,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_pages,
  current_setting('default_transaction_read_only') AS read_only,
  extract(epoch FROM pg_postmaster_start_time())::text AS started`;

/** A client that is not connected yet. Its errors are reported by its statements. */
export function clientOf(url: string, purpose: Purpose): pg.Client {
  const client = new pg.Client({
    connectionString: strictly(url),
    application_name: 'exchange',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_SEC * 1000,
    pipeline: true,
    options: optionsFor(purpose),
  } as pg.ClientConfig);
  client.on('error', () => {});
  return client;
}

/**
 * Ends a connection at once, while the driver's `end` would wait for the server. Pending statements reject with the
 * reason.
 */
export function giveUp(client: pg.Client, reason?: Error): void {
  const { stream } = (client as unknown as { connection: { stream: { destroy(reason?: Error): void } } }).connection;
  stream.destroy(reason);
}

/** Uses libpq's meaning of the TLS modes: the driver gives the same names another meaning. */
function strictly(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}uselibpqcompat=true`;
}

function optionsFor(purpose: Purpose): string {
  const settings = {
    synchronous_commit: purpose === 'write' ? 'on' : 'off',
    default_transaction_isolation: 'read\\ committed',
    client_min_messages: 'warning',
    statement_timeout: 0,
    tcp_keepalives_idle: KEEP_ALIVE_SEC,
    tcp_keepalives_interval: KEEP_ALIVE_SEC,
    tcp_keepalives_count: 3,
  };
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}
