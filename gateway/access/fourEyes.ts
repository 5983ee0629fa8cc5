/**
 * The four-eyes rule (RULES.md 9.17, 9.80): a change that moves much money, cannot be undone, or changes what people
 * have bought is carried out only after a second operator has approved it. Owner: the gateway thread.
 *
 * Invariants:
 *   FOUREYES-1  No change is approved by an operator who may be the one that asked for it: itself, one of the same
 *               branch (OPERATORS-3), or one created after the request, possibly by the asker for this purpose.
 *   FOUREYES-2  An approved change is carried out as often as it takes until its end is known, and has the effect of
 *               one: withdrawals by their reference, contracts and terms by comparing, a market because it is decided
 *               once.
 *   FOUREYES-3  The bootstrap superuser cannot be revoked and counts as an operator, so no named operator can do
 *               without approval by revoking the others.
 */
import type { OperatorRole } from '../../shared/api/operators.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Logger } from '../base/log.ts';
import { type Administrator, BOOTSTRAP } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import { covers } from '../base/roles.ts';
import type { ApprovalEntry, ApprovalFailure, ApprovalKind, ApprovalRequest, Approvals } from './approvals.ts';
import type { Operators } from './operators.ts';

/** Carries an approved change out. @returns null when it is done, or was done before. */
export type CarryOut = (request: ApprovalRequest) => Promise<Refusal | null>;

type FourEyesOptions = {
  readonly approvals: Approvals;
  readonly operators: Operators;
  readonly carryOut: CarryOut;
  readonly clock: Clock;
  readonly log: Logger;
  /** An approved change has ended without a request that waits for it. */
  readonly onFinishedLater: (approval: ApprovalEntry) => void;
};

/** Null: the change needs no approval. */
type Asked = { readonly approval: ApprovalEntry } | { readonly refusal: Refusal } | null;
type Decided = { readonly approval: ApprovalEntry } | { readonly refusal: Refusal };

/** `expired` and `void` follow from the time and from the operators; neither is stored. */
type ShownStatus = ApprovalEntry['status'] | 'expired' | 'void';

const EXPIRES_AFTER_MS = 24 * 3_600_000;
const MAX_OPEN = 1000;
const RETRY_MS = 1000;

/** The role of a change: to ask for it, and to approve it. */
const ROLE_OF: Readonly<Record<ApprovalKind, OperatorRole>> = {
  withdrawal: 'treasury',
  resolution: 'catalogue',
  set_resolution: 'catalogue',
  contracts: 'superuser',
  unwinding: 'treasury',
  market_terms: 'catalogue',
  event_terms: 'catalogue',
};

export class FourEyes {
  readonly #options: FourEyesOptions;
  /** By id: a change that is being carried out. */
  readonly #underWay = new Map<string, Promise<Decided>>();
  /** A change was approved and left undecided by this process. */
  #hasUndecided = false;
  #retryAtMs = 0;

  constructor(options: FourEyesOptions) {
    this.#options = options;
  }

  /**
   * Requests a change. Repeating the same request returns the same approval; another request about the subject is a
   * conflict.
   */
  ask(administrator: Administrator, subject: string, request: ApprovalRequest): Asked {
    if (!this.hasSecond(administrator, request.kind)) return null;
    const { approvals, clock } = this.#options;
    const nowMs = clock.nowMs();
    const open = approvals.openOf(subject, nowMs).find((each) => this.statusOf(each) !== 'void');
    if (open !== undefined) {
      const isSame = JSON.stringify(open.request) === JSON.stringify(request);
      return isSame ? { approval: open } : conflict('another request about this waits for approval');
    }
    if (approvals.countOpen(nowMs) >= MAX_OPEN) return conflict('too many requests wait for approval');
    return { approval: approvals.add(subject, request, administrator.operatorId, nowMs, EXPIRES_AFTER_MS) };
  }

  async approve(id: string, administrator: Administrator): Promise<Decided> {
    const approval = this.#options.approvals.find(id);
    const refusal = this.#check(approval, administrator);
    if (refusal !== null) return { refusal };
    const status = this.statusOf(approval!);
    if (status === 'carried_out' || status === 'failed') return { approval: approval! };
    if (status === 'approved') return this.#finish(approval!);
    if (status !== 'pending') return conflict(`the request is ${status}`);
    if (!this.#isSecond(administrator, approval!.requestedBy, approval!.requestedMs)) {
      return { refusal: { row: ERRORS.SECOND_OPERATOR_REQUIRED } };
    }
    const { approvals, clock } = this.#options;
    return this.#finish(approvals.decide(approval!, 'approved', administrator.operatorId, clock.nowMs()));
  }

