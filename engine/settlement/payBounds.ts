/**
 * Bounds of what is paid in an hour, to one account and to all of them (RULES.md 17.49): a thief has to stay for longer
 * than it takes to notice. They follow from the payments that were sent, so a restart forgets none.
 *
 * Invariants:
 *   PAYBOUNDS-1  In no hour one account is sent more than `accountMicro`, but by payments that have waited for a day.
 *   PAYBOUNDS-2  Nor is it sent more than an eighth of what the others have left of `allMicro`: so something is left
 *                for others, however often one moves its money to and fro.
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
  /** The oldest first. Null before the first question. */
  #sent: Sent[] | null = null;

  constructor(rows: PaymentRows, bounds: PayBounds, nowMs: () => number) {
    this.#rows = rows;
    this.#bounds = bounds;
    this.#nowMs = nowMs;
  }

  /**
   * Why a payment has to wait; null: it may be sent.
   * @param ready are sent before it
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
