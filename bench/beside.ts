/**
 * Runs two checkouts of the project side by side: each round runs the same benches in both, in alternating order, so
 * that disturbances of the machine affect both alike. Each runs with the Node that is installed in it, so two Nodes can
 * be compared. A ratio is this checkout's figure divided by the other's.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Conditions, type Finished, formatShare, formatTable, median, type Row, STOLEN } from './report.ts';

type Comparison = {
  readonly other: string;
  readonly benches: readonly string[];
  readonly rounds: number;
};

/** The results of one run of `bench/main.ts`, as its `--json` writes them. */
type Results = Conditions & { readonly reports: readonly Finished[] };

/** Columns that a single event decides: their ratios mean nothing. */
const LONE_EVENTS = new Set(['max us', 'GCs']);

/** All figures with one name (bench, row and column), by round. */
type Figure = { readonly ours: number[][]; readonly theirs: number[][] };

export function compare({ other, benches, rounds }: Comparison): void {
  const own = join(import.meta.dirname, '..');
  const figures = new Map<string, Figure>();
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [own, other] : [other, own];
    for (const checkout of order) {
      const results = runIn(checkout, benches);
      describe(round, checkout, results);
      collect(figures, results, round, checkout === own ? 'ours' : 'theirs');
    }
  }
  console.log(formatTable(rowsOf(figures)).join('\n'));
}

function runIn(checkout: string, benches: readonly string[]): Results {
  const scratch = mkdtempSync(join(tmpdir(), 'beside-'));
  const json = join(scratch, 'results.json');
  try {
    const only = benches.flatMap((name) => ['--only', name]);
    const args = ['shared/run.mjs', '--expose-gc', 'bench/main.ts', ...only, '--json', json];
    const { status } = spawnSync(process.execPath, args, { cwd: checkout, stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new Error(`the benches failed in ${checkout}, exit code ${status}`);
    return JSON.parse(readFileSync(json, 'utf8'));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function describe(round: number, checkout: string, { commit, node, loadAverage, reports }: Results): void {
  const stolen = reports.map(({ bench, stolen: share }) => `${bench} ${formatShare(share)}`).join(', ');
  const conditions = `${checkout} at ${commit} on Node ${node}, load ${loadAverage.toFixed(2)}`;
  console.log(`round ${1 + round}, ${conditions}, stolen: ${stolen}`);
}

function collect(figures: Map<string, Figure>, { reports }: Results, round: number, side: keyof Figure): void {
  for (const { bench, rows } of reports) {
    for (const row of rows) {
      for (const [column, cell] of Object.entries(row)) {
        if (column === STOLEN || LONE_EVENTS.has(column) || typeof cell !== 'number') continue;
        const name = `${bench}: ${nameOf(row)}, ${column}`;
        const figure = figures.get(name) ?? { ours: [], theirs: [] };
        figures.set(name, figure);
        figure[side][round] = [...(figure[side][round] ?? []), cell];
      }
    }
  }
}

/** A row is identified by its texts. The gateway bench counts its own rounds in one, and those are repetitions here. */
function nameOf(row: Row): string {
  const texts = Object.entries(row).filter(([column, cell]) => column !== STOLEN && typeof cell === 'string');
  return texts
    .map(([, cell]) => String(cell).replace(/^\d+, /, ''))
    .filter((text) => text !== '')
    .join(', ');
}

function rowsOf(figures: ReadonlyMap<string, Figure>): Row[] {
  return [...figures].flatMap(([figure, { ours, theirs }]) => {
    const ratios = ours.flatMap((values, round) => (theirs[round] ? [median(values) / median(theirs[round])] : []));
    // A row that only one of the two has is not compared.
    if (ratios.length === 0) return [];
    const row = { figure, this: median(ours.flat()), other: median(theirs.flat()), 'median ratio': median(ratios) };
    return [{ ...row, lowest: Math.min(...ratios), highest: Math.max(...ratios) }];
  });
}
