/** The administrator that a bearer token names: the holder of ADMIN_TOKEN, or an operator. */
import { ERRORS } from '../../shared/base/errors.ts';
import { peerSubject } from '../base/clientAddress.ts';
import { type Administrator, BOOTSTRAP } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import { covers } from '../base/roles.ts';
import { isBearer, tokenIn } from '../base/sessionTokens.ts';
import type { AdminToken } from './adminToken.ts';
import type { Admission } from './credential.ts';

export type OperatorTokens = {
  /** Null if the token belongs to no operator, or to a revoked one. */
  holderOf(token: string): Administrator | null;
};

/** Of a server without named operators. */
const NO_OPERATORS: OperatorTokens = Object.freeze({ holderOf: () => null });

const LACKS: Refusal = { row: ERRORS.INSUFFICIENT_ROLE };

export const ADMINISTRATOR: Admission<Administrator> = {
  /** From now on the address may use the reserved connections. */
  entered({ connectionLimits }, { operatorId }, { transport }) {
    connectionLimits?.signed.note(operatorId, peerSubject(transport.peer()));
  },

  lacks: ({ roles }, { role }) => (covers(roles, role) ? null : LACKS),
};

export class Administrators {
  readonly #bootstrap: AdminToken;
  readonly #operators: OperatorTokens;

  constructor(bootstrap: AdminToken, operators: OperatorTokens = NO_OPERATORS) {
    this.#bootstrap = bootstrap;
    this.#operators = operators;
  }

  /** @param header the Authorization header as sent, empty when absent. @returns null for a token that is not valid. */
  identify(header: string): Administrator | null {
    if (!isBearer(header)) return null;
    const token = tokenIn(header);
    // Both are always compared, so the time does not reveal which of them a guess resembles.
    const operator = this.#operators.holderOf(token);
    return this.#bootstrap.accepts(token) ? BOOTSTRAP : operator;
  }
}
