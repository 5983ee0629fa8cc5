/** The answer to a change that needs two operators. */
import type { Approval } from './types.ts';

/** The change waits for a second operator: nothing was changed yet. */
export class ApprovalNeededError extends Error {
  override readonly name = 'ApprovalNeededError';
  readonly approval: Approval;

  constructor(approval: Approval) {
    super(`${approval.kind} ${approval.id} waits for the approval of a second operator`);
    this.approval = approval;
  }
}
