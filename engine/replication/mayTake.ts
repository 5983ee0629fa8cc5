/**
 * A member may take the lead in the database that it finds, or waits. A run of a database begins with a start of its
 * server, or with a promotion. On the run on which the log was last led the log has everything that was held. Another
 * run may be that of a backup, or of a server that lagged, and a member that has not followed up to the end cannot know
 * that by itself: what it has seen is there. So it asks all others, by what they have noted in that database.
 * Owner: the replication thread.
 *
 *   the log was last led on this run ───────────────────────► it may
 *   enough servers of the database have gone on ────────────► it may (serverStarts.ts)
 *   every other member has found there what it has seen ────► it may
 *   one was refused, or has not answered ───────────────────► it waits, and an operator may decide
 *   the log has nothing, and was founded on another run ────► it waits for an operator
 *
 * Invariants:
 *   MAYTAKE-1  No member leads in a database that lacks what another one has seen, unless an operator has given that
 *              one up: each of them has answered, or the servers show that nothing is missing.
 *   MAYTAKE-2  A leader goes on on another run only where the servers show that nothing is missing: it may have had a
 *              successor without knowing it, whose lead the database has lost. Otherwise its process ends, and begins
 *              anew as one of those that ask.
 */
import { LEASE_MS } from '../../shared/wire/replication.ts';
import { NotAMemberError, type ReplicatedLog, type Runs } from './log.ts';
import type { Timing } from './timing.ts';

/** Between two looks at what others have noted. */
const LOOK_MS = 200;
/** Between two notes of the servers of the database. */
const NOTE_MS = 10_000;

/** Of a log that has nothing. */
export const NOT_BEGUN =
  'the log has no row, and the database was started, promoted or restored since it was founded: what it had may be ' +
  'lost. Start a member that has files; where there never was one, `npm run admin -- cluster found --new` once ' +
  'more (data/docs/cluster.md)';

type Own = { readonly log: string; readonly members: readonly string[] };

export class MayTake {
  /** Why this member does not take the lead that has ended; null: it may, or there is none to take. */
  problem: string | null = null;
  /** The last run of the database on which everything was found that this member has seen. */
  foundOn = '';
  #foundMs = 0;
  #notedMs = 0;
  readonly #log: Pick<ReplicatedLog, 'runs'>;
  readonly #timing: Pick<Timing, 'nowMs'>;
  #nextMs = 0;

  constructor(log: Pick<ReplicatedLog, 'runs'>, timing: Pick<Timing, 'nowMs'>) {
    this.#log = log;
    this.#timing = timing;
  }

  /** Everything was found on this run. @returns true for another one, of which the others learn at once (MAYTAKE-1) */
  find(run: string): boolean {
    const nowMs = this.#timing.nowMs();
    const isOther = run !== this.foundOn;
    if (isOther) this.#foundMs = nowMs;
    this.foundOn = run;
    if (!isOther && nowMs - this.#notedMs < NOTE_MS) return false;
    this.#notedMs = nowMs;
    // A server that is gone takes its time.
    void this.#log.runs.note().catch(() => {});
    return isOther;
  }

  /** True where a lease that has not ended was renewed on this run. */
  get isRenewed(): boolean {
    return this.#timing.nowMs() - this.#foundMs > 2 * LEASE_MS;
  }

  /**
   * @param own of this member: the log that its files are of, and the members that it knows.
   * @returns the run on which it may; null: on none now
   */
  async run(own: Own | null): Promise<string | null> {
    if (this.#timing.nowMs() < this.#nextMs) return null;
    this.#nextMs = this.#timing.nowMs() + LOOK_MS;
    const runs = await this.#log.runs.find(own?.members ?? []);
    // It was made anew under the running process, which has seen no row of the one before.
    if (own !== null && runs.id !== own.log) throw new NotAMemberError(`the database has another log than ${own.log}`);
    const mayTake = isLedOn(runs) || haveAllAnswered(runs) || (await this.#log.runs.haveAllOf(runs));
    this.problem = mayTake ? null : problemOf(runs);
    if (mayTake) this.#nextMs = 0;
    return mayTake ? runs.run : null;
  }
}

/** True where the database is shown to have everything that was held, whatever its run. @param known other members */
export async function isWhole(runs: ReplicatedLog['runs'], known: readonly string[]): Promise<boolean> {
  const found = await runs.find(known);
  return found.ledOn === found.run || haveAllAnswered(found) || (await runs.haveAllOf(found));
}

/** Older versions note no run. */
function isLedOn({ run, ledOn }: Runs): boolean {
  return ledOn === run || ledOn === '';
}

/** A log that no one has begun knows no member: it may have been set back to before its first row. */
function haveAllAnswered({ silent, refused, isBegun }: Runs): boolean {
  return isBegun && silent.length === 0 && refused.length === 0;
}

function problemOf({ silent, refused, isBegun }: Runs): string {
  if (!isBegun) return NOT_BEGUN;
  const why = [
    ...refused.map((name) => `${name} is refused here, and may have what this log lacks`),
    ...silent.map((name) => `${name} has not said whether this log has all that it has seen`),
  ];
  return (
    'this member waits with the lead: the database was started, promoted or restored since the log was last led. ' +
    `${why.join('; ')}. Start each of them, or give one up with admin cluster leave (data/docs/disasters.md)`
  );
}
