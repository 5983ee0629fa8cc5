/**
 * Records the changes of administrators (RULES.md 9.14): the attempt before the handler runs, the result before the
 * answer is sent.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   AUDITSTAGE-1  No handler of a changing route runs before the attempt is durable: no record, no change.
 *   AUDITSTAGE-2  No answer of such a route is sent before its result is durable. If the result cannot be written, the
 *                 answer is OUTCOME_UNKNOWN and the log owes the record (AUDITLOG-3).
 *   AUDITSTAGE-3  No secret field enters a record.
 */
import { assert } from '../../shared/base/assert.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Administrator } from '../base/principal.ts';
import type { Audited } from '../http/audited.ts';
import type { Call } from '../http/call.ts';
import { refuse } from '../http/respond.ts';
import { changedMembers, toDetail, withoutSecrets } from './auditDetail.ts';
import type { AuditLog } from './auditLog.ts';

type AuditStageOptions = {
  readonly log: Pick<AuditLog, 'append'>;
  /** False if the operator was revoked in the meantime. */
  readonly isInForce: (operatorId: string) => boolean;
};

type Attempt = {
  readonly operator: string;
  readonly operator_id: string;
  readonly address: string;
  readonly method: string;
  readonly path: string;
};

const FIRST_ERROR_STATUS = 400;

export class AuditStage {
  readonly #options: AuditStageOptions;

  constructor(options: AuditStageOptions) {
    this.#options = options;
  }

  /** Records the attempt. Returns false if the request has been refused instead. */
  async admit(call: Call, administrator: Administrator): Promise<boolean> {
    const { log, isInForce } = this.#options;
    const { audited } = call;
    assert(audited !== null, 'auditStage: the call of an administrator');
    const attempt: Attempt = {
      operator: administrator.name,
      operator_id: administrator.operatorId,
      address: audited.address,
      method: call.method,
      path: call.path,
    };
    let of: number;
    try {
      const body = call.body === undefined ? {} : { body: withoutSecrets(call.body) };
      of = (await log.append({ event: 'change', ...attempt, ...body })).sequence;
    } catch {
      refuse(call, { row: ERRORS.ENGINE_BUSY, message: 'the audit log cannot be written' });
      return false;
    }
    audited.recordResult = (status, json, whenRecorded) => {
      const result = { event: 'result', of, ...attempt, status, ...statesOf(audited, status, json) };
      log.append(result, true).then(
        () => whenRecorded(true),
        () => whenRecorded(false),
      );
    };
    if (isInForce(administrator.operatorId)) return true;
    refuse(call, { row: ERRORS.INVALID_ADMIN_TOKEN });
    return false;
  }
}

/**
 * Returns the error of a refused request; of a change the state after it, and the state before if the handler knows it.
 */
function statesOf({ before, answer: noted }: Audited, status: number, json: string): object {
  if (noted !== null && status < FIRST_ERROR_STATUS) return { after: noted };
  const answer = toDetail(json);
  if (status >= FIRST_ERROR_STATUS) return { code: answer?.['code'], error: answer?.['error'] };
  const earlier = before === null ? null : toDetail(typeof before === 'string' ? before : JSON.stringify(before));
  return earlier === null ? { after: answer } : changedMembers(earlier, answer ?? {});
}
