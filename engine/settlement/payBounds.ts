/**
 * Hourly limits of payments, per account and for all accounts (RULES.md 17.49): a thief needs more time than operators
 * need to notice. They are computed from the payments that were sent, so a restart forgets none.
 *
 * Invariants:
 *   PAYBOUNDS-1  No account is sent more than `accountMicro` within an hour, except by payments that have waited for a
 *                day.
 *   PAYBOUNDS-2  No account is sent more than an eighth of what the other accounts have left of `allMicro`. So
 *                something is left for the others, however often one account moves its money back and forth.
 */
import type { PaymentRows } from './paymentRows.ts';
import type { Work } from './work.ts';

export type PayBounds = { readonly accountMicro: number; readonly allMicro: number };
type Sent = { readonly account: number; readonly amount: number; readonly atMs: number };

const HOUR_MS = 3_600_000;
const LONGEST_WAIT_MS = 24 * HOUR_MS;
const SHARE_OF_REST = 8;

export class PaidLately {
  readonly #rows: PaymentRows;
  readonly #bounds: PayBounds;
  readonly #nowMs: () => number;
  /** Payments that were sent, oldest first. Null before the first question. */
  #sent: Sent[] | null = null;

  constructor(rows: PaymentRows, bounds: PayBounds, nowMs: () => number) {
    this.#rows = rows;
    this.#bounds = bounds;
    this.#nowMs = nowMs;
  }

  /**
   * Returns the reason why a payment has to wait, or null if it may be sent.
   * @param ready payments that are sent before it
   */
  whyWait({ account, amount, created_ms }: Work, ready: readonly Work[]): string | null {
    const nowMs = this.#nowMs();
    if (nowMs - created_ms >= LONGEST_WAIT_MS) return null;
    const { accountMicro, allMicro } = this.#bounds;
    let [own, others] = [amount, 0];
    for (const each of [...this.#lately(nowMs), ...ready]) {
      if (each.account === account) own += each.amount;
      else others += each.amount;
    }
    if (own > accountMicro) return 'more than an account is paid in an hour';
    return own * SHARE_OF_REST > allMicro - others ? 'more than its share of what all are paid in an hour' : null;
  }

  note(work: readonly Work[]): void {
    const atMs = this.#nowMs();
    this.#lately(atMs).push(...work.map(({ account, amount }) => ({ account, amount, atMs })));
  }

  #lately(nowMs: number): Sent[] {
    const since = nowMs - HOUR_MS;
    this.#sent ??= this.#rows.sentSince(since);
    const first = this.#sent.findIndex(({ atMs }) => atMs > since);
    this.#sent.splice(0, first === -1 ? this.#sent.length : first);
    return this.#sent;
  }
}
