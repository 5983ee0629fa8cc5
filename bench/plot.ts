/**
 * Pictures of the page: values month by month, and latency distributions, drawn like those of HDR histograms. There on
 * the x axis every step leaves a tenth of the requests (90 %, 99 %, 99.9 % …), so the tail, where systems differ, gets
 * as much room as the middle; on the y axis every step is ten times the duration. A picture is SVG text that depends
 * only on the colours of the page: classes `curve0` … `curve7` and `grid`.
 */
import type { CurvePoint } from './histogram.ts';
import { type Chart, formatNumber, type Plot } from './report.ts';

const PLOT_COLORS = 8;

const WIDTH = 860;
const HEIGHT = 340;
const LEFT = 70;
const RIGHT = 20;
const TOP = 14;
const BOTTOM = 36;
const LEGEND_ROW = 18;
const MOST_NINES = 6;
/** Rounding: 1 - 0.99 is a little more than a hundredth. */
const EPSILON = 1e-9;
/** Lines between the powers of ten, drawn without a label. */
const MINOR_STEPS = [2, 3, 4, 5, 6, 7, 8, 9];

export function renderPlot(plot: Plot): string {
  const curves = plot.curves.filter(({ points }) => points.length > 0);
  if (curves.length === 0) return '';
  const all = curves.flatMap(({ points }) => points);
  const nines = Math.min(MOST_NINES, Math.max(1, ...all.map(([share]) => ninesOf(share))));
  const times = all.map(([, us]) => us).filter((us) => us > 0);
  const lowest = Math.floor(Math.log10(Math.min(...times)));
  const highest = Math.max(lowest + 1, Math.ceil(Math.log10(Math.max(...times))));
  const toX = (share: number): number => LEFT + (Math.min(ninesOf(share), nines) / nines) * (WIDTH - LEFT - RIGHT);
  const toY = (us: number): number => {
    const height = (Math.log10(Math.max(us, 10 ** lowest)) - lowest) / (highest - lowest);
    return HEIGHT - BOTTOM - height * (HEIGHT - TOP - BOTTOM);
  };
  const legend = curves.map(({ name }, index) => renderLegend(name, index));
  const height = HEIGHT + LEGEND_ROW * curves.length;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeText(plot.title)}">`,
    ...timeAxis(lowest, highest, toY),
    ...shareAxis(nines, toX),
    ...curves.map(({ points }, index) => renderCurve(points, index, toX, toY)),
    ...legend,
    '</svg>',
  ].join('\n');
}

/** Values from the first moment on the left to the last on the right, from 0 at the bottom. */
export function renderChart({ title, lines }: Chart): string {
  const most = Math.max(...lines.flatMap(({ values }) => values), 0);
  const steps = Math.max(...lines.map(({ values }) => values.length), 0) - 1;
  if (most === 0 || steps < 1) return '';
  const toX = (index: number): number => LEFT + (index / steps) * (WIDTH - LEFT - RIGHT);
  const toY = (value: number): number => HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
  const marks = [0, most / 2, most].flatMap((value) => [
    horizontal(toY(value), 'grid'),
    label(LEFT - 8, toY(value) + 4, 'end', formatNumber(value)),
  ]);
  const curves = lines.map(({ values }, line) => {
    const path = values.map((value, index) => `${toX(index).toFixed(1)},${toY(value).toFixed(1)}`).join(' ');
    return `<polyline class="curve${line % PLOT_COLORS}" points="${path}"/>`;
  });
  const height = HEIGHT + LEGEND_ROW * lines.length;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeText(title)}">`,
    ...marks,
    label(LEFT, HEIGHT - BOTTOM + 18, 'middle', '1'),
    label(WIDTH - RIGHT, HEIGHT - BOTTOM + 18, 'middle', String(steps + 1)),
    ...curves,
    ...lines.map(({ name }, index) => renderLegend(name, index)),
    '</svg>',
  ].join('\n');
}

export function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The number of nines of a share: 0.9 has one, 0.999 three. */
export function ninesOf(share: number): number {
  return -Math.log10(Math.max(1 - share, 10 ** -MOST_NINES));
}

function timeAxis(lowest: number, highest: number, toY: (us: number) => number): string[] {
  const lines: string[] = [];
  for (let power = lowest; power <= highest; power++) {
    const y = toY(10 ** power);
    lines.push(horizontal(y, 'grid'), label(LEFT - 8, y + 4, 'end', formatTime(10 ** power)));
    if (power < highest) lines.push(...MINOR_STEPS.map((step) => horizontal(toY(step * 10 ** power), 'grid minor')));
  }
  return lines;
}

function shareAxis(nines: number, toX: (share: number) => number): string[] {
  const lines: string[] = [];
  const shares = [0, 0.5, ...Array.from({ length: Math.floor(nines + EPSILON) }, (_, index) => 1 - 10 ** -(index + 1))];
  for (const share of shares) {
    const x = toX(share).toFixed(1);
    lines.push(`<line class="grid" x1="${x}" x2="${x}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>`);
    lines.push(label(Number(x), HEIGHT - BOTTOM + 18, 'middle', `${Number((100 * share).toFixed(4))} %`));
  }
  return lines;
}

function renderCurve(
  points: readonly CurvePoint[],
  index: number,
  toX: (share: number) => number,
  toY: (us: number) => number,
): string {
  const path = points.map(([share, us]) => `${toX(share).toFixed(1)},${toY(us).toFixed(1)}`).join(' ');
  return `<polyline class="curve${index % PLOT_COLORS}" points="${path}"/>`;
}

function renderLegend(name: string, index: number): string {
  const y = HEIGHT + LEGEND_ROW * index + 4;
  const line = `<line class="curve${index % PLOT_COLORS}" x1="${LEFT}" x2="${LEFT + 26}" y1="${y}" y2="${y}"/>`;
  return line + label(LEFT + 34, y + 4, 'start', name);
}

function horizontal(y: number, kind: string): string {
  return `<line class="${kind}" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}"/>`;
}

function label(x: number, y: number, anchor: string, text: string): string {
  return `<text x="${x}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escapeText(text)}</text>`;
}

function formatTime(us: number): string {
  if (us >= 1e6) return `${us / 1e6} s`;
  if (us >= 1000) return `${us / 1000} ms`;
  return us >= 1 ? `${us} µs` : `${Math.round(us * 1000)} ns`;
}
