/**
 * The result of a bench and its presentation: one table with units in the column names, goals that are met or missed,
 * and the stolen time, which a reader needs to judge any figure of a virtual machine.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { Kernel } from '../engine/verify/kernel/kernel.ts';
import { verifyThreadsBeside } from '../gateway/wiring/verifyThreads.ts';
import type { CurvePoint } from './histogram.ts';

/** One line of a table: column name to cell. Numbers stay numbers, so that the JSON can be compared by a program. */
export type Row = Readonly<Record<string, string | number>>;

export type Goal = {
  readonly claim: string;
  readonly measured: string;
  readonly isMet: boolean;
  /** A miss fails the run: the figure depends on no other program of the machine. */
  readonly isBinding?: boolean;
};

/** Distributions that belong side by side, for the page. */
export type Plot = {
  readonly title: string;
  readonly curves: readonly { readonly name: string; readonly points: readonly CurvePoint[] }[];
};

/** Values at the same moments after each other. */
export type Chart = {
  readonly title: string;
  readonly lines: readonly { readonly name: string; readonly values: readonly number[] }[];
};

export type Report = {
  readonly bench: string;
  readonly settings: string;
  readonly rows: readonly Row[];
  readonly goals: readonly Goal[];
  readonly plots?: readonly Plot[];
  readonly charts?: readonly Chart[];
};

/** A report, the duration of its bench and the stolen time meanwhile. */
export type Finished = Report & { readonly seconds: number; readonly stolen: number | string };

export type Conditions = {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly machine: string;
  /**
   * The verifier that loads here, and the number of verifier threads that a server of default settings has beside its
   * shard.
   */
  readonly verifier: string;
  /** Average number of runnable threads over the last minute: other programs on the machine slow a bench down. */
  readonly loadAverage: number;
};

export const STOLEN = 'stolen %';

export function readConditions(): Conditions {
  const processors = cpus();
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  return {
    date: new Date().toISOString(),
    commit: readCommit(),
    node: process.version,
    machine: [
      `${processors.length} x ${processors[0]?.model ?? 'unknown processor'}`,
      `${gibibytes} GiB`,
      process.platform,
    ].join(', '),
    verifier: describeVerifier(processors.length),
    loadAverage: loadavg()[0],
  };
}

/** The verifier and the verifier threads of a server with default settings. */
function describeVerifier(cores: number): string {
  return `${new Kernel({ mostSigners: 8 }).name}, ${verifyThreadsBeside(1, cores, 'kernel')} verifier threads`;
}

/** The share of processor time that the host gave to others since this object was made. */
export class StealMeter {
  readonly #start = readProcessorTicks();

  /** Per cent of all processors' time; 'n/a' where the system does not report it. */
  percent(): number | string {
    const end = readProcessorTicks();
    if (this.#start === undefined || end === undefined) return 'n/a';
    const total = end.total - this.#start.total;
    return total === 0 ? 0 : (100 * (end.stolen - this.#start.stolen)) / total;
  }
}

/** Formats the figure of a StealMeter. */
export function formatShare(share: number | string): string {
  return typeof share === 'number' ? `${formatNumber(share)} %` : share;
}

export function atLeast(claim: string, measured: number, least: number): Goal {
  return { claim: `${claim} >= ${formatNumber(least)}`, measured: formatNumber(measured), isMet: measured >= least };
}

export function atMost(claim: string, measured: number, most: number): Goal {
  return { claim: `${claim} <= ${formatNumber(most)}`, measured: formatNumber(measured), isMet: measured <= most };
}

/** The most reliable of several rounds of one task: other load on the machine only makes a program slower. */
export function quietest<T>(rounds: readonly T[], noiseOf: (round: T) => number): T {
  return rounds.reduce((best, round) => (noiseOf(round) < noiseOf(best) ? round : best));
}

/** In per cent of the processors, which are counted in ticks: rounds that differ by less count as equally disturbed. */
const ALIKE = 1;

/**
 * The figure of the quietest of several rounds, or the median of all rounds that were as quiet: of all, if the machine
 * has no other work.
 * @param noiseOf in per cent
 */
export function ofQuietest<T>(
  rounds: readonly T[],
  noiseOf: (round: T) => number,
  figureOf: (round: T) => number,
): number {
  const least = Math.min(...rounds.map(noiseOf));
  return median(rounds.filter((round) => noiseOf(round) < least + ALIKE).map(figureOf));
}

export function formatReport(report: Report): string {
  const lines = [`${report.bench}: ${report.settings}`, ...formatTable(report.rows)];
  for (const goal of report.goals) {
    lines.push(`  ${goal.isMet ? 'pass ' : 'SHORT'}  ${goal.claim}, measured ${goal.measured}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Three significant digits below a thousand, whole numbers with separators above. */
export function formatNumber(value: number): string {
  if (Math.abs(value) >= 1000 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** All columns of a table in the order of their first use; the stolen time, if it is measured, is last. */
export function columnsOf(rows: readonly Row[]): string[] {
  const figures = new Set(rows.flatMap((row) => Object.keys(row)));
  return figures.delete(STOLEN) ? [...figures, STOLEN] : [...figures];
}

export function formatCell(cell: string | number | undefined): string {
  return typeof cell === 'number' ? formatNumber(cell) : (cell ?? '');
}

/** The lines of a table; its first column names the row. */
export function formatTable(rows: readonly Row[]): string[] {
  const columns = columnsOf(rows);
  const cells = [columns, ...rows.map((row) => columns.map((column) => formatCell(row[column])))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column].length)));
  return cells.map((line) =>
    `  ${line.map((cell, column) => pad(cell, widths[column], column)).join('   ')}`.trimEnd(),
  );
}

/** The first column names the row, all others are figures. */
function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function readCommit(): string {
  try {
    const options = { cwd: import.meta.dirname, encoding: 'utf8' } as const;
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], options).trim();
    const isClean = execFileSync('git', ['status', '--porcelain'], options) === '';
    return isClean ? commit : `${commit} with changes`;
  } catch {
    return 'unknown';
  }
}

/** The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, in clock ticks. */
export function readProcessorTicks(): { total: number; busy: number; stolen: number } | undefined {
  let text: string;
  try {
    text = readFileSync('/proc/stat', 'utf8');
  } catch {
    return undefined;
  }
  const ticks = text.slice(0, text.indexOf('\n')).trim().split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle, waiting, , , stolen = 0] = ticks;
  const total = ticks.reduce((sum, value) => sum + value, 0);
  return { total, busy: total - idle - waiting - stolen, stolen };
}
