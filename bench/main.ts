/**
 * Runs the benches one after the other and prints a table each, or compares this checkout with another one:
 *
 *   npm run bench -- [--only NAME]... [--full] [--trades COUNT] [--accounts COUNT] [--months COUNT]
 *                    [--orders COUNT] [--attack NAME]... [--read PATH]... [--json FILE] [--html FILE]
 *   npm run bench -- --beside DIRECTORY [--only NAME]... [--rounds COUNT]
 *
 * A missed goal is reported and does not fail the run: on a shared machine a person has to judge a figure. A bench that
 * finds an error fails the run, and so does a missed goal of bytes or counts that says so.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compare } from './beside.ts';
import { renderPage } from './page.ts';
import { type Conditions, type Finished, formatReport, type Report, readConditions, StealMeter } from './report.ts';

/** In order of running; loaded on demand, so that one bench alone pays for nothing else. */
const BENCHES = [
  'speed',
  'matching',
  'recovery',
  'resolution',
  'settlement',
  'snapshots',
  'snapshotCosts',
  'ring',
  'journal',
  'replication',
  'cluster',
  'marks',
  'projector',
  'history',
  'archive',
  'publicHistory',
  'account',
  'catalogue',
  'signatures',
  'hotMarket',
  'gateway',
  'gateways',
  'latency',
  'streaming',
  'scaling',
  'memory',
  'remembered',
  'accounts',
  'years',
  'hostile',
  'hostileReads',
  'victim',
  'logReader',
  'backup',
  'sessions',
  'control',
  'frames',
  'pageLoad',
] as const;

/** The hot paths: the benches to compare before and after a change that should cost nothing. */
const COMPARED = ['matching', 'ring', 'gateway'];

/**
 * `--full`, `--trades`, `--accounts`, `--months` and `--orders` are for benches that are small otherwise; `--attack`
 * and `--read` leave out the others.
 */
type Bench = {
  run(options: {
    readonly isFull: boolean;
    readonly trades?: number | undefined;
    readonly accounts?: number | undefined;
    readonly months?: number | undefined;
    readonly orders?: number | undefined;
    readonly attacks?: readonly string[] | undefined;
    readonly reads?: readonly string[] | undefined;
  }): Promise<Report>;
};

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    full: { type: 'boolean', default: false },
    trades: { type: 'string' },
    accounts: { type: 'string' },
    months: { type: 'string' },
    orders: { type: 'string' },
    attack: { type: 'string', multiple: true },
    read: { type: 'string', multiple: true },
    json: { type: 'string' },
    html: { type: 'string' },
    beside: { type: 'string' },
    rounds: { type: 'string', default: '3' },
  },
});
const unknown = values.only?.find((name) => !BENCHES.some((bench) => bench === name));
if (unknown !== undefined) {
  console.error(`there is no bench ${unknown}; there is ${BENCHES.join(', ')}`);
  process.exit(2);
}
if (values.beside !== undefined) {
  compare({ other: resolve(values.beside), benches: values.only ?? COMPARED, rounds: Number(values.rounds) });
} else {
  await runAll(values.only ?? BENCHES);
}

async function runAll(names: readonly string[]): Promise<void> {
  if (globalThis.gc === undefined) console.error('without --expose-gc a collection may fall into a measured run');
  const conditions = readConditions();
  console.log(describe(conditions));
  const reports: Finished[] = [];
  for (const name of names) {
    try {
      reports.push(await runOne(name));
    } catch (error) {
      // A wrong total or a missing addon spoils this bench alone, and the exit code says so.
      console.error(`${name}: failed`, error);
      process.exitCode = 1;
    }
  }
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify({ ...conditions, reports }, null, 2)}\n`);
  }
  if (values.html !== undefined) writeFileSync(values.html, renderPage(conditions, reports));
}

async function runOne(name: string): Promise<Finished> {
  const steal = new StealMeter();
  const start = performance.now();
  const bench = (await import(`./${name}.bench.ts`)) as Bench;
  const report = await bench.run({
    isFull: values.full,
    trades: countOf(values.trades),
    accounts: countOf(values.accounts),
    months: countOf(values.months),
    orders: countOf(values.orders),
    attacks: values.attack,
    reads: values.read,
  });
  if (report.goals.some(({ isMet, isBinding }) => isBinding === true && !isMet)) process.exitCode = 1;
  const seconds = (performance.now() - start) / 1000;
  const stolen = steal.percent();
  const share = typeof stolen === 'number' ? `${stolen.toFixed(1)} %` : stolen;
  console.log(`${formatReport(report)}  ${seconds.toFixed(1)} s, stolen ${share}\n`);
  return { ...report, seconds, stolen };
}

function countOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function describe({ machine, node, commit, date, loadAverage, verifier }: Conditions): string {
  return `${machine}, verifier ${verifier}\nnode ${node}, commit ${commit}, ${date}, load ${loadAverage.toFixed(2)}\n`;
}