  /** The operator who asked may also withdraw the request in this way. */
  reject(id: string, administrator: Administrator): Decided {
    const { approvals, clock } = this.#options;
    const approval = approvals.find(id);
    const isOwn = approval?.requestedBy === administrator.operatorId;
    const refusal = isOwn ? null : this.#check(approval, administrator);
    if (refusal !== null) return { refusal };
    const status = this.statusOf(approval!);
    if (status === 'rejected') return { approval: approval! };
    if (status !== 'pending') return conflict(`the request is ${status}`);
    return { approval: approvals.decide(approval!, 'rejected', administrator.operatorId, clock.nowMs()) };
  }

  /** True if another operator could approve this operator's requests. */
  hasSecond({ operatorId }: Administrator, kind: ApprovalKind): boolean {
    const { operators, clock } = this.#options;
    const nowMs = clock.nowMs();
    return [BOOTSTRAP, ...operators.all()].some(
      (other) =>
        operators.isInForce(other.operatorId) &&
        covers(other.roles, ROLE_OF[kind]) &&
        this.#isSecond(other, operatorId, nowMs),
    );
  }

  statusOf({ status, expiresMs, requestedBy }: ApprovalEntry): ShownStatus {
    if (status !== 'pending') return status;
    const { clock, operators } = this.#options;
    if (!operators.isInForce(requestedBy)) return 'void';
    return clock.nowMs() < expiresMs ? 'pending' : 'expired';
  }

  /** Carries out approved changes whose end is unknown, because a shard or the process was lost. */
  async resume(): Promise<void> {
    const { approvals, clock, log, onFinishedLater } = this.#options;
    this.#retryAtMs = clock.nowMs() + RETRY_MS;
    this.#hasUndecided = false;
    for (const approval of approvals.approved()) {
      // While the previous one was carried out, a request or another shard's return may have started this one.
      if (this.#underWay.has(approval.id) || approvals.find(approval.id)?.status !== 'approved') continue;
      try {
        const decided = await this.#finish(approval);
        if ('approval' in decided) onFinishedLater(decided.approval);
      } catch (error) {
        log.error({ err: error, approval: approval.id }, 'an approved change could not be carried out');
      }
    }
  }

  /** Called several times a second. */
  tick(): void {
    const { clock } = this.#options;
    if (this.#hasUndecided && clock.nowMs() >= this.#retryAtMs) void this.resume();
  }

  #finish(approval: ApprovalEntry): Promise<Decided> {
    const known = this.#underWay.get(approval.id);
    if (known !== undefined) return known;
    const finished = this.#carryOut(approval).finally(() => this.#underWay.delete(approval.id));
    this.#underWay.set(approval.id, finished);
    return finished;
  }

  async #carryOut(approval: ApprovalEntry): Promise<Decided> {
    const { approvals, carryOut } = this.#options;
    try {
      const refusal = await carryOut(approval.request);
      if (refusal !== null && isUndecided(refusal)) {
        this.#hasUndecided = true;
        return { refusal };
      }
      return { approval: approvals.end(approval, refusal === null ? null : failureOf(refusal)) };
    } catch (error) {
      this.#hasUndecided = true;
      throw error;
    }
  }

  #check(approval: ApprovalEntry | undefined, { roles }: Administrator): Refusal | null {
    if (approval === undefined) return { row: ERRORS.RESOURCE_NOT_FOUND, message: 'approval not found' };
    return covers(roles, ROLE_OF[approval.request.kind]) ? null : { row: ERRORS.INSUFFICIENT_ROLE };
  }

  /** FOUREYES-1. */
  #isSecond({ operatorId }: Administrator, requestedBy: string, requestedMs: number): boolean {
    const { operators } = this.#options;
    if ((operators.find(operatorId)?.createdMs ?? 0) > requestedMs) return false;
    return operators.branchOf(operatorId) !== operators.branchOf(requestedBy);
  }
}

/** True if the change may have been carried out, or could not be tried: it is then retried. */
function isUndecided({ row }: Refusal): boolean {
  return row === ERRORS.OUTCOME_UNKNOWN || row === ERRORS.ENGINE_BUSY || row === ERRORS.INTERNAL_ERROR;
}

function failureOf({ row, message }: Refusal): ApprovalFailure {
  return { code: row.code, error: message ?? row.message };
}

function conflict(message: string): { readonly refusal: Refusal } {
  return { refusal: { row: ERRORS.CONFLICT, message } };
}
