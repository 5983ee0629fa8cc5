/** The commands in rows of a journal, for an operator who has to decide about them: orders, cancels and payments. */
import { type Command, decodeCommand } from '../../shared/wire/commands.ts';
import type { Row } from '../journal/row.ts';
import { RowReader } from '../journal/rowReader.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { rowsFromEnd } from './rejoin.ts';

type Counts = { orders: number; cancels: number; payments: number; others: number };

const ORDERS: readonly Command['name'][] = ['PLACE', 'REPLACE'];
const CANCELS: readonly Command['name'][] = ['CANCEL', 'CANCEL_MANY', 'SWEEP'];
/** Deposits, withdrawals, and what a decided market pays. */
const PAYMENTS: readonly Command['name'][] = ['FUNDS', 'CONVERT', 'CLAIM', 'SETTLE', 'UNWIND'];

/** @param visit gets each command of the rows after a record, the last row first, and its sequence and time */
function visitAfter(
  journal: { readonly journalPath: string; readonly key: ShardKey },
  after: number,
  visit: (command: Command, record: { readonly sequence: number; readonly timeMs: number }) => void,
): void {
  const reader = new RowReader(journal.journalPath, journal.key);
  for (const row of rowsFromEnd(journal.journalPath)) {
    if (row.sequence <= after) return;
    show(reader, row, after, visit);
  }
}

function show(reader: RowReader, row: Row, after: number, visit: Parameters<typeof visitAfter>[2]): void {
  reader.headAfter(row);
  reader.show(({ sequence, timeMs, command }) => {
    if (sequence > after) visit(decodeCommand(command.words, command.word), { sequence, timeMs });
  });
}

export function countAfter(journal: Parameters<typeof visitAfter>[0], after: number): Counts {
  const counts = { orders: 0, cancels: 0, payments: 0, others: 0 };
  visitAfter(journal, after, (command) => {
    counts[kindOf(command)]++;
  });
  return counts;
}

function kindOf({ name }: Command): keyof Counts {
  if (ORDERS.includes(name)) return 'orders';
  if (CANCELS.includes(name)) return 'cancels';
  return PAYMENTS.includes(name) ? 'payments' : 'others';
}

export function countsText({ orders, cancels, payments, others }: Counts): string {
  return `${orders} orders, ${cancels} cancels, ${payments} payments, ${others} others`;
}
