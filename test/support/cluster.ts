/**
 * A cluster of real exchange processes over one log. Requests to it as to a server reach its leader, so that a witness
 * of one process is a witness of the cluster.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { foundNew } from '../../engine/admin/clusterFound.ts';
import { AdminClient } from '../../shared/client/admin.ts';
import { temporaryDirectory } from './directory.ts';
import { eventually } from './eventually.ts';
import { freePort } from './freePort.ts';
import type { LogLine } from './logLine.ts';
import { sharedPostgres } from './postgres.ts';
import { type Answer, type Json, type Scope, TestServer } from './server.ts';

const MASTER_KEY = '5a'.repeat(32);
const SHARDS = 2;
const FOLLOWS_WITHIN_MS = 1000;
/** A hanging member is asked again, and others in the meantime. */
const ANSWERS_WITHIN_MS = 10_000;
/** The exit code of a member that has to be started again. */
const AGAIN = 75;
/** Part of a refusal that other members may lift by their reports when they start (STANDING-3). */
const UNKNOWN_YET = 'unknown whether they were acknowledged';
const RESTART_MS = 2000;
/** A member that has lost its lead ends once more, and may do so again. */
const MOST_STARTS = 10;
/** Time after which a request to a member that hangs, or has lost the others, is given to the next member. */
const GIVEN_UP_MS = 10_000;
/** Number of printed lines shown of a member that is waited for. */
const LAST_LINES = 5;
type Environment = Record<string, string>;

class Member extends TestServer {
  readonly name: string;
  readonly env: Environment;
  override readonly timeoutMs = GIVEN_UP_MS;
  #answered = 'it was not asked';

  constructor(name: string, env: Environment, directory: string) {
    super(directory);
    this.name = name;
    this.env = env;
  }

  begin(): Promise<void> {
    return this.start(this.env);
  }

  async isFollowing(): Promise<boolean> {
    if (!this.isRunning) return false;
    const signal = AbortSignal.timeout(FOLLOWS_WITHIN_MS);
    const answer = await fetch(`${this.baseUrl}/ready`, { signal }).catch(() => null);
    const readiness = answer?.status === 200 ? ((await answer.json()) as { role?: string }) : null;
    return readiness?.role === 'standby';
  }

  /** Null while the member does not answer. */
  async readiness(): Promise<Answer | null> {
    if (!this.isRunning) return null;
    try {
      const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
      const response = await fetch(`${this.baseUrl}/ready?role=leader`, { signal });
      const { status, headers } = response;
      const body: Json = await response.json();
      this.#answered = `${status} ${JSON.stringify(body)}`;
      return { status, headers, body };
    } catch (error) {
      this.#answered = String(error);
      return null;
    }
  }

  /** Describes the state of this member for a failed wait. */
  describe(): string {
    const state = this.isRunning ? `says of itself: ${this.#answered}` : 'has ended';
    const printed = [...this.stdout.slice(-LAST_LINES), ...this.stderr.slice(-LAST_LINES)];
    return [`member ${this.name} ${state}; it has printed:`, ...printed].join('\n  ');
  }
}

class Cluster extends TestServer {
  readonly members: Member[];
  readonly #scope: Scope;
  /** A log that is slow for a moment: the refusal says that nothing was done (RULES.md 18.6). */
  override readonly retry = { attempts: 8 };
  override readonly timeoutMs = GIVEN_UP_MS;
  #leader: Member;

  constructor(scope: Scope, members: Member[]) {
    super('');
    this.#scope = scope;
    this.members = members;
    this.#leader = members[0]!;
  }

  get leader(): Member {
    return this.#leader;
  }

  /** Another member, which has not begun, with the settings of the others. */
  async addMember(name: string, directory: string): Promise<Member> {
    const own = { PORT: String(await freePort()), MEMBER_NAME: name, DATA_DIR: directory };
    const member = new Member(name, { ...this.members[0]!.env, ...own }, directory);
    this.#scope.after(() => member.kill());
    this.members.push(member);
    return member;
  }

  get standbys(): readonly Member[] {
    return this.members.filter((member) => member !== this.#leader);
  }

  override get baseUrl(): string {
    return this.#leader.baseUrl;
  }

  override get admin(): AdminClient {
    const { adminToken: token, retry, timeoutMs } = this;
    return new AdminClient({ baseUrl: this.#leader.adminUrl, token, retry, timeoutMs });
  }

  override get isRunning(): boolean {
    return this.#leader.isRunning;
  }

  override adminRequest(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.#leader.adminRequest(method, path, body);
  }

  override request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.#leader.request(method, path, body, headers);
  }

  /** Resolves once a member leads and answers, one of these if they are named; rejects when all of them have ended. */
  async awaitLeader(among: readonly Member[] = this.members): Promise<Member> {
    this.#leader = await eventually(described('a member that leads', among), async () => {
      requireOneRunning(among);
      for (const member of among) {
        const readiness = await member.readiness();
        if (readiness?.status === 200) return member;
      }
      return false;
    });
    return this.#leader;
  }

