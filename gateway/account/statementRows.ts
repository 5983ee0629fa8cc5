/**
 * A statement as the rows of an answer, JSON or CSV (RULES.md 14.42). A promise stands for a page that is being read.
 */

import type { Movements } from './movements.ts';
import type { StatementPage } from './statementQueries.ts';
import type { StatementReader } from './statementReader.ts';
import { CSV_HEADER, csvBalance, entryText, type StatementForm, withReference } from './statementText.ts';

/** The facts that the read model does not have. */
type Known = {
  readonly movements: Pick<Movements, 'byHash'>;
  readonly marketId: (index: number) => string;
};
type Rows = Generator<string | Promise<unknown>>;

export function* jsonRows(reader: StatementReader, known: Known): Rows {
  const { fromMs, toMs } = reader;
  const period = { from: fromMs === null ? null : timeText(fromMs), to: timeText(toMs) };
  yield `${JSON.stringify(period).slice(0, -1)},"opening":`;
  yield* jsonBalances(reader, known);
  yield ',"entries":[';
  yield* entries(reader, 'json', ',', known);
  yield '],"closing":';
  yield* jsonBalances(reader, known);
  yield '}';
}

export function* csvRows(reader: StatementReader, known: Known): Rows {
  yield CSV_HEADER;
  const { fromMs, toMs } = reader;
  yield* csvBalances(reader, 'opening_balance', fromMs === null ? '' : timeText(fromMs), known);
  yield* entries(reader, 'csv', '', known);
  yield* csvBalances(reader, 'closing_balance', timeText(toMs), known);
}

/** Each page is requested while the previous one is written. */
function* entries(reader: StatementReader, form: StatementForm, between: string, known: Known): Rows {
  let separator = '';
  for (let page: StatementPage | null = reader.first; page !== null; ) {
    let following: StatementPage | null = null;
    const awaited = page.isLast ? null : reader.next(page).then((next) => (following = next));
    // The answer may have ended before this fails.
    awaited?.catch(() => {});
    for (const part of page.parts) {
      yield separator + (typeof part === 'string' ? part : entryText(form, requested(part, known)));
      separator = between;
    }
    reader.take(page);
    if (awaited !== null) yield awaited;
    page = following;
  }
  reader.close();
}

/** The entry of a deposit or withdrawal, with its id and the operator's reference. */
function requested({ cells, referenceHash }: Exclude<StatementPage['parts'][number], string>, { movements }: Known) {
  const movement = movements.byHash(referenceHash);
  return movement === undefined ? cells : withReference(cells, movement.id, movement.reference);
}

function* jsonBalances(reader: StatementReader, { marketId }: Known): Generator<string> {
  yield `{"usdc_micro":"${reader.usdcMicro}","tokens":[`;
  let separator = '';
  for (const { market, outcome, atomic } of reader.tokens()) {
    const quantity = `"outcome_index":${outcome},"quantity_atomic":"${atomic}"`;
    yield `${separator}{"market_id":"${marketId(market)}",${quantity}}`;
    separator = ',';
  }
  yield ']}';
}

function* csvBalances(
  reader: StatementReader,
  type: Parameters<typeof csvBalance>[0],
  time: string,
  { marketId }: Known,
): Generator<string> {
  yield csvBalance(type, time, { usdcMicro: reader.usdcMicro });
  for (const { market, outcome, atomic } of reader.tokens()) {
    yield csvBalance(type, time, { market: marketId(market), outcome, atomic });
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
