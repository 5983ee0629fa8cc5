/**
 * Random faults of the members of a cluster, of their networks and of the database of the log, two at a time, while
 * clients trade; after each pair everything is well again for a moment, and everything acknowledged is there.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/day.test.ts
 *     SOAK=on DAY_MINUTES=30 SEED=7 node shared/run.mjs --test test/cluster/day.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster } from '../support/cluster.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_127);
const MINUTES = Number(process.env['DAY_MINUTES'] ?? timesOf({ suite: 0, soak: 3 }));
const COMMANDS = 100;
const NAMES = ['a', 'b', 'c'] as const;
const MOST_FAULT_MS = 5000;
const skip = NO_POSTGRES || (MINUTES === 0 && 'only with SOAK=on: it takes minutes');

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Postgres = Awaited<ReturnType<typeof startPostgres>>;
type Lines = Readonly<Record<string, LogLine>>;

/** A fault, and what ends it. */
type Fault = {
  readonly name: string;
  readonly begin: () => Promise<void> | void;
  readonly end: () => Promise<void> | void;
};

const nothing = (): void => {};

class Day {
  readonly #cluster: Cluster;
  readonly #postgres: Postgres;
  readonly #lines: Lines;
  readonly #random: () => number;

  constructor(cluster: Cluster, postgres: Postgres, lines: Lines, random: () => number) {
    this.#cluster = cluster;
    this.#postgres = postgres;
    this.#lines = lines;
    this.#random = random;
  }

  /** One fault of a member and one of anything: of another member, of a network, or of the database. */
  pair(): readonly [Fault, Fault] {
    const { leader, members, standbys } = this.#cluster;
    const victim = this.#random() < 0.7 ? leader : this.#one(standbys);
    const other = this.#one(members.filter((member) => member !== victim));
    const first = this.#one([...this.#ofMember(victim), ...this.#ofLine(victim.name)]);
    return [first, this.#one([...this.#ofMember(other), ...this.#ofLine(other.name), ...this.#ofDatabase()])];
  }

  durationMs(): number {
    return MOST_FAULT_MS * this.#random() ** 2;
  }

  /** The state of each member, for a failure report. */
  states(): readonly string[] {
    return this.#cluster.members.map((member) => member.describe());
  }

  /** Whoever has ended begins again. */
  async recover(): Promise<void> {
    for (const line of Object.values(this.#lines)) line.heal();
    await this.#cluster.recover();
  }

  #ofMember(member: Cluster['leader']): Fault[] {
    return [
      { name: `kill ${member.name}`, begin: () => member.kill(), end: nothing },
      {
        name: `hang ${member.name}`,
        begin: () => this.#signal(member, 'SIGSTOP'),
        end: () => this.#signal(member, 'SIGCONT'),
      },
    ];
  }

  #ofLine(name: string): Fault[] {
    const line = this.#lines[name]!;
    const of = (what: string, begin: () => void): Fault => ({
      name: `${name}: ${what}`,
      begin,
      end: () => line.heal(),
    });
    return [
      of('nothing gets through', () => line.lose('toLog', 'toMember')),
      of('nothing gets to the log', () => line.lose('toLog')),
      of('nothing gets back', () => line.lose('toMember')),
      of('connections end', () => line.cut()),
      of('connections are reset at appends', () => line.resetAtAppends(3)),
      of('pieces are late', () => {
        line.delayMs = () => 300 * this.#random() ** 3;
      }),
    ];
  }

  #ofDatabase(): Fault[] {
    const postgres = this.#postgres;
    const standby = this.#one(postgres.standbys);
    return [
      { name: `hang ${standby.name}`, begin: () => standby.hang(), end: () => standby.goOn() },
      { name: `kill ${standby.name}`, begin: () => standby.stop('SIGKILL'), end: () => standby.start() },
      {
        name: 'hang both standbys of the database',
        begin: () => {
          for (const each of postgres.standbys) each.hang();
        },
        end: () => {
          for (const each of postgres.standbys) each.goOn();
        },
      },
      this.#promotion(),
    ];
  }

  #promotion(): Fault {
    const postgres = this.#postgres;
    const former = postgres.primary;
    return {
      name: `kill ${former.name}, the primary, and promote another`,
      begin: () => postgres.promote(),
      end: () => postgres.rejoin(former),
    };
  }

  #signal({ pid }: Cluster['leader'], signal: NodeJS.Signals): void {
    if (pid !== undefined) process.kill(pid, signal);
  }

  #one<T>(of: readonly T[]): T {
    return of[Math.floor(this.#random() * of.length)]!;
  }
}

test(`${MINUTES} minutes of faults, two at a time (SEED=${SEED})`, { skip }, async (t) => {
  const random = seededRandom(SEED);
  const postgres = await startPostgres(t);
  const ports = Object.values(postgres.nodes).map(({ port }) => port);
  const lines: Record<string, LogLine> = {};
  for (const name of NAMES) lines[name] = await LogLine.start(t, ports);
  const cluster = await startCluster(t, NAMES, { JOURNAL_URL: await postgres.database() }, lines);
  const witness = await Witness.create(cluster, SEED);
  const day = new Day(cluster, postgres, lines, random);
  const endMs = performance.now() + MINUTES * 60_000;
  for (let round = 1; round === 1 || performance.now() < endMs; round++) {
    const [first, second] = day.pair();
    const apartMs = day.durationMs();
    const holdMs = day.durationMs();
    const names = `${first.name}; after ${apartMs.toFixed()} ms ${second.name}; for ${holdMs.toFixed()} ms`;
    t.diagnostic(`SEED=${SEED}, round ${round}: ${names}`);
    const trading = witness.trade({ commands: COMMANDS, mayHang: true });
    await first.begin();
    await sleep(apartMs);
    await second.begin();
    await sleep(holdMs);
    await Promise.all([first.end(), second.end()]);
    await trading;
    await day.recover();
    await witness.check().catch((error: Error) => {
      // A member that has ended is the cause of a connection that failed, and `fetch` says neither.
      throw new Error([`${error} ${error.cause ?? ''}`, ...day.states()].join('\n'), { cause: error });
    });
  }
  assert.ok(cluster.members.every((member) => member.isRunning));
  const printed = cluster.members.flatMap(({ stdout }) => stdout);
  assert.deepEqual(
    printed.filter((line) => line.includes('do not agree with the log')),
    [],
    'no fault makes a member believe that its files and the log disagree',
  );
});
