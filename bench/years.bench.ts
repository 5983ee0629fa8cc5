/**
 * Does an exchange cost what is open, or what has been? Months of a venue (venue.ts) in a real exchange of one shard
 * with a virtual clock and small bounds: orders are forgotten, hashes spill, journals are trimmed, orders that never
 * filled are archived, days of public history are published, and backups are made. At the end of each month the
 * exchange starts again, after each other month because it was killed.
 *
 * `--months` and `--orders` (of a month) say how much. A quantity may grow by what is listed below as kept for ever; a
 * quantity that grows beyond it fails the run. Times are in the table and decide nothing.
 */
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../test/support/eventually.ts';
import type { TestServer } from '../test/support/server.ts';
import type { Trader } from '../test/support/traders.ts';
import { type Been, judge, type Kept } from './growth.ts';
import { quantile, timesOf } from './oneAfterAnother.ts';
import { residentBytes, whenIdle } from './processStat.ts';
import { formatTable, type Goal, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { DAYS, Venue } from './venue.ts';

const TIMED_ORDERS = 200;
const TIMED_READS = 20;
const MEGABYTE = 1e6;

/** The units that a quantity may keep for ever, by how its name begins; the rest of it has to be flat. */
const KEPT: Readonly<Record<string, Kept>> = {
  // Files of few orders are mostly empty pages.
  'disk archive': { orders: 400 },
  // A day of a market has files of its own, however few its orders are.
  'disk history': { orders: 60, trades: 200, markets: 250_000 },
  // Points of the past stay for a year, and each has the parts of the databases that have changed.
  'disk backups': { orders: 2500 },
  'disk read': { trades: 2500, accounts: 2500, markets: 12_000 },
  'disk control': { accounts: 3000, markets: 4000 },
  'disk snapshot': { accounts: 1500, markets: 1500 },
  'disk audit': { accounts: 1500, markets: 6000 },
  memory: { accounts: 1500, markets: 1500 },
  resident: { accounts: 1500, markets: 1500 },
  'count accounts': { accounts: 1 },
  // The public history has some files for each day of a market, a backup the new parts of each database.
  'files history': { markets: 150 },
  'files backups': { markets: 5 },
};
/** The units up to which a quantity fills, by how its name begins; what it has up to there is no growth. */
const FILLED_TO: Readonly<Record<string, number>> = {
  // Checkpoints of read.db begin at 64 MiB.
  'disk WAL': 72 * MEGABYTE,
  // JOURNAL_KEEP and SNAPSHOT_EVERY of the venue, with up to 2 kB a record.
  'disk journal': 50 * MEGABYTE,
  // 64 MiB for each maker and the taker.
  'disk private': 340 * MEGABYTE,
};
/** Growth over all months that does not count: garbage, pages of a database that are half full. */
const SLACK_BYTES = 4 * MEGABYTE;
const SLACK_COUNT = 1000;

type Options = { readonly months?: number | undefined; readonly orders?: number | undefined };
type Quantities = Map<string, number>;
type Month = { readonly been: Been; readonly quantities: Quantities; readonly row: Row };

export async function run({ months = 6, orders = 20_000 }: Options = {}): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-years-'));
  const venue = new Venue(folder);
  const past: Month[] = [];
  const steal = new StealMeter();
  try {
    await venue.open();
    for (let number = 1; number <= months; number++) {
      past.push(await playMonth(venue, number, orders));
      console.log(formatTable([past.at(-1)!.row, ...quantityRows(past.slice(-1))]).join('\n'));
    }
    const last = past.at(-1)!.been;
    return {
      bench: 'years',
      settings:
        `${months} months of ${DAYS} days, ${last.orders.toLocaleString('en')} orders, ${last.trades} trades of a ` +
        `taker, ${last.accounts} accounts, ${last.markets} markets; 1 shard`,
      rows: [...past.map(({ row }) => row), ...quantityRows(past), { month: 'all', [STOLEN]: steal.percent() }],
      goals: goalsOf(past),
      charts: chartsOf(past),
    };
  } finally {
    await venue.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function playMonth(venue: Venue, number: number, orders: number): Promise<Month> {
  const { server } = venue;
  const [ordersBefore, startMs] = [venue.been.orders, performance.now()];
  const writtenBefore = writtenBytes(server.pid!);
  await venue.month(orders);
  await caughtUp(server);
  const written = writtenBytes(server.pid!) - writtenBefore;
  const made = venue.been.orders - ordersBefore;
  const seconds = (performance.now() - startMs) / 1000;
  await venue.backUp();
  const quantities: Quantities = new Map();
  await addMemory(quantities, server, 'before the restart');
  const { maker, taker, first } = venue.accounts;
  const p99 = quantile(await timesOf(taker, venue.market, TIMED_ORDERS), 0.99);
  const reads = {
    'orders of a maker, ms': await readMs(maker, '/v1/user/orders/v2'),
    'orders of the first, ms': await readMs(first, '/v1/user/orders/v2'),
    'trades, ms': await readMs(taker, '/v1/user/trades/v2'),
    'activity, ms': await readMs(maker, '/v1/user/activity'),
    'markets, ms': await readMs(taker, '/v1/markets'),
  };
  const startSeconds = await venue.restart(number % 2 === 1);
  await caughtUp(server);
  await addMemory(quantities, server, 'after it');
  addFiles(quantities, server.dataDir, venue);
  const row: Row = {
    month: number,
    'orders so far': venue.been.orders,
    'orders a second': made / seconds,
    'start s': startSeconds,
    'order p99 ms': p99,
    'bytes written an order': written / made,
    ...reads,
  };
  return { been: venue.been, quantities, row };
}

/** Resolves once all followers have everything and what is due by time has been done. */
async function caughtUp(server: TestServer): Promise<void> {
  await eventually('read.db and the public history have everything', async () => {
    const lags = await metricsOf(
      server,
      /^exchange_(?:projector|public_history)_lag_records\{([^}]*)\} ([0-9.e+]+)$/gm,
    );
    return lags.length > 0 && lags.every(([, value]) => value === 0);
  });
  await whenIdle(server.pid!);
}

async function metricsOf(server: TestServer, form: RegExp): Promise<[string, number][]> {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const response = await fetch(`${server.adminUrl}/metrics`, { headers });
  return [...(await response.text()).matchAll(form)].map(([, labels, value]) => [labels, Number(value)]);
}

async function addMemory(quantities: Quantities, server: TestServer, when: string): Promise<void> {
  for (const [labels, value] of await metricsOf(server, /^exchange_thread_memory_bytes\{([^}]*)\} ([0-9.e+]+)$/gm)) {
    if (!/kind="(used|external)"/.test(labels)) continue;
    const name = `memory ${/thread="([^"]*)"/.exec(labels)![1]}, ${when}`;
    quantities.set(name, (quantities.get(name) ?? 0) + value);
  }
  quantities.set(`resident, ${when}`, residentBytes(server.pid!));
  for (const [labels, value] of await metricsOf(server, /^exchange_bound_used\{bound="([^"]*)"\} ([0-9.e+]+)$/gm))
    quantities.set(`count ${labels}, ${when}`, value);
}

function addFiles(quantities: Quantities, dataDir: string, { historyDir, backups }: Venue): void {
  const add = (kind: string, { bytes, files }: Sizes): void => {
    quantities.set(`disk ${kind}`, (quantities.get(`disk ${kind}`) ?? 0) + bytes);
    quantities.set(`files ${kind}`, (quantities.get(`files ${kind}`) ?? 0) + files);
  };
  // Names differ by shard, number and hash.
  for (const name of readdirSync(dataDir)) {
    const kind = /^[a-z]+/i.exec(name)?.[0] ?? name;
    add(name.endsWith('-wal') ? `WAL of ${kind}` : kind, sizesOf(join(dataDir, name)));
  }
  add('history (public)', sizesOf(historyDir));
  add('backups', sizesOf(backups));
}

type Sizes = { readonly bytes: number; readonly files: number };

function sizesOf(path: string): Sizes {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return { bytes: 0, files: 0 };
  if (!stat.isDirectory()) return { bytes: stat.size, files: 1 };
  return readdirSync(path)
    .map((name) => sizesOf(join(path, name)))
    .reduce((sum, { bytes, files }) => ({ bytes: sum.bytes + bytes, files: sum.files + files }), {
      bytes: 0,
      files: 0,
    });
}

/** Bytes that the process has had written to disks. */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))![1]);
}

