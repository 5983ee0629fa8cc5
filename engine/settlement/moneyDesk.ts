/** The gateway's questions about money between chain and ledger. */
import { checkedHex } from '../../shared/base/hex.ts';
import type { AnswerOf, AskOf, ChainQuestion, Difference } from '../../shared/wire/chainQuestions.ts';
import { referenceOf } from './chainMoney.ts';
import type { MoneySide } from './moneySide.ts';
import type { PaymentRows } from './paymentRows.ts';
import type { Permits } from './permits.ts';
import { outcomeOfAsset, USDC } from './underWay.ts';
import type { WorkRows } from './work.ts';

type MoneyQuestion = Extract<
  ChainQuestion,
  | 'moneyAccepted'
  | 'moneyWaits'
  | 'openMoney'
  | 'prepareRelease'
  | 'waitingPayments'
  | 'setEscrow'
  | 'depositPermit'
  | 'differences'
>;
export type MoneyHandlers = { readonly [N in MoneyQuestion]: (ask: AskOf<N>) => AnswerOf<N> | Promise<AnswerOf<N>> };

/** @param follow reads the next stretch of the journals; false once there is none. */
export function moneyHandlers(
  side: MoneySide,
  work: WorkRows,
  payments: PaymentRows,
  permits: Permits,
  follow: () => boolean,
): MoneyHandlers {
  const { money } = side;
  return {
    moneyAccepted: ({ event, account }) => {
      const mark = money.accept(event, account);
      return { isLeaving: side.isLeaving(event), mark };
    },
    moneyWaits: ({ event, reason }) => {
      money.wait(event, reason);
      return null;
    },
    openMoney: ({ limit, offset }) => {
      const [count, heldUpCount] = [money.countOpen(), payments.countHeldUp()];
      const rows = money.open(limit, offset).map((row) => ({
        kind: row.kind,
        wallet: row.wallet,
        amount: row.amount,
        reference: referenceOf(row),
        reason: row.reason,
        foundMs: row.found_ms,
      }));
      const heldUp = payments.heldUp(limit - rows.length, Math.max(0, offset - count)).map((row) => ({
        kind: 'payment' as const,
        wallet: row.wallet,
        amount: String(row.amount),
        reference: `record:${row.shard}:${row.sequence}`,
        reason: row.reason,
        foundMs: row.created_ms,
      }));
      return { rows: [...rows, ...heldUp], total: count + heldUpCount };
    },
    prepareRelease: ({ reference }) => ({ mark: side.prepareRelease(reference) }),
    waitingPayments: ({ account }) => {
      while (follow());
      return { count: payments.countPending(account) };
    },
    setEscrow: ({ account, wallet }) => {
      work.setEscrow(account, checkedHex(wallet));
      return null;
    },
    depositPermit: (ask) => permits.issue(ask),
    differences: () =>
      side.differences().map(({ account, asset, ledger, underWay, held }): Difference => {
        const token = asset === USDC ? null : outcomeOfAsset(asset);
        return { account, token, ledger: String(ledger), underWay: String(underWay), held: String(held) };
      }),
  };
}
