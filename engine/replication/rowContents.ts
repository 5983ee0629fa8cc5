/**
 * Counts the commands in rows of a journal (orders, cancels, payments), for an operator who has to decide about them.
 */
import { ANY_COMMAND, COMMAND } from '../../shared/wire/commands.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';
import { RowReader } from '../journal/rowReader.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { rowsFromEnd } from './rejoin.ts';

type Counts = { orders: number; cancels: number; payments: number; others: number };
type JournalRows = { readonly journalPath: string; readonly key: ShardKey };

const { PLACE, REPLACE, CANCEL, CANCEL_MANY, SWEEP, FUNDS, CONVERT, CLAIM, SETTLE, UNWIND } = COMMAND;
const { CONVERT_SET, SETTLE_SET } = COMMAND;
const ORDERS: readonly number[] = [PLACE.TYPE, REPLACE.TYPE];
const CANCELS: readonly number[] = [CANCEL.TYPE, CANCEL_MANY.TYPE, SWEEP.TYPE];
/** Deposits, withdrawals, conversions, and payouts of decided markets. */
const PAYMENTS: readonly number[] = [
  ...[FUNDS.TYPE, CONVERT.TYPE, CLAIM.TYPE, SETTLE.TYPE, UNWIND.TYPE],
  ...[CONVERT_SET.TYPE, SETTLE_SET.TYPE],
];

/** @param visit receives the records of the rows after a record, last row first */
export function visitAfter(journal: JournalRows, after: number, visit: (record: JournalRecord) => void): void {
  const reader = new RowReader(journal.journalPath, journal.key);
  for (const row of rowsFromEnd(journal.journalPath)) {
    if (row.sequence <= after) return;
    reader.headAfter(row);
    reader.show((record) => {
      if (record.sequence > after) visit(record);
    });
  }
}

/** The type alone identifies a command, even one of a later version. */
export function countKinds(visitAll: (visit: (record: JournalRecord) => void) => void): string {
  const counts: Counts = { orders: 0, cancels: 0, payments: 0, others: 0 };
  visitAll(({ command: { words, word } }) => {
    counts[kindOf((words[word + ANY_COMMAND.type] ?? 0) & 0xffff)]++;
  });
  const { orders, cancels, payments, others } = counts;
  return `${orders} orders, ${cancels} cancels, ${payments} payments, ${others} others`;
}

export function countsAfter(journal: JournalRows, after: number): string {
  return countKinds((visit) => visitAfter(journal, after, visit));
}

function kindOf(type: number): keyof Counts {
  if (ORDERS.includes(type)) return 'orders';
  if (CANCELS.includes(type)) return 'cancels';
  return PAYMENTS.includes(type) ? 'payments' : 'others';
}
