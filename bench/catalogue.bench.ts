/**
 * What do lists and public statistics cost if the catalogue and the history are large? Runs the queries of the pool
 * over a read.db with few trades and over one with many. This should make no difference: statistics are updated as
 * trades arrive, and no query scans data that grows. Then measures how long the catalogue that the gateway keeps in
 * memory takes to open, and its memory; then the whole server with the same number of markets (catalogueServer.ts).
 *
 * The sizes are small unless `--full` is given: 100,000 markets, 10,000 events, 100,000 accounts, and 10 million trades
 * or the number in `--trades`.
 */

import { openControlDatabase } from '../gateway/base/database.ts';
import { Catalog } from '../gateway/markets/catalog.ts';
import { assert } from '../shared/base/assert.ts';
import { makeHistory, type Sizes } from './catalogueHistory.ts';
import { type Measured, measureQueries, QUERIES } from './catalogueQueries.ts';
import { measureServer } from './catalogueServer.ts';
import { atMost, type Goal, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const SMALL: Sizes = { markets: 1000, events: 100, accounts: 500, trades: 40_000 };
const FULL: Sizes = { markets: 100_000, events: 10_000, accounts: 100_000, trades: 10_000_000 };
/** The history with which the large one is compared. */
const FEW_TRADES = 10_000;
const MOST_GROWTH = 2;

type Options = { readonly isFull?: boolean; readonly trades?: number | undefined };

export async function run({ isFull = false, trades }: Options = {}): Promise<Report> {
  const preset = isFull ? FULL : SMALL;
  const sizes = { ...preset, trades: trades ?? preset.trades };
  const before = makeHistory({ ...sizes, trades: FEW_TRADES });
  const after = makeHistory(sizes);
  const few = measureQueries(before.readDbPath, { ...sizes, trades: FEW_TRADES });
  const many = measureQueries(after.readDbPath, sizes);
  const opened = measureCatalog(after.controlDbPath, sizes);
  const overHttp = await measureServer(sizes);
  return {
    bench: 'catalogue',
    settings:
      `${sizes.markets} markets, ${sizes.events} events, ${sizes.accounts} accounts, ${FEW_TRADES} and ` +
      `${sizes.trades} trades of thirty days, most of them in a few markets; ${QUERIES} queries of each kind in the ` +
      `bench's own thread, then ${overHttp.settings}`,
    rows: [
      projectorRow(FEW_TRADES, before.usPerTrade),
      projectorRow(sizes.trades, after.usPerTrade),
      ...few.rows,
      ...many.rows,
      opened,
      ...overHttp.rows,
    ],
    goals: [...growthGoals(few.byName, many.byName), ...overHttp.goals],
  };
}

function projectorRow(trades: number, usPerTrade: number): Row {
  return { what: `projector, a trade of ${trades}`, 'processor us': usPerTrade };
}

function growthGoals(few: ReadonlyMap<string, Measured>, many: ReadonlyMap<string, Measured>): Goal[] {
  return [...many].map(([name, measured]) => {
    const before = few.get(name)!;
    const isLonger = measured.rowsOfAnswer > before.rowsOfAnswer;
    const growth = isLonger ? usPerRow(measured) / usPerRow(before) : measured.p50Us / before.p50Us;
    const of = isLonger ? 'median per row of its longer answer' : 'median';
    return atMost(`${name}: ${of} beside that of ${FEW_TRADES} trades`, growth, MOST_GROWTH);
  });
}

function usPerRow({ p50Us, rowsOfAnswer }: Measured): number {
  return p50Us / Math.max(1, rowsOfAnswer);
}

/** Opens the catalogue as a start of the gateway does, and measures its memory. */
function measureCatalog(controlDbPath: string, { markets, events }: Sizes): Row {
  assert(globalThis.gc !== undefined, 'catalogue: needs --expose-gc');
  const steal = new StealMeter();
  const database = openControlDatabase(controlDbPath);
  globalThis.gc();
  const before = process.memoryUsage();
  const startedMs = performance.now();
  const catalog = new Catalog(database, 1);
  const openedMs = performance.now() - startedMs;
  globalThis.gc();
  const after = process.memoryUsage();
  assert(catalog.markets.length === markets && catalog.events.length === events, 'catalogue: all of it is opened');
  database.close();
  const bytes = after.heapUsed + after.external - before.heapUsed - before.external;
  return {
    what: `catalogue of ${markets} markets opened from control.db`,
    'took ms': openedMs,
    'bytes a market': bytes / markets,
    [STOLEN]: steal.percent(),
  };
}
