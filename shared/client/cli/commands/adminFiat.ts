/** Operators' commands for cashing in and out: statements of providers, and their differences from our sessions. */
import type { FiatDifference, StatementBody } from '../../types.ts';
import { command } from '../frame/command.ts';
import { UsageError } from '../frame/errors.ts';
import { numberOf } from '../frame/orderForm.ts';
import { columns, decimal } from '../frame/text.ts';

const DAY_MS = 86_400_000;
const HEADER = 'transaction_id,reference,kind,status,amount,currency';

export const ADMIN_FIAT = [
  command({
    name: 'admin fiat reconcile',
    summary: "Compare a provider's statement of a day with our sessions; exit code 1 where they differ",
    details:
      'Without --file the exchange asks the provider. A file is CSV without quotes and has the whole day, with these ' +
      `columns: ${HEADER}. A status is settled, refunded or charged_back. It may be repeated.`,
    options: {
      provider: { value: 'name', description: 'whose statement it is', fallback: 'coinbase' },
      day: { value: 'date', description: 'in UTC; yesterday unless it is given' },
      file: { value: 'path', description: 'the statement', file: true },
    },
    examples: ['admin fiat reconcile --provider sandbox', 'admin fiat reconcile --day 2026-11-28 --file statement.csv'],
    json: 'the answer of POST /admin/fiat/statements',
    run: async (context, { provider, day, file }) => {
      const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
      const rows = file === undefined ? {} : { rows: rowsOf(await context.read(file)) };
      const report = await context.admin().compareFiatStatement({ provider, day: day ?? yesterday, ...rows });
      const { matched, differences } = report;
      const lines = [`${matched} of ${report.rows} rows agree with a session`, ...linesOf(differences)];
      return { value: report, lines, isBad: differences.length > 0 };
    },
  }),
  command({
    name: 'admin fiat differences',
    summary: 'List what does not agree between statements and sessions, and what accounts owe; the newest first',
    options: {
      all: { description: 'the closed ones too' },
      limit: { value: 'number', description: 'how many, up to 100', fallback: '50' },
      offset: { value: 'number', description: 'how many newer ones are left out', fallback: '0' },
    },
    examples: ['admin fiat differences', 'admin fiat differences --all'],
    json: 'the answer of GET /admin/fiat/differences',
    run: async (context, { all, limit, offset }) => {
      const page = { all, limit: numberOf('limit', limit), offset: numberOf('offset', offset) };
      const answer = await context.admin().fiatDifferences(page);
      const { open, claim_micro, differences } = answer;
      return { value: answer, lines: [`${open} open, ${decimal(claim_micro)} USDC owed`, ...linesOf(differences)] };
    },
  }),
  command({
    name: 'admin fiat close',
    summary: 'Close a difference that is cleared up, with a note of how',
    arguments: { id: { description: 'the number of the difference' }, note: { description: 'how it was cleared up' } },
    examples: ['admin fiat close 7 "the provider has paid it back"'],
    json: 'the answer of POST /admin/fiat/differences/{id}/close',
    run: async (context, { id, note }) => {
      const closed = await context.admin().closeFiatDifference(numberOf('id', id), note);
      return { value: closed, lines: linesOf([closed]) };
    },
  }),
];

type Rows = NonNullable<StatementBody['rows']>;

function rowsOf(text: string): Rows {
  const [header, ...lines] = text.split(/\r?\n/).filter((line) => line !== '');
  if (header !== HEADER) throw new UsageError(`the first line of the file is ${HEADER}`);
  return lines.map((line, index) => {
    const fields = line.split(',');
    if (fields.length !== 6) throw new UsageError(`line ${index + 2} of the file has ${fields.length} columns, not 6`);
    const [transaction_id, reference, kind, status, amount, currency] = fields;
    // The exchange refuses texts that it does not know.
    return { transaction_id, reference, kind, status, amount, currency } as Rows[number];
  });
}

function linesOf(differences: readonly FiatDifference[]): string[] {
  const shown = (micro: string | null): string => (micro === null ? '' : decimal(micro));
  const rows = differences.map((each) => [
    String(each.id),
    each.day,
    each.kind,
    each.transaction_id,
    each.session_id ?? '',
    shown(each.ours_micro),
    shown(each.theirs_micro),
    shown(each.claim_micro),
    each.closed_by === null ? 'open' : each.closed_by === '' ? 'closed by itself' : `closed by ${each.closed_by}`,
  ]);
  const head = ['id', 'day', 'what', 'transaction', 'session', 'ours', 'theirs', 'owed', 'state'];
  return columns(head, rows, 'no differences');
}
