/** The administrator's routes for changes that need a second operator (RULES.md 9.17). */

import { APPROVAL, APPROVALS, APPROVALS_QUERY, type Approval } from '../../../shared/api/approvals.ts';
import { ERRORS } from '../../../shared/base/errors.ts';
import { shownAddress } from '../../../shared/crypto/checksumAddress.ts';
import type { Administrator } from '../../access/principal.ts';
import type { Call } from '../../http/call.ts';
import type { Refusal } from '../../http/refusal.ts';
import { ok, okPage, refuse } from '../../http/respond.ts';
import { type CallOf, type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';
import type { FourEyes } from '../../operator/approvals.ts';
import type { ApprovalEntry, ApprovalRequest, Approvals } from '../../store/approvals.ts';
import type { Operators } from '../../store/operators.ts';
import { ID_PARAM } from '../json/pathParams.ts';

export type ApprovalDeps = {
  readonly approvals: Approvals;
  readonly fourEyes: FourEyes;
  readonly operators: Operators;
};

/** A kind of change needs the role that may ask for it, so the handler looks for the role once it knows the kind. */
const VIEW = { access: 'viewer', limit: 'unlisted' } as const;

const LIST_APPROVALS = {
  ...VIEW,
  method: 'GET',
  path: '/admin/approvals',
  id: 'adminListApprovals',
  summary: 'Changes that wait for a second operator or were decided by one, the newest first.',
  query: APPROVALS_QUERY,
  answers: { 200: APPROVALS },
} as const satisfies RouteSpec;

const SHOW_APPROVAL = {
  ...VIEW,
  method: 'GET',
  path: '/admin/approvals/:id',
  id: 'adminGetApproval',
  summary: 'One of them.',
  params: ID_PARAM,
  answers: { 200: APPROVAL },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const APPROVE = {
  ...VIEW,
  method: 'POST',
  path: '/admin/approvals/:id/approve',
  id: 'adminApprove',
  summary: 'Approves a change that another operator asked for, and carries it out; a repeat answers its end.',
  params: ID_PARAM,
  answers: { 200: APPROVAL },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT', 'SECOND_OPERATOR_REQUIRED', 'OUTCOME_UNKNOWN'],
} as const satisfies RouteSpec;

const REJECT = {
  ...VIEW,
  method: 'POST',
  path: '/admin/approvals/:id/reject',
  id: 'adminReject',
  summary: 'Rejects a change that waits; the operator who asked for it may too.',
  params: ID_PARAM,
  answers: { 200: APPROVAL },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT'],
} as const satisfies RouteSpec;

export function adminApprovalRoutes(deps: ApprovalDeps): Route[] {
  const { fourEyes } = deps;
  return [
    route(LIST_APPROVALS, (call) => listApprovals(call, deps)),
    route(SHOW_APPROVAL, (call) => showApproval(call, deps)),
    route(APPROVE, async (call) => {
      const administrator = call.principal;
      noteBefore(call, deps);
      answerDecided(call, deps, await fourEyes.approve(call.params.id, administrator));
    }),
    route(REJECT, (call) => {
      noteBefore(call, deps);
      answerDecided(call, deps, fourEyes.reject(call.params.id, call.principal));
    }),
  ];
}

/** True when the change is not to be carried out now: it waits for a second operator, or was refused. */
export function waitsForSecond(
  call: Call & { readonly principal: Administrator },
  deps: ApprovalDeps,
  subject: string,
  request: ApprovalRequest,
): boolean {
  const asked = deps.fourEyes.ask(call.principal, subject, request);
  if (asked === null) return false;
  if ('approval' in asked) ok(call, approvalOf(asked.approval, deps), 202);
  else refuse(call, asked.refusal);
  return true;
}

function listApprovals(call: CallOf<typeof LIST_APPROVALS>, deps: ApprovalDeps): void {
  const { limit, cursor } = call.query;
  const page = deps.approvals.page(limit, cursor);
  const next = page.length < limit ? null : page.at(-1)!.sequence;
  okPage(
    call,
    'approvals',
    page.values().map((each) => approvalOf(each, deps)),
    { next_cursor: next },
  );
}

function showApproval(call: CallOf<typeof SHOW_APPROVAL>, deps: ApprovalDeps): void {
  const approval = deps.approvals.find(call.params.id);
  if (approval === undefined) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'approval not found' });
  else ok(call, approvalOf(approval, deps));
}

type DecisionCall = CallOf<typeof APPROVE | typeof REJECT>;

function noteBefore(call: DecisionCall, deps: ApprovalDeps): void {
  const approval = deps.approvals.find(call.params.id);
  if (approval !== undefined) call.before = approvalOf(approval, deps);
}

function answerDecided(
  call: DecisionCall,
  deps: ApprovalDeps,
  decided: { readonly approval: ApprovalEntry } | { readonly refusal: Refusal },
): void {
  if ('approval' in decided) ok(call, approvalOf(decided.approval, deps));
  else refuse(call, decided.refusal);
}

function approvalOf(approval: ApprovalEntry, { fourEyes, operators }: ApprovalDeps): Approval {
  const { id, request, requestedBy, requestedMs, expiresMs, decidedBy, decidedMs, failure } = approval;
  const { kind, ...details } = request;
  return {
    id,
    kind,
    status: fourEyes.statusOf(approval),
    request: kind === 'contracts' ? withShownAddresses(details) : details,
    requested_by: operators.nameOf(requestedBy),
    requested_at: new Date(requestedMs).toISOString(),
    expires_at: new Date(expiresMs).toISOString(),
    decided_by: decidedBy === null ? null : operators.nameOf(decidedBy),
    decided_at: decidedMs === null ? null : new Date(decidedMs).toISOString(),
    failure,
  };
}

function withShownAddresses(details: object): Readonly<Record<string, unknown>> {
  const shown = Object.entries(details).map(([name, value]) => {
    return [name, typeof value === 'string' ? shownAddress(value) : value];
  });
  return Object.fromEntries(shown);
}
