/** The administrator's routes for changes that need a second operator (RULES.md 9.17). */

import { APPROVAL, APPROVALS, APPROVALS_QUERY } from '../../shared/api/approvals.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { ApprovalEntry } from '../access/approvals.ts';
import type { Refusal } from '../base/refusal.ts';
import { noteBefore } from '../http/audited.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, okPage, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import { type ApprovalDeps, approvalOf } from '../http/secondOperator.ts';
import type { RouteSpec } from '../http/spec.ts';

/** A kind of change needs the role that may request it, so the handler checks the role once it knows the kind. */
const VIEW = { access: 'viewer' } as const;

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
      noteApproval(call, deps);
      answerDecided(call, deps, await fourEyes.approve(call.params.id, administrator));
    }),
    route(REJECT, (call) => {
      noteApproval(call, deps);
      answerDecided(call, deps, fourEyes.reject(call.params.id, call.principal));
    }),
  ];
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

function noteApproval(call: DecisionCall, deps: ApprovalDeps): void {
  const approval = deps.approvals.find(call.params.id);
  if (approval !== undefined) noteBefore(call, approvalOf(approval, deps));
}

function answerDecided(
  call: DecisionCall,
  deps: ApprovalDeps,
  decided: { readonly approval: ApprovalEntry } | { readonly refusal: Refusal },
): void {
  if ('approval' in decided) ok(call, approvalOf(decided.approval, deps));
  else refuse(call, decided.refusal);
}
