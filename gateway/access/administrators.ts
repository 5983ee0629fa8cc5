/** The administrator that a bearer token names: the holder of ADMIN_TOKEN, or an operator. */

import { type Administrator, BOOTSTRAP } from '../base/principal.ts';
import { bearerOf } from '../base/sessionTokens.ts';
import type { AdminToken } from './adminToken.ts';

export type OperatorTokens = {
  /** Null if the token belongs to no operator, or to a revoked one. */
  holderOf(token: string): Administrator | null;
};

/** Of a server without named operators. */
const NO_OPERATORS: OperatorTokens = Object.freeze({ holderOf: () => null });

export class Administrators {
  readonly #bootstrap: AdminToken;
  readonly #operators: OperatorTokens;

  constructor(bootstrap: AdminToken, operators: OperatorTokens = NO_OPERATORS) {
    this.#bootstrap = bootstrap;
    this.#operators = operators;
  }

  /** @param header the Authorization header as sent, empty when absent. @returns null for a token that is not valid. */
  identify(header: string): Administrator | null {
    const token = bearerOf(header);
    if (token === null) return null;
    // Both are always compared, so the time does not reveal which of them a guess resembles.
    const operator = this.#operators.holderOf(token);
    return this.#bootstrap.accepts(token) ? BOOTSTRAP : operator;
  }
}
