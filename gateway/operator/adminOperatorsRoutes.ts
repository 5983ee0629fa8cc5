/** The administrator's routes for administrators: the named operators (RULES.md 9.13). */
import {
  ISSUED_OPERATOR,
  NEW_OPERATOR,
  OPERATOR,
  OPERATOR_ID,
  OPERATORS,
  type Operator,
} from '../../shared/api/operators.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Approvals } from '../access/approvals.ts';
import type { OperatorEntry, Operators } from '../access/operators.ts';
import { noteBefore } from '../http/audited.ts';
import { ok, okPage, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';

type AdminOperatorDeps = {
  readonly operators: Operators;
  readonly approvals: Pick<Approvals, 'lastRequestedMs'>;
  readonly clock: Clock;
};

const CREATE_OPERATOR = {
  method: 'POST',
  path: '/admin/operators',
  id: 'adminCreateOperator',
  summary: 'Makes an operator; the token is shown this once.',
  access: 'superuser',
  storing: true,
  body: NEW_OPERATOR,
  answers: { 201: ISSUED_OPERATOR },
  errors: ['CONFLICT'],
} as const satisfies RouteSpec;

const LIST_OPERATORS = {
  method: 'GET',
  path: '/admin/operators',
  id: 'adminListOperators',
  summary: 'All operators, the revoked ones too, in the order in which they were made.',
  access: 'viewer',
  answers: { 200: OPERATORS },
} as const satisfies RouteSpec;

const REVOKE_OPERATOR = {
  method: 'DELETE',
  path: '/admin/operators/:id',
  id: 'adminRevokeOperator',
  summary: 'Revokes the token of an operator; revoking it again changes nothing.',
  access: 'superuser',
  params: { id: OPERATOR_ID },
  answers: { 200: OPERATOR },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

export function adminOperatorRoutes(deps: AdminOperatorDeps): Route[] {
  return [
    route(CREATE_OPERATOR, (call) => createOperator(call, deps)),
    route(LIST_OPERATORS, (call) => okPage(call, 'operators', deps.operators.all().values().map(operatorOf), {})),
    route(REVOKE_OPERATOR, (call) => revokeOperator(call, deps)),
  ];
}

function createOperator(
  call: CallOf<typeof CREATE_OPERATOR>,
  { operators, approvals, clock }: AdminOperatorDeps,
): void {
  const { name, roles } = call.body;
  if (operators.isNameUsed(name))
    return refuse(call, { row: ERRORS.CONFLICT, message: 'name is or was used by an operator' });
  if (operators.isFull) return refuse(call, { row: ERRORS.CONFLICT, message: 'no more operators fit' });
  // FOUREYES-1: the operator cannot approve requests made before this time.
  const createdMs = Math.max(clock.nowMs(), approvals.lastRequestedMs() + 1);
  const { operator, token } = operators.create(name, roles, call.principal, createdMs);
  ok(call, { ...operatorOf(operator), token }, 201);
}

function revokeOperator(call: CallOf<typeof REVOKE_OPERATOR>, { operators, clock }: AdminOperatorDeps): void {
  const operator = operators.find(call.params.id);
  if (operator === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'operator not found' });
  noteBefore(call, operatorOf(operator));
  ok(call, operatorOf(operators.revoke(operator, clock.nowMs())));
}

function operatorOf(operator: OperatorEntry): Operator {
  const { operatorId, name, roles, createdMs, createdBy, revokedMs } = operator;
  return {
    id: operatorId,
    name,
    roles,
    created_at: new Date(createdMs).toISOString(),
    created_by: createdBy,
    revoked_at: revokedMs === null ? null : new Date(revokedMs).toISOString(),
  };
}
