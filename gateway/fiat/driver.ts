/**
 * Advances open sessions: polls providers, checks the rail, and applies time limits. No session waits for another: each
 * has its own schedule, and a hanging provider occupies only its own calls. Owner: the gateway thread.
 *
 * Invariants:
 *   DRIVER-1  A session has at most one poll and one check of the rail under way.
 *   DRIVER-2  At most MAX_POLLS calls of one provider and MAX_LOOKS looks at the rail are under way; a call ends after
 *             POLL_MS.
 *   DRIVER-3  A failure changes no session. It is retried with a pause that doubles up to SLOWEST_MS.
 *   DRIVER-4  An event of a provider only brings the next poll forward. It is processed once that is durable.
 *   DRIVER-5  A turn visits at most WALKED_A_TURN sessions; successive turns visit every open one.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { type FiatChanges, isOver } from './changes.ts';
import type { FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { FiatWebhooks } from './fiatWebhooksStore.ts';
import type { OffRamps } from './offramp.ts';
import type { OnRamps } from './onramp.ts';
import type { FiatProvider, ProviderTransaction } from './provider.ts';
import type { Settlement } from './settlement.ts';
import { STATED } from './transferStates.ts';

type DriverOptions = {
  readonly sessions: FiatSessions;
  readonly webhooks: FiatWebhooks;
  readonly providers: ReadonlyMap<string, FiatProvider>;
  readonly changes: FiatChanges;
  readonly onRamps: OnRamps;
  readonly offRamps: OffRamps;
  readonly settlement: Settlement;
  /** Time between two checks of the rail for the same session. */
  readonly lookPauseMs: number;
  readonly clock: Clock;
  /** Called with what has failed, for the log; the error names no secret. */
  readonly onFailure: (what: 'provider' | 'rail' | 'store', name: string, error: unknown) => void;
};

/** The times of a session's next poll and next check. */
type Schedule = {
  pollMs: number;
  pollFailures: number;
  isPolling: boolean;
  lookMs: number;
  lookFailures: number;
  isLooking: boolean;
  /** The last time that a person or a provider reported activity. */
  hintMs: number;
};

type Waiting = { readonly session: FiatSession; readonly schedule: Schedule };

const MAX_POLLS = 16;
const MAX_LOOKS = 64;
const POLL_MS = 10_000;
const SLOWEST_MS = 60_000;
/** After a hint, a session is asked about often, then less so. */
const PAUSES = [
  { untilMs: 120_000, pauseMs: 2000 },
  { untilMs: 600_000, pauseMs: 5000 },
  { untilMs: Number.POSITIVE_INFINITY, pauseMs: 30_000 },
];
/** Time between two polls of an ended session, while a late success could still arrive. */
const LATE_PAUSE_MS = 600_000;
/** An ended session is watched this long for a late success. */
const LATE_MS = 86_400_000;
const FINAL_LOOK_PAUSE_MS = 30_000;
const SWEEP_MS = 60_000;
/** Anyone may have twenty sessions under way. */
const WALKED_A_TURN = 256;

export class FiatDriver {
  readonly #options: DriverOptions;
  readonly #schedules = new Map<string, Schedule>();
  readonly #polls = new Map<string, number>();
  #looks = 0;
  #walk: Iterator<FiatSession, undefined> | null = null;
  #sweepMs = 0;
  #isStopped = false;

  constructor(options: DriverOptions) {
    this.#options = options;
  }

