/** The ledger of the account. */
import { withQuery } from './request.ts';
import type { FundMovements, FundMovementsQuery } from './types.ts';

/** A signed request, which reads. */
type SignedGet = <T>(path: string) => Promise<T>;

export class LedgerClient {
  readonly #get: SignedGet;

  constructor(get: SignedGet) {
    this.#get = get;
  }

  /** Deposits, withdrawals, splits, merges and payouts, newest first. */
  fundMovements(query: FundMovementsQuery = {}): Promise<FundMovements> {
    return this.#get(withQuery('/v1/user/fund-movements', query));
  }
}
