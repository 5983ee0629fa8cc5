/**
 * The only code that changes sessions: by a trigger of the machine or by a further status, each with its cause and
 * evidence. A change that the tables do not allow has no effect. Owner: the gateway thread.
 *
 * Invariants:
 *   FIATCHANGES-1  The status of a session only goes forward, by rank. The one exception: a provider's success counts
 *                  even after the session's end, and raises an `alarm` for an operator.
 */
import { FIAT_STATUSES, type FiatStatus } from '../../shared/api/fiat.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { FiatPatch, FiatSession, FiatSessions, FiatTransition } from './fiatSessionsStore.ts';
import { stepOn, type Trigger } from './machine.ts';
import { STATED } from './transferStates.ts';

type Evidence = Readonly<Record<string, string | number | boolean | null | undefined>>;

type TriggerOptions = {
  /** Changes of the session besides those of the step. */
  readonly patch?: FiatPatch;
  /** Statements of other tables, for the same transaction. */
  readonly more?: () => void;
};

const ENDS: ReadonlySet<FiatStatus> = new Set(['completed', 'failed', 'expired', 'cancelled']);

export class FiatChanges {
  readonly #sessions: FiatSessions;
  readonly #clock: Clock;

  constructor(sessions: FiatSessions, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** MACHINE-1. @returns false if the trigger has no meaning in the session's state */
  trigger(session: FiatSession, on: Trigger, evidence: Evidence = {}, options: TriggerOptions = {}): boolean {
    const { patch = {}, more } = options;
    const from = session.transferState;
    if (from === null) return false;
    const step = stepOn(from, on, session.heldState);
    if (step === null) return false;
    const nowMs = this.#clock.nowMs();
    const isError = step.to === 'recoverable_error';
    const status = patch.status ?? STATED[step.to].status;
    const steps = [transition('transfer', from, step.to, on, evidence, nowMs)];
    const changed: FiatPatch = {
      ...patch,
      transferState: step.to,
      heldState: isError ? from : null,
      errorCause: isError ? on : null,
      alarm: step.isAlarm ? on : (patch.alarm ?? session.alarm),
      updatedMs: nowMs,
      status: session.status,
    };
    if (status !== null && mayFollow(session.status, status)) {
      steps.push(transition('status', session.status, status, on, {}, nowMs));
      changed.status = status;
      if (ENDS.has(session.status)) changed.alarm = 'late_success';
    }
    this.#sessions.change(session, changed, steps, more);
    return true;
  }

  /** FIATCHANGES-1. @returns false if the session has already reached that status */
  status(session: FiatSession, to: FiatStatus, cause: string, evidence: Evidence = {}, options: TriggerOptions = {}) {
    if (!mayFollow(session.status, to)) return false;
    const nowMs = this.#clock.nowMs();
    const isLate = ENDS.has(session.status);
    const changed = { ...options.patch, status: to, updatedMs: nowMs, ...(isLate ? { alarm: 'late_success' } : {}) };
    const steps = [transition('status', session.status, to, cause, evidence, nowMs)];
    this.#sessions.change(session, changed, steps, options.more);
    return true;
  }

  /** Records facts that are no step, such as the provider's last answer. */
  note(session: FiatSession, patch: FiatPatch): void {
    const isNew = Object.entries(patch).some(([name, value]) => session[name as keyof FiatPatch] !== value);
    if (isNew) this.#sessions.change(session, { ...patch, updatedMs: this.#clock.nowMs() });
  }

  /** Raises an alarm for an operator. The first reason stays. */
  alarm(session: FiatSession, alarm: string, evidence: Evidence): void {
    if (session.alarm !== null) return;
    const nowMs = this.#clock.nowMs();
    const state = session.transferState ?? session.status;
    const subject = session.transferState === null ? 'status' : 'transfer';
    const steps = [transition(subject, state, state, alarm, evidence, nowMs)];
    this.#sessions.change(session, { alarm, updatedMs: nowMs }, steps);
  }
}

export function isOver(status: FiatStatus): boolean {
  return ENDS.has(status);
}

function mayFollow(from: FiatStatus, to: FiatStatus): boolean {
  if (ENDS.has(from)) return to === 'completed' && from !== 'completed';
  return FIAT_STATUSES.indexOf(to) > FIAT_STATUSES.indexOf(from);
}

export function transition(
  subject: FiatTransition['subject'],
  fromState: string | null,
  toState: string,
  cause: string,
  evidence: Evidence,
  atMs: number,
): FiatTransition {
  const text = JSON.stringify(evidence);
  return { subject, fromState, toState, cause, evidence: text === '{}' ? null : text, atMs };
}