async function readMs(trader: Trader, path: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < TIMED_READS; count++) {
    const startMs = performance.now();
    const { status } = await trader.send('GET', path);
    if (status !== 200) throw new Error(`years: ${path} is answered with ${status}`);
    times.push(performance.now() - startMs);
  }
  return quantile(times, 0.5);
}

function namesOf(past: readonly Month[]): string[] {
  return [...new Set(past.flatMap(({ quantities }) => [...quantities.keys()]))].sort();
}

function valuesOf(past: readonly Month[], name: string): number[] {
  return past.map(({ quantities }) => quantities.get(name) ?? 0);
}

function isBytes(name: string): boolean {
  return !/^(?:count|files) /.test(name);
}

/** The quantities at the end of three months, and what of them has no bound. */
function quantityRows(past: readonly Month[]): Row[] {
  const shown = [...new Set([0, past.length >>> 1, past.length - 1])];
  return namesOf(past)
    .filter((name) => valuesOf(past, name).some((value) => value > 0))
    .map((name) => ({
      month: isBytes(name) ? `${name}, MB` : name,
      ...Object.fromEntries(
        shown.map((index) => [
          `after ${past[index].been.orders} orders`,
          (past[index].quantities.get(name) ?? 0) / (isBytes(name) ? MEGABYTE : 1),
        ]),
      ),
      'beyond what is kept, an order': verdictOf(past, name).perOrder,
    }));
}

function verdictOf(past: readonly Month[], name: string) {
  const values = valuesOf(past, name).map((value) => Math.max(value - (limitOf(FILLED_TO, name) ?? 0), 0));
  const been = past.map((month) => month.been);
  return judge(values, been, limitOf(KEPT, name) ?? {}, isBytes(name) ? SLACK_BYTES : SLACK_COUNT);
}

function limitOf<T>(limits: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.entries(limits).find(([begin]) => name.startsWith(begin))?.[1];
}

function goalsOf(past: readonly Month[]): Goal[] {
  const growing = namesOf(past).filter((name) => verdictOf(past, name).isGrowing);
  const claim = 'no quantity grows with what has been, beyond what is kept for ever';
  const measured = growing.map((name) => `${name}: ${verdictOf(past, name).perOrder.toFixed(3)} an order`).join('; ');
  return [{ claim, measured: measured || 'none does', isMet: growing.length === 0, isBinding: true }];
}

function chartsOf(past: readonly Month[]) {
  const names = namesOf(past).filter(isBytes);
  return ['memory', 'disk'].map((group) => ({
    title: `${group}, MB at the end of each month`,
    lines: names
      .filter((name) => name.startsWith(group))
      .map((name) => ({ name, values: valuesOf(past, name).map((value) => value / MEGABYTE) }))
      .filter(({ values }) => Math.max(...values) >= 1),
  }));
}
