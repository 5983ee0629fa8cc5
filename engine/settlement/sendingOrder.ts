/**
 * The order in which pending work is sent: trades do not wait for splits and merges of other customers, so a flood of
 * these delays no trade.
 *
 * Invariant:
 *   SENDINGORDER-1  The works of one account are sent in the order of the ledger: earlier work may fund later work. A
 *                   trade is work of both parties. Fees go to the fee account, so its claims wait for all that does.
 */
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import { KIND, type Work } from './work.ts';

/**
 * Puts back splits, merges and whatever waits for them.
 * @param pending in the order of the ledger
 */
export function sendingOrder(pending: readonly Work[]): Work[] {
  const first: Work[] = [];
  const later: Work[] = [];
  const waiting = new Set<number>();
  for (const [index, work] of pending.entries()) {
    // A move takes everything that the accounts have, so it is sent after all that came before it.
    if (isMove(work)) return [...first, ...later, ...pending.slice(index)];
    const { account, taker_account: taker } = work;
    const parties = taker === null ? [account] : [account, taker];
    if (!isOfSets(work) && !parties.some((party) => waiting.has(party))) {
      first.push(work);
      continue;
    }
    later.push(work);
    for (const party of parties) waiting.add(party);
    waiting.add(FEE_ACCOUNT);
  }
  return [...first, ...later];
}

export function isOfSets({ kind }: Pick<Work, 'kind'>): boolean {
  return kind === KIND.SPLIT || kind === KIND.MERGE;
}

export function isMove({ kind }: Pick<Work, 'kind'>): boolean {
  return kind === KIND.MOVE || kind === KIND.LATE_MOVE;
}
