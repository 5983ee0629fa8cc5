/**
 * Runs the benches one after the other and prints a table each:
 * `npm run bench -- [--only NAME]... [--json FILE] [--html FILE]`.
 * Goals that fall short are said and do not fail the run: on a shared machine a figure needs a reader. What does fail
 * it is a bench that finds something wrong.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { renderPage } from './page.ts';
import { type Finished, formatReport, type Report, readConditions, StealMeter } from './report.ts';

/** In order of running; loaded on demand, so that one bench alone pays for nothing else. */
const BENCHES = [
  'matching',
  'recovery',
  'snapshots',
  'ring',
  'journal',
  'projector',
  'signatures',
  'hotMarket',
  'gateway',
  'verifiers',
  'latency',
  'streaming',
  'scaling',
  'memory',
] as const;

type Bench = { run(): Promise<Report> };

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    json: { type: 'string' },
    html: { type: 'string' },
  },
});
const chosen = values.only ?? [...BENCHES];
const unknown = chosen.find((name) => !BENCHES.some((bench) => bench === name));
if (unknown !== undefined) {
  console.error(`there is no bench ${unknown}; there is ${BENCHES.join(', ')}`);
  process.exit(2);
}
if (globalThis.gc === undefined) console.error('without --expose-gc a collection may fall into a measured run');

const conditions = readConditions();
const { machine, node, commit, date, loadAverage, verifier } = conditions;
console.log(
  `${machine}, verifier ${verifier}\nnode ${node}, commit ${commit}, ${date}, load ${loadAverage.toFixed(2)}\n`,
);
const reports: Finished[] = [];
for (const name of chosen) {
  const steal = new StealMeter();
  const start = performance.now();
  const bench = (await import(`./${name}.bench.ts`)) as Bench;
  try {
    const report = await bench.run();
    const seconds = (performance.now() - start) / 1000;
    const stolen = steal.percent();
    reports.push({ ...report, seconds, stolen });
    console.log(formatReport(report));
    console.log(
      `  ${seconds.toFixed(1)} s, stolen ${typeof stolen === 'number' ? `${stolen.toFixed(1)} %` : stolen}\n`,
    );
  } catch (error) {
    // A wrong total or a missing addon spoils this bench alone, and the exit code says so.
    console.error(`${name}: did not come to an end`, error);
    process.exitCode = 1;
  }
}
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify({ ...conditions, reports }, null, 2)}\n`);
}
if (values.html !== undefined) writeFileSync(values.html, renderPage(conditions, reports));
