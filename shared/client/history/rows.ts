/** Rows of the public history, read from a CSV as it comes: nothing is kept. It runs in browsers, too. */
import { type HISTORY_TABLES, type HistoryTable, type HistoryType, historyColumns } from '../../base/historyTables.ts';

type ValueOf<Type extends HistoryType> = Type extends 'text' ? string : Type extends 'int32' ? number : bigint;
type ColumnsOf<Table extends HistoryTable> = (typeof HISTORY_TABLES)[Table];
/** A row by its columns; `int64` is a bigint. */
export type HistoryRow<Table extends HistoryTable> = {
  readonly [Name in keyof ColumnsOf<Table>]: ColumnsOf<Table>[Name] extends {
    readonly type: infer Type extends HistoryType;
  }
    ? ValueOf<Type>
    : never;
};

/** @param text that of a CSV of the table, decompressed, in pieces of any length */
export async function* historyRows<Table extends HistoryTable>(
  text: AsyncIterable<string>,
  table: Table,
): AsyncGenerator<HistoryRow<Table>> {
  const columns = historyColumns(table);
  let isFirst = true;
  for await (const line of lines(text)) {
    if (isFirst) {
      const expected = columns.map(([name]) => name).join(',');
      if (line !== expected) throw new Error(`${table}: the columns are ${line}, and not ${expected}`);
      isFirst = false;
      continue;
    }
    const values = line.split(',');
    if (values.length !== columns.length) throw new Error(`${table}: a row has ${values.length} values: ${line}`);
    const row = Object.fromEntries(columns.map(([name, { type }], index) => [name, parsed(type, values[index])]));
    if (isRowOf(row, table)) yield row;
  }
  if (isFirst) throw new Error(`${table}: the file is empty`);
}

function isRowOf<Table extends HistoryTable>(row: object, table: Table): row is HistoryRow<Table> {
  return historyColumns(table).every(([name]) => name in row);
}

function parsed(type: HistoryType, text: string): string | number | bigint {
  return type === 'text' ? text : type === 'int32' ? Number(text) : BigInt(text);
}

async function* lines(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of text) {
    const found = (rest + piece).split('\n');
    rest = found.pop()!;
    yield* found;
  }
  if (rest !== '') throw new Error('the file ends in the middle of a row');
}
