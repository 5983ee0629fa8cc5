/**
 * Does a page of an account cost more if the account is large? Runs every query of accounts over one read.db: for the
 * account with a tenth of all trades or the one with very many positions, and for small accounts with about a hundred
 * trades. A page has as many rows for large as for small accounts.
 *
 * Small unless `--full` (ten million trades) or `--trades` is given.
 */
import Database from 'better-sqlite3';
import { type AccountHistory, FIRST_SMALL, MEASURED_SMALL, makeAccountHistory } from './accountHistory.ts';
import { type AccountQuery, accountQueries } from './accountQueries.ts';
import { Histogram } from './histogram.ts';
import { atMost, type Goal, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const SMALL_TRADES = 100_000;
const FULL_TRADES = 10_000_000;
const PAGE_ROWS = 20;
const MOST_TIMES = 2;
const WARM_UPS = 10;
/** A query runs this many times, or as often as this time allows. */
const MOST_ASKED = 400;
const MOST_MS = 400;

type Options = { readonly isFull: boolean; readonly trades?: number | undefined };
type Measured = { readonly p50Us: number; readonly p99Us: number; readonly processorUs: number; readonly rows: number };

export async function run({ isFull, trades }: Options): Promise<Report> {
  const history = makeAccountHistory(trades ?? (isFull ? FULL_TRADES : SMALL_TRADES));
  const database = new Database(history.path, { readonly: true });
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const query of accountQueries(database, history)) {
    const measured = measureBoth(query);
    rows.push(measured.row);
    if (query.kind === 'page') goals.push(atMost(`${query.name}: large / small`, measured.ratio, MOST_TIMES));
  }
  database.close();
  return { bench: 'account', settings: settingsOf(history), rows, goals };
}

function settingsOf({ trades, markets, accounts }: AccountHistory): string {
  return (
    `${trades} trades in ${markets} markets, ${accounts} accounts: one has ${Math.floor(trades / 10)} of the trades, ` +
    `one ${markets} positions, all others about 100 trades; pages of at most ${PAGE_ROWS} rows, as many for both`
  );
}

/** Compares processor time, because other programs on the machine change it least. */
function measureBoth(query: AccountQuery): { readonly row: Row; readonly ratio: number } {
  const { name, kind, large: account } = query;
  const steal = new StealMeter();
  const smalls = Array.from({ length: MEASURED_SMALL }, (_, index) => FIRST_SMALL + index);
  const limit = Math.max(1, Math.min(PAGE_ROWS, ...smalls.map((small) => query.ask(small, PAGE_ROWS))));
  const small = measure(query, smalls, limit);
  const large = measure(query, [account], limit);
  const ratio = large.processorUs / small.processorUs;
  const row = {
    query: name,
    kind,
    'rows, large': large.rows,
    'rows, small': small.rows,
    'large p50 us': large.p50Us,
    'large p99 us': large.p99Us,
    'small p50 us': small.p50Us,
    'small p99 us': small.p99Us,
    'large processor us': large.processorUs,
    'small processor us': small.processorUs,
    ratio,
    [STOLEN]: steal.percent(),
  };
  return { row, ratio };
}

function measure({ ask }: AccountQuery, accounts: readonly number[], limit: number): Measured {
  const histogram = new Histogram();
  let rows = 0;
  const startedMs = performance.now();
  const isOver = (): boolean => performance.now() - startedMs > MOST_MS;
  for (let index = 0; index < WARM_UPS && !isOver(); index++) ask(accounts[index % accounts.length], limit);
  const before = process.threadCpuUsage();
  do {
    const askedNs = process.hrtime.bigint();
    rows += ask(accounts[histogram.count % accounts.length], limit);
    histogram.record(Number(process.hrtime.bigint() - askedNs));
  } while (histogram.count < MOST_ASKED && !isOver());
  const { user, system } = process.threadCpuUsage(before);
  return {
    p50Us: histogram.quantileUs(0.5),
    p99Us: histogram.quantileUs(0.99),
    processorUs: (user + system) / histogram.count,
    rows: rows / histogram.count,
  };
}
