/**
 * Finds out from the database's servers whether a server that has replaced the primary has everything that was held. A
 * commit is on the primary and on some of its standbys. A server that has run without a restart since then still has
 * all its commits, and follows only a server that has them too. So if enough such servers follow the new primary, or
 * are it, the new primary has all commits. A server that was restarted meanwhile may have been recreated or restored.
 *
 * Invariant:
 *   SERVERSTARTS-1  Servers are compared by the start times that they report, never by a clock.
 */
import { serverName, serversOf } from '../../shared/base/journalUrl.ts';
import { type Connection, clientOf, giveUp } from './connection.ts';
import type { Reader } from './copyTable.ts';
import type { DatabaseRuns, Runs } from './log.ts';
import { SQL } from './statements.ts';

const WITHIN_MS = 1500;
const RUNS_KEPT = 8;

/** Start times of the servers, by name, when the log was last led on a run of the database. */
type Starts = ReadonlyMap<string, string>;
type Server = {
  readonly name: string;
  readonly started: string;
  /** Timeline that a standby receives; null if it receives nothing. */
  readonly timeline: number | null;
  readonly standbys: string;
};

type Look = { readonly servers: readonly Server[]; readonly isEnough: boolean };

class ServerStarts {
  readonly #urls: readonly string[];
  /** By database run: the newest start times. */
  readonly #seen = new Map<string, Starts>();

  constructor(url: string) {
    this.#urls = serversOf(url);
  }

  /** Notes the servers of a database run, which must be the same afterwards. */
  async note(run: string, isStill: () => boolean): Promise<void> {
    const { servers } = await this.#look(() => false);
    if (!isStill()) return;
    this.#seen.set(run, new Map(servers.map(({ name, started }) => [name, started])));
    for (const old of this.#seen.keys()) if (this.#seen.size > RUNS_KEPT) this.#seen.delete(old);
  }

  /** True if everything is there that was held on that run. @param timeline the primary's timeline now */
  async haveAll(run: string, timeline: number): Promise<boolean> {
    const starts = this.#seen.get(run);
    if (starts === undefined) return false;
    return this.#look((servers) => {
      const following = servers.filter((server) => server.timeline === timeline);
      const goOn = following.filter(({ name, started }) => starts.get(name) === started);
      return following.length > 0 && goOn.length >= serversNeeded(following[0].standbys, this.#urls.length);
    }).then(({ isEnough }) => isEnough);
  }

  /** Servers that are gone are not awaited once the others are enough. */
  #look(isEnough: (servers: readonly Server[]) => boolean): Promise<Look> {
    const servers: Server[] = [];
    let left = this.#urls.length;
    return new Promise((resolve) => {
      const note = (server: Server | null): void => {
        if (server !== null) servers.push(server);
        left--;
        const isDone = isEnough(servers);
        if (isDone || left === 0) resolve({ servers, isEnough: isDone });
      };
      for (const url of this.#urls) void lookAt(url).then(note, () => note(null));
    });
  }
}

export class PostgresRuns implements DatabaseRuns {
  readonly #log: Reader;
  readonly #options: { readonly cluster: string; readonly holder: string };
  readonly #read: () => Connection | null;
  readonly #starts: ServerStarts;
  #ledOn = '';

  constructor(
    log: Reader,
    options: { readonly url: string; readonly cluster: string; readonly holder: string },
    read: () => Connection | null,
  ) {
    this.#log = log;
    this.#options = options;
    this.#read = read;
    this.#starts = new ServerStarts(options.url);
  }

  get now(): string {
    const read = this.#read();
    return read === null || read.isGone ? '' : read.databaseRun;
  }

  /** A lead was taken on this run. */
  lead(run: string): void {
    this.#ledOn = run;
  }

  /**
   * The run on which this member leads: the run of the server that it writes to, if the database's servers show that
   * nothing is missing there, or the previous run (MAYTAKE-2).
   */
  async ledOn(write: Connection): Promise<string> {
    const { databaseRun, timeline } = write;
    if (databaseRun === this.#ledOn) return databaseRun;
    // After this commit, the standbys that a commit waits for follow the primary.
    await write.run(SQL.confirm);
    if (!(await this.#starts.haveAll(this.#ledOn, timeline))) return this.#ledOn;
    this.#ledOn = databaseRun;
    void this.note().catch(() => {});
    return databaseRun;
  }

  async find(known: readonly string[]): Promise<Runs> {
    const { cluster, holder } = this.#options;
    const [runs] = await this.#log.read<Runs>(SQL.runs, [cluster, holder, known]);
    return runs;
  }

  haveAllOf({ ledOn, timeline }: Runs): Promise<boolean> {
    return this.#starts.haveAll(ledOn, timeline);
  }

  async note(): Promise<void> {
    const run = this.now;
    if (run !== '') await this.#starts.note(run, () => this.now === run);
  }
}

/**
 * The number of servers of which at least one has each commit, whichever they are. A list of standbys may also name the
 * primary, which does not wait for itself.
 */
export function serversNeeded(names: string, servers: number): number {
  const [, count = '1', list = names] = /^\s*(?:any|first)?\s*(\d+)\s*\((.*)\)\s*$/i.exec(names) ?? [];
  const named = list.trim() === '*' ? 0 : list.split(',').length - 1;
  return Math.max(servers - 1, named, 1) - Number(count) + 1;
}

async function lookAt(url: string): Promise<Server> {
  const client = clientOf(url, 'read');
  const timer = setTimeout(() => giveUp(client, new Error('no answer')), WITHIN_MS);
  try {
    await client.connect();
    const { rows } = await client.query<Omit<Server, 'name'>>(ABOUT);
    return { name: serverName(url), ...rows[0] };
  } finally {
    clearTimeout(timer);
    giveUp(client);
  }
}

const ABOUT = `SELECT pg_postmaster_start_time()::text AS started,
  CASE WHEN pg_is_in_recovery()
    THEN (SELECT received_tli FROM pg_stat_wal_receiver WHERE status = 'streaming')
    ELSE ('x' || substring(pg_walfile_name(pg_current_wal_lsn()) FOR 8))::bit(32)::int END AS timeline,
  current_setting('synchronous_standby_names') AS standbys`;
