/**
 * The role of this member of a cluster at the moment, and what its answers say of it (RULES.md 18.4 to 18.6).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   ROLE-1  A member carries out changes only as the leader, and only while the log takes rows.
 *   ROLE-2  What a standby shows is at least what the log held at `asOfMs`: everything up to the end that was read then
 *           has been applied. An answer says how stale that was when its call came, also where another state, or
 *           another role, has come before the answer.
 *   ROLE-3  What another member has accepted was signed until `signedUntilMs`, unless it was signed ahead of that
 *           member's clock: if it changed something its row came here later, and in any case that member had the lease.
 *   ROLE-4  While another member may lead, because the lease has not been renewed for as long as it lasts, a leader
 *           carries out no changes, and says that it may be as stale as its last renewal is old: the rows that the log
 *           held when that was sent were answered before it.
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

/** A standby that is staler than this is no place for reads. */
const MOST_STALE_MS = 10_000;
/** Clocks of members are closer to each other than this. */
const CLOCKS_APART_MS = 500;
const LOG_STALLED: Refusal = { row: ERRORS.ENGINE_BUSY };

type KnownLeader = Readonly<{ holder: string; address: string; epoch: number }>;

export class MemberRole implements Role {
  /** For the fronts, which say it as well. */
  readonly buffers: ShownRoleBuffers;
  /** Of read.db; null before this member follows. */
  past: PastAge | null = null;
  /** The state of the log as the replication thread last reported it. */
  status: ReplicationStatus | null = null;
  readonly #memory: Pick<Replication, 'state' | 'epoch' | 'renewedMs'>;
  readonly #clock: Clock;
  readonly #shown: ShownRole;
  #leader: KnownLeader | null = null;
  #changedMs = 0;

  /** @param ages the clock of `asOfMs` and of renewals, which is not set back as that of the system may be */
  constructor(memory: Pick<Replication, 'buffer' | 'state' | 'epoch' | 'renewedMs'>, clock: Clock, ages: Clock) {
    this.#memory = memory;
    this.#clock = clock;
    this.buffers = { role: ShownRole.create(), replication: memory.buffer };
    this.#shown = new ShownRole(this.buffers.role, memory, ages);
  }

  /** As the log says it; null while no member leads. */
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

  /** True while this member leads and the log takes no rows, as far as is known. */
  get isStalled(): boolean {
    return this.isLeading && (this.#memory.state() === 'stalled' || this.staleMs !== null);
  }

  /** Null for a leader whose lease has not ended, and before this member has caught up for the first time. */
  get staleMs(): number | null {
    return this.#shown.staleMs;
  }

  /** The members of /ready and /health by which a cluster is known (RULES.md 18.4). */
  get fields(): RoleFields {
    const { name, staleMs } = this;
    return { role: name, ...(staleMs === null ? {} : { stale_ms: staleMs }) };
  }

  /** Why the files of this member do not agree with the log; null: they do, as far as was seen. */
  get filesProblem(): string | null {
    return this.status?.filesProblem || null;
  }

  /** The reason why this member is no place for requests at present, or null. */
  get problem(): string | null {
    if (this.isStalled) return 'the replicated log takes no rows';
    if (this.filesProblem !== null) return this.filesProblem;
    return (this.staleMs ?? 0) > MOST_STALE_MS ? 'the replicated log is not confirmed to be up to date' : null;
  }

  /** ROLE-3. */
  get signedUntilMs(): number {
    return this.#changedMs + CLOCKS_APART_MS;
  }

  /** A change of another member has come, or the first ones are about to. */
  noteChange(): void {
    this.#changedMs = this.#clock.nowMs();
  }

  /** Another member has led until then at the latest, by the clock of this one. */
  noteFormerLead(untilMs: number): void {
    this.#changedMs = Math.max(this.#changedMs, untilMs);
  }

  /** From now on changes are carried out here. */
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