  get pollsUnderWay(): number {
    return [...this.#polls.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Called several times a second. */
  tick(): void {
    const { clock, onFailure } = this.#options;
    if (this.#isStopped) return;
    const nowMs = clock.nowMs();
    try {
      this.#takeEvents(nowMs);
      const open = this.#nextOpen().filter((session) => this.#isLeftOpen(session, nowMs));
      const waiting = open.map((session) => ({ session, schedule: this.#scheduleOf(session, nowMs) }));
      for (const { session, schedule } of dueFirst(waiting, nowMs, 'pollMs')) void this.#poll(session, schedule);
      for (const { session, schedule } of dueFirst(waiting, nowMs, 'lookMs')) void this.#look(session, schedule);
    } catch (error) {
      // The disk is full: everything is found again when there is room.
      onFailure('store', 'control.db', error);
    }
  }

  /** DRIVER-5: all sessions if they are few, otherwise the next ones after the previous turn's. */
  #nextOpen(): FiatSession[] {
    this.#walk ??= this.#options.sessions.open();
    const next: FiatSession[] = [];
    while (next.length < WALKED_A_TURN) {
      const { done, value } = this.#walk.next();
      if (done) {
        this.#walk = null;
        break;
      }
      next.push(value);
    }
    return next;
  }

  #isLeftOpen(session: FiatSession, nowMs: number): boolean {
    this.#expire(session, nowMs);
    return !this.#closes(session, nowMs);
  }

  /** A report that something has happened: the provider is polled soon, even about an ended session. */
  hint({ id }: FiatSession): void {
    const { sessions, clock } = this.#options;
    // Another request may have opened it again: then there is one object for it (FIATROWS-3).
    const session = sessions.find(id)!;
    if (session.isOpen === 0) sessions.change(session, { isOpen: 1 });
    const schedule = this.#scheduleOf(session, clock.nowMs());
    schedule.hintMs = clock.nowMs();
    schedule.pollMs = schedule.hintMs;
  }

  /** A person is looking at the session, so its data should be recent. */
  watched(session: FiatSession): void {
    const schedule = this.#schedules.get(session.id);
    if (schedule === undefined || schedule.pollFailures > 0) return;
    schedule.hintMs = this.#options.clock.nowMs();
    schedule.pollMs = Math.min(schedule.pollMs, schedule.hintMs + PAUSES[0].pauseMs);
  }

  /** Looks at the rail at once. */
  advance(session: FiatSession): void {
    void this.#look(session, this.#scheduleOf(session, this.#options.clock.nowMs()));
  }

  /** Starts no further work. */
  stop(): void {
    this.#isStopped = true;
  }

  async #poll(session: FiatSession, schedule: Schedule): Promise<void> {
    const { providers, clock, onRamps, offRamps, onFailure } = this.#options;
    const provider = providers.get(session.provider);
    const underWay = this.#polls.get(session.provider) ?? 0;
    if (provider === undefined || schedule.isPolling || underWay >= MAX_POLLS) return;
    schedule.isPolling = true;
    this.#polls.set(session.provider, underWay + 1);
    schedule.pollMs = Number.POSITIVE_INFINITY;
    try {
      const { partnerReference, kind } = session;
      const signal = AbortSignal.timeout(POLL_MS);
      const rows = (await provider.listTransactions(partnerReference, kind, signal)).map(inLowerCase);
      if (session.kind === 'onramp') onRamps.observe(session, rows);
      else await offRamps.observe(session, rows);
      schedule.pollFailures = 0;
      schedule.lookMs = 0;
    } catch (error) {
      schedule.pollFailures++;
      onFailure('provider', session.provider, error);
    } finally {
      schedule.isPolling = false;
      this.#polls.set(session.provider, this.#polls.get(session.provider)! - 1);
      const nowMs = clock.nowMs();
      const pauseMs =
        schedule.pollFailures > 0 ? backoff(2000, schedule.pollFailures) : pauseOf(session, schedule, nowMs);
      // A hint that came meanwhile counts.
      schedule.pollMs = Math.min(schedule.pollMs, nowMs + pauseMs);
    }
  }

  async #look(session: FiatSession, schedule: Schedule): Promise<void> {
    const { onRamps, settlement, lookPauseMs, clock, onFailure } = this.#options;
    if (!hasLook(session) || schedule.isLooking || this.#looks >= MAX_LOOKS) return;
    schedule.isLooking = true;
    this.#looks++;
    try {
      if (session.kind === 'onramp') await onRamps.advance(session);
      else await settlement.advance(session);
      schedule.lookFailures = 0;
    } catch (error) {
      schedule.lookFailures++;
      onFailure('rail', 'rail', error);
    } finally {
      this.#looks--;
      schedule.isLooking = false;
      const isFinal = session.transferState === 'confirmed' || session.errorCause !== null;
      const pauseMs = isFinal && session.errorCause !== 'broadcast_refused' ? FINAL_LOOK_PAUSE_MS : lookPauseMs;
      const failedMs = schedule.lookFailures > 0 ? backoff(lookPauseMs, schedule.lookFailures) : pauseMs;
      schedule.lookMs = clock.nowMs() + failedMs;
    }
  }

  /** DRIVER-4 */
  #takeEvents(nowMs: number): void {
    const { webhooks, sessions } = this.#options;
    for (const event of webhooks.waiting()) {
      const session = sessions.ofReference(event.partnerReference);
      if (session?.provider === event.provider) this.hint(session);
      webhooks.processed(event, nowMs);
    }
    if (nowMs < this.#sweepMs) return;
    this.#sweepMs = nowMs + SWEEP_MS;
    webhooks.sweep(nowMs);
  }

  #expire(session: FiatSession, nowMs: number): void {
    const { changes, onRamps } = this.#options;
    if (nowMs < session.expiresMs) return;
    if (session.kind === 'onramp') {
      onRamps.expire(session);
      return;
    }
    if (session.errorCause === 'provider_mismatched') changes.trigger(session, 'cause_gone', { expired: true });
    const patch = { status: 'expired', failureCode: session.failureCode ?? 'expired' } as const;
    changes.trigger(session, 'ended_unsigned', { expires_ms: session.expiresMs }, { patch });
  }

  /** True for a session that can no longer change. */
  #closes(session: FiatSession, nowMs: number): boolean {
    const isSettled = session.transferState === null || ['complete', 'expired'].includes(session.transferState);
    const isRefunded = session.errorCause === 'provider_failed' && session.providerStatus === 'refunded';
    if (!isOver(session.status) || !(isSettled || isRefunded)) return false;
    const schedule = this.#schedules.get(session.id);
    const isHinted = schedule !== undefined && (schedule.isPolling || nowMs - schedule.hintMs < SLOWEST_MS);
    const isWatched = session.providerTransactionId !== null && nowMs - session.updatedMs < LATE_MS;
    if (session.status !== 'completed' && (isHinted || isWatched)) return false;
    this.#options.sessions.change(session, { isOpen: 0 });
    this.#schedules.delete(session.id);
    return true;
  }

  #scheduleOf(session: FiatSession, nowMs: number): Schedule {
    const known = this.#schedules.get(session.id);
    if (known !== undefined) return known;
    const schedule: Schedule = {
      pollMs: nowMs,
      pollFailures: 0,
      isPolling: false,
      lookMs: nowMs,
      lookFailures: 0,
      isLooking: false,
      hintMs: session.createdMs,
    };
    this.#schedules.set(session.id, schedule);
    return schedule;
  }
}

