/**
 * The current role of this member of a cluster, and what its answers say about it (RULES.md 18.4 to 18.6).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   ROLE-1  A member carries out changes only as the leader, and only while the log takes rows.
 *   ROLE-2  A standby shows at least everything that the log held at `asOfMs`: every row up to the end of the log read
 *           then is applied. An answer says how stale this was when its request came, even if the state or the role has
 *           changed before the answer.
 *   ROLE-3  Requests that another member has accepted were signed until `signedUntilMs`, unless they were signed ahead
 *           of that member's clock: if a request changed something, its row came here later, and in any case that
 *           member had the lease.
 *   ROLE-4  If the lease was not renewed for as long as it lasts, another member may lead. Until it is renewed, a
 *           leader carries out no changes, and reports the age of its last renewal as its staleness: rows that the log
 *           held when the renewal was sent were answered before.
 */
import type { RoleFields } from '../../shared/api/platform.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Replication } from '../../shared/wire/replication.ts';
import type { ReplicationStatus } from '../../shared/wire/threads.ts';
import type { PastAge } from './pastAge.ts';
import type { Refusal } from './refusal.ts';
import type { Role } from './role.ts';
import { ShownRole, type ShownRoleBuffers } from './shownRole.ts';

/** A standby that is more stale than this should not serve reads. */
const MOST_STALE_MS = 10_000;
/** Clocks of members differ by less than this. */
const CLOCKS_APART_MS = 500;
const LOG_STALLED: Refusal = { row: ERRORS.ENGINE_BUSY };

type KnownLeader = Readonly<{ holder: string; address: string; epoch: number }>;

export class MemberRole implements Role {
  /** Buffers for the fronts, which report the role too. */
  readonly buffers: ShownRoleBuffers;
  /** Age of read.db; null before this member follows. */
  past: PastAge | null = null;
  /** The state of the log as the replication thread last reported it. */
  status: ReplicationStatus | null = null;
  readonly #memory: Pick<Replication, 'state' | 'epoch' | 'renewedMs'>;
  readonly #clock: Clock;
  readonly #shown: ShownRole;
  #leader: KnownLeader | null = null;
  #changedMs = 0;

  /** @param ages the clock for `asOfMs` and for renewals; unlike the system's clock it is never set back */
  constructor(memory: Pick<Replication, 'buffer' | 'state' | 'epoch' | 'renewedMs'>, clock: Clock, ages: Clock) {
    this.#memory = memory;
    this.#clock = clock;
    this.buffers = { role: ShownRole.create(), replication: memory.buffer };
    this.#shown = new ShownRole(this.buffers.role, memory, ages);
  }

  /** The leader by the log; null while no member leads. */
  get leader(): KnownLeader | null {
    return this.#leader;
  }

  set leader(leader: KnownLeader | null) {
    this.#leader = leader;
    this.#shown.leaderAddress = leader?.address ?? null;
  }

  /** ROLE-2. Null before this member has caught up for the first time, and once it leads. */
  get asOfMs(): number | null {
    return this.#shown.asOfMs;
  }

  set asOfMs(asOfMs: number | null) {
    this.#shown.asOfMs = asOfMs;
    if (asOfMs !== null) this.past?.see(asOfMs);
  }

  get pastAsOfMs(): number | null {
    return this.isLeading ? null : (this.past?.asOfMs ?? null);
  }

  get name(): 'leader' | 'standby' {
    return this.isLeading ? 'leader' : 'standby';
  }

  get isLeading(): boolean {
    return this.#shown.isLeading;
  }

  get epoch(): number {
    return this.#memory.epoch();
  }

  /** True while this member leads and, as far as it knows, the log takes no rows. */
  get isStalled(): boolean {
    return this.isLeading && (this.#memory.state() === 'stalled' || this.staleMs !== null);
  }

  /** Null for a leader whose lease has not ended, and before this member has caught up for the first time. */
  get staleMs(): number | null {
    return this.#shown.staleMs;
  }

  /** The fields of /ready and /health that describe a cluster (RULES.md 18.4). */
  get fields(): RoleFields {
    const { name, staleMs } = this;
    return { role: name, ...(staleMs === null ? {} : { stale_ms: staleMs }) };
  }

  /** Why the files of this member do not agree with the log; null if no difference was seen. */
  get filesProblem(): string | null {
    return this.status?.filesProblem || null;
  }

  /** Returns why this member should get no requests at present, or null. */
  get problem(): string | null {
    if (this.isStalled) return 'the replicated log takes no rows';
    if (this.filesProblem !== null) return this.filesProblem;
    return (this.staleMs ?? 0) > MOST_STALE_MS ? 'the replicated log is not confirmed to be up to date' : null;
  }

  /** ROLE-3. */
  get signedUntilMs(): number {
    return this.#changedMs + CLOCKS_APART_MS;
  }

  /** A change of another member has come, or the first changes are about to. */
  noteChange(): void {
    this.#changedMs = this.#clock.nowMs();
  }

  /** Another member led until this time at the latest, by this member's clock. */
  noteFormerLead(untilMs: number): void {
    this.#changedMs = Math.max(this.#changedMs, untilMs);
  }

  /** From now on this member carries out changes. */
  lead(): void {
    this.#shown.lead();
  }

  lines(asOfMs: number | null): string {
    return this.#shown.lines(asOfMs);
  }

  /** ROLE-1. */
  changeRefusal(): Refusal | null {
    if (!this.isLeading) {
      return { row: ERRORS.NOT_MATCHING_LEADER, details: { leader: this.leader?.address ?? null } };
    }
    return this.#memory.state() === 'leader' && this.staleMs === null ? null : LOG_STALLED;
  }
}
