/** The ledger of the account. */
import { withQuery } from './request.ts';
import type {
  DepositAuthorization,
  Earnings,
  EarningsQuery,
  FundMovement,
  FundMovements,
  FundMovementsQuery,
  NewWithdrawal,
  Rebates,
  RebatesQuery,
  SplitParams,
  Statement,
  StatementQuery,
} from './types.ts';

/** Signed requests that read: a whole answer, or its bytes as they come. */
type Reads = {
  get<T>(path: string): Promise<T>;
  send<T>(method: 'POST', path: string, body: object): Promise<T>;
  open(path: string): Promise<ReadableStream<Uint8Array>>;
};

type Period = Pick<StatementQuery, 'from' | 'to'>;

export class LedgerClient {
  readonly #reads: Reads;

  constructor(reads: Reads) {
    this.#reads = reads;
  }

  /** Deposits, withdrawals, splits, merges and payouts, newest first. */
  fundMovements(query: FundMovementsQuery = {}): Promise<FundMovements> {
    return this.#reads.get(withQuery('/v1/user/fund-movements', query));
  }

  /**
   * A permit for a deposit on the chain, the typed data that the wallet signs, and the transaction, which anyone may
   * send: its data is `data_before_signature`, the signature without 0x, and `data_after_signature`.
   */
  authorizeDeposit(amountMicro: bigint | number): Promise<DepositAuthorization> {
    return this.#reads.send('POST', '/v1/user/deposit-authorizations', { amount_usdc_micro: String(amountMicro) });
  }

  /** Pays out on the chain. Give each withdrawal a reference: a repeat then returns the first one's answer. */
  withdraw(withdrawal: NewWithdrawal): Promise<FundMovement> {
    return this.#reads.send('POST', '/v1/user/withdrawals', withdrawal);
  }

  /** Everything that changed the balances in a period; for a long period use `openStatement`. */
  statement(period: Period = {}): Promise<Statement> {
    return this.#reads.get(withQuery('/v1/user/statement', period));
  }

  /** The same as a stream of any length. A statement that ends without its closing balances was cut off. */
  openStatement(query: StatementQuery): Promise<ReadableStream<Uint8Array>> {
    return this.#reads.open(withQuery('/v1/user/statement', query));
  }

  /** Condition, tokens and contract of a split on the chain; with an amount, the whole call that a wallet sends. */
  splitParams(marketId: string, query: { readonly amount_usdc_micro?: string } = {}): Promise<SplitParams> {
    return this.#reads.get(withQuery(`/v1/markets/${encodeURIComponent(marketId)}/split-params`, query));
  }

  /** The shares of its fees that the account gets back as a maker, newest first. */
  rebates(query: RebatesQuery = {}): Promise<Rebates> {
    return this.#reads.get(withQuery('/v1/user/rebates', query));
  }

  /** The shares of referred accounts' fees that the account earns, newest first. */
  referralEarnings(query: EarningsQuery = {}): Promise<Earnings> {
    return this.#reads.get(withQuery('/v1/user/referral/earnings', query));
  }
}