  /** The leader, and the standbys that follow; a hanging standby does not count. */
  override async places(): Promise<readonly TestServer[]> {
    const following = await Promise.all(this.standbys.map((member) => member.isFollowing()));
    return [this.#leader, ...this.standbys.filter((_, at) => following[at])];
  }

  /** Resolves once the standby shows everything that the log holds now. */
  async awaitStandby(member: Member): Promise<void> {
    await eventually(described(`member ${member.name} as a standby`, this.members), async () => {
      requireOneRunning([member]);
      return isStandby(await member.readiness());
    });
  }

  /** A member that was killed, or has ended because it lost its lead, begins again as a standby. */
  async rejoin(member: Member): Promise<void> {
    assert.ok(!member.isRunning, `member ${member.name} has ended`);
    await member.begin();
    await this.awaitStandby(member);
  }

  /**
   * After faults of any members: restarts those that have ended, or that end because another leads. Resolves once one
   * of them leads, and all others show everything that the log holds.
   */
  async recover(): Promise<void> {
    for (const member of this.members) member.mayEnd();
    for (let starts = 0; starts < MOST_STARTS; starts++) {
      // Starts have a limit of their own: on a busy machine some of them take longer than any other wait.
      const ended = this.members.filter(({ isRunning }) => !isRunning);
      await Promise.all(ended.map((member) => beginOrEnd(member)));
      for (const member of ended) member.mayEnd();
      if (await this.#allFollow()) return;
    }
    throw new Error(described('members that stay', this.members)());
  }

  /** Resolves to false once a member has ended. */
  async #allFollow(): Promise<boolean> {
    const state = await eventually(described('a leader that all others follow', this.members), async () => {
      if (this.members.some(({ isRunning }) => !isRunning)) return 'ended';
      const found = await Promise.all(this.members.map((member) => member.readiness()));
      const [leader, ...others] = this.members.filter((_, at) => found[at]?.status === 200);
      const standbys = found.filter(isStandby);
      if (leader === undefined || others.length > 0 || standbys.length < this.members.length - 1) return false;
      this.#leader = leader;
      return 'follow';
    });
    return state === 'follow';
  }
}

/**
 * A member that joins anew, or loses its lead while it starts, ends and has to be started again. So does one that can
 * judge its own rows only once the others have reported what they have seen held: a supervisor would start it until
 * then.
 */
async function beginOrEnd(member: Member): Promise<void> {
  await member.begin().catch(async (error: Error) => {
    if (error.message.includes(UNKNOWN_YET)) await sleep(RESTART_MS);
    else if (!error.message.startsWith(`the server ended with code ${AGAIN}`)) throw error;
  });
}

function isStandby(readiness: Answer | null): boolean {
  return readiness?.body.status === 'standby' && readiness.body.stale_ms !== undefined;
}

/** Adds to the failure of a wait how these members stand. */
function described(what: string, members: readonly Member[]): () => string {
  return () => [what, ...members.map((member) => member.describe())].join('\n');
}

/** A wait for members that have ended would never end. */
function requireOneRunning(members: readonly Member[]): void {
  if (members.some(({ isRunning }) => isRunning)) return;
  const logs = members.flatMap(({ name, stdout, stderr }) => [`member ${name} has ended:`, ...stdout, ...stderr]);
  throw new Error(logs.join('\n'));
}

/**
 * The first member leads; the others join it with empty directories (data/docs/cluster.md).
 * @param env HISTORY_DIR is a folder with one for each member, by its name
 * @param lines the network of a member, by its name, to the servers of `JOURNAL_URL`
 * @param directories of members, by their names, that have one already
 */
export async function startCluster(
  scope: Scope,
  names: readonly string[],
  env: Environment = {},
  lines: Readonly<Record<string, LogLine>> = {},
  directories: Readonly<Record<string, string>> = {},
): Promise<Cluster> {
  const url = env['JOURNAL_URL'] ?? (await (await sharedPostgres()).database());
  const members: Member[] = [];
  for (const name of names) {
    const port = String(await freePort());
    const own = { PORT: port, MEMBER_NAME: name, DATA_DIR: '' };
    const shared = {
      JOURNAL: 'postgres',
      JOURNAL_URL: url,
      JOURNAL_UNSYNCED: 'on',
      MASTER_KEY,
      SHARDS: String(SHARDS),
    };
    const history = env['HISTORY_DIR'] === undefined ? {} : { HISTORY_DIR: join(env['HISTORY_DIR'], name) };
    const member = new Member(
      name,
      { ...shared, ...own, ...env, ...history },
      directories[name] ?? temporaryDirectory(),
    );
    const line = lines[name];
    if (line !== undefined) member.env['JOURNAL_URL'] = throughLine(url, line);
    member.env['DATA_DIR'] = member.dataDir;
    scope.after(() => member.kill());
    members.push(member);
  }
  const cluster = new Cluster(scope, members);
  const shown = url === '' ? readFileSync(env['JOURNAL_URL_FILE']!, 'utf8').trim() : url;
  const isKept = await foundNew(shown, env['CLUSTER_NAME'] ?? 'exchange').then(
    () => false,
    (error: Error) => error.message === 'there is a log already' || Promise.reject(error),
  );
  // A log that a test brings was restored: no member leads it before all have said what they have seen.
  const first = isKept ? members : members.slice(0, 1);
  await Promise.all(first.map((member) => member.begin()));
  await cluster.awaitLeader(first);
  for (const member of cluster.standbys) {
    if (!isKept) await member.begin();
    await cluster.awaitStandby(member);
  }
  return cluster;
}

/** The URL of the same log through the addresses of the line. */
function throughLine(url: string, { ports }: LogLine): string {
  let server = 0;
  return url.replaceAll(/127\.0\.0\.1:\d+/g, () => `127.0.0.1:${ports[server++]}`);
}
