/**
 * The lines of statements (RULES.md 14.42), as JSON objects or as CSV. A line is its cells in the order of the columns;
 * null is a value that this kind of line does not have.
 *
 * The CSV follows RFC 4180. Spreadsheets run a text that looks like a formula. Only the reference is written by people,
 * so it gets a leading apostrophe, which spreadsheets hide.
 */
type Cell = string | number | null;
/** By column. */
export type Cells = readonly Cell[];
export type StatementForm = 'json' | 'csv';

const COLUMNS = [
  'time',
  'type',
  'id',
  'reference',
  'market_id',
  'outcome_index',
  'side',
  'role',
  'order_id',
  'usdc_delta_micro',
  'yes_delta_atomic',
  'no_delta_atomic',
  'fee_usdc_micro',
  'fee_token_atomic',
  'usdc_balance_micro',
] as const;
/** Present only in CSV lines that state a balance. */
const TOKEN_BALANCE = 'token_balance_atomic';
const ID = COLUMNS.indexOf('id');
const REFERENCE = COLUMNS.indexOf('reference');
const LINE_END = '\r\n';
const LIKE_A_FORMULA = /^[=+\-@\t\r]/;

export const CSV_HEADER = `${COLUMNS.join(',')},${TOKEN_BALANCE}${LINE_END}`;

/** The cells of an entry, with the operator's id and reference. */
export function withReference(cells: Cells, id: string, reference: string | null): Cells {
  return cells.with(ID, id).with(REFERENCE, reference);
}

export function entryText(form: StatementForm, cells: Cells): string {
  return form === 'json' ? jsonEntry(cells) : csvLine(cells, null);
}

/** The CSV line that states a balance of USDC or of a token. */
export function csvBalance(
  type: 'opening_balance' | 'closing_balance',
  time: string,
  balance:
    | { readonly usdcMicro: number }
    | { readonly market: string; readonly outcome: number; readonly atomic: number },
): string {
  const cells: Cell[] = new Array(COLUMNS.length).fill(null);
  cells[COLUMNS.indexOf('time')] = time;
  cells[COLUMNS.indexOf('type')] = type;
  if ('usdcMicro' in balance) {
    cells[COLUMNS.indexOf('usdc_balance_micro')] = String(balance.usdcMicro);
    return csvLine(cells, null);
  }
  cells[COLUMNS.indexOf('market_id')] = balance.market;
  cells[COLUMNS.indexOf('outcome_index')] = balance.outcome;
  return csvLine(cells, String(balance.atomic));
}

function jsonEntry(cells: Cells): string {
  let text = '';
  for (let column = 0; column < COLUMNS.length; column++) {
    const cell = cells[column];
    const isText = typeof cell === 'string';
    const value = isText && column === REFERENCE ? JSON.stringify(cell) : isText ? `"${cell}"` : String(cell);
    text += `${column === 0 ? '{' : ','}"${COLUMNS[column]}":${value}`;
  }
  return `${text}}`;
}

function csvLine(cells: Cells, tokenBalance: string | null): string {
  let line = '';
  for (let column = 0; column < COLUMNS.length; column++) {
    const cell = cells[column];
    if (cell !== null) line += column === REFERENCE ? quoted(String(cell)) : cell;
    line += ',';
  }
  return line + (tokenBalance ?? '') + LINE_END;
}

function quoted(text: string): string {
  const harmless = LIKE_A_FORMULA.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