/** The sessions that are due, the longest waiting first, so that each gets its turn if there are more than slots. */
function dueFirst(waiting: readonly Waiting[], nowMs: number, time: 'pollMs' | 'lookMs'): Waiting[] {
  const due = waiting.filter(
    ({ session, schedule }) => nowMs >= schedule[time] && (time === 'pollMs' || hasLook(session)),
  );
  return due.sort((a, b) => a.schedule[time] - b.schedule[time]);
}

/** True if the rail may have news about the session. */
function hasLook({ kind, txHash, status, transferState }: FiatSession): boolean {
  if (kind === 'onramp') return txHash !== null && status !== 'completed';
  return transferState !== null && STATED[transferState].isLookedAt;
}

/** Hashes and addresses are compared as the rail writes them. */
function inLowerCase(row: ProviderTransaction): ProviderTransaction {
  const lower = (hex: string | null): string | null => hex?.toLowerCase() ?? null;
  return { ...row, toAddress: lower(row.toAddress), fromAddress: lower(row.fromAddress), txHash: lower(row.txHash) };
}

function pauseOf({ status }: FiatSession, { hintMs }: Schedule, nowMs: number): number {
  if (isOver(status)) return LATE_PAUSE_MS;
  return PAUSES.find(({ untilMs }) => nowMs - hintMs < untilMs)!.pauseMs;
}

function backoff(firstMs: number, failures: number): number {
  return Math.min(firstMs * 2 ** Math.min(failures - 1, 10), SLOWEST_MS);
}
