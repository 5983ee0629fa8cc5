/**
 * Decides whether a member may take the lead in the database that it finds, or has to wait. A run of a database begins
 * with a start or a promotion of its server. On the run on which the log was last led, the log has everything that was
 * held. Another run may come from a backup or from a server that lagged. A member that has not followed to the end
 * cannot notice this by itself, because everything that it has seen is there. So it consults what all other members
 * have noted in that database. Owner: the replication thread.
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

/** Time between two reads of what other members have noted. */
const LOOK_MS = 200;
/** Between two notes of the servers of the database. */
const NOTE_MS = 10_000;

/** The problem of a log that has no rows. */
export const NOT_BEGUN =
  'the log has no row, and the database was started, promoted or restored since it was founded: what it had may be ' +
  'lost. Start a member that has files; where there never was one, `npm run admin -- cluster found --new` once ' +
  'more (data/docs/cluster.md)';

type Own = { readonly log: string; readonly members: readonly string[] };

export class MayTake {
  /** Why this member does not take a lead that has ended; null if it may, or there is none to take. */
  problem: string | null = null;
  /** The last database run on which everything that this member has seen was found. */
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

  /**
   * Everything was found on this run.
   * @returns true if the run is new; the other members are informed at once (MAYTAKE-1)
   */
  find(run: string): boolean {
    const nowMs = this.#timing.nowMs();
    const isOther = run !== this.foundOn;
    if (isOther) this.#foundMs = nowMs;
    this.foundOn = run;
    if (!isOther && nowMs - this.#notedMs < NOTE_MS) return false;
    this.#notedMs = nowMs;
    // A server that is gone takes a while to answer.
    void this.#log.runs.note().catch(() => {});
    return isOther;
  }

  /** True if a lease that has not ended was renewed on this run. */
  get isRenewed(): boolean {
    return this.#timing.nowMs() - this.#foundMs > 2 * LEASE_MS;
  }

  /**
   * @param own this member's log, and the members it knows.
   * @returns the run on which it may lead; null if on none now
   */
  async run(own: Own | null): Promise<string | null> {
    if (this.#timing.nowMs() < this.#nextMs) return null;
    this.#nextMs = this.#timing.nowMs() + LOOK_MS;
    const runs = await this.#log.runs.find(own?.members ?? []);
    // The log was created anew under the running process, which has seen rows only of the old one.
    if (own !== null && runs.id !== own.log) throw new NotAMemberError(`the database has another log than ${own.log}`);
    const mayTake = isLedOn(runs) || haveAllAnswered(runs) || (await this.#log.runs.haveAllOf(runs));
    this.problem = mayTake ? null : problemOf(runs);
    if (mayTake) this.#nextMs = 0;
    return mayTake ? runs.run : null;
  }
}

/** True if the database is shown to have everything that was held, whatever its run. @param known other members */
export async function isWhole(runs: ReplicatedLog['runs'], known: readonly string[]): Promise<boolean> {
  const found = await runs.find(known);
  return found.ledOn === found.run || haveAllAnswered(found) || (await runs.haveAllOf(found));
}

/** Older versions note no run. */
function isLedOn({ run, ledOn }: Runs): boolean {
  return ledOn === run || ledOn === '';
}

/** A log that no member has begun knows no members: it may have been set back to before its first row. */
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
