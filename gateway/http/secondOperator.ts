/**
 * Changes that need a second operator (RULES.md 9.17): the answer to the first operator, and the approval as clients
 * see it.
 */
import type { Approval } from '../../shared/api/approvals.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { ApprovalEntry, ApprovalRequest, Approvals } from '../access/approvals.ts';
import type { FourEyes } from '../access/fourEyes.ts';
import type { Operators } from '../access/operators.ts';
import type { Administrator } from '../base/principal.ts';
import type { Call } from './call.ts';
import { ok, refuse } from './respond.ts';

export type ApprovalDeps = {
  readonly approvals: Approvals;
  readonly fourEyes: FourEyes;
  readonly operators: Operators;
};

/** Returns true if the change must not be carried out now: it waits for a second operator, or was refused. */
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

export function approvalOf(approval: ApprovalEntry, { fourEyes, operators }: ApprovalDeps): Approval {
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
