/**
 * Renders a run of the benches as one page: first the goals, met and missed, then every bench with its distributions
 * and its table. The file is self-contained: no script, no font, nothing from a network.
 */
import { escapeText, renderChart, renderPlot } from './plot.ts';
import { type Conditions, columnsOf, type Finished, formatCell, formatNumber, type Goal, type Row } from './report.ts';

export function renderPage(conditions: Conditions, reports: readonly Finished[]): string {
  const goals = reports.flatMap((report) => report.goals);
  const met = goals.filter(({ isMet }) => isMet).length;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Bench ${escapeText(conditions.commit)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>Bench</h1>
<dl>${conditionList(conditions)}</dl>
</header>
${summary(goals, met)}
${reports.map(section).join('\n')}
</body>
</html>
`;
}

function conditionList({ machine, node, commit, date, loadAverage }: Conditions): string {
  const facts = {
    machine,
    node,
    commit,
    date: date.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
    'load before': loadAverage.toFixed(2),
  };
  return Object.entries(facts)
    .map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeText(value)}</dd></div>`)
    .join('');
}

function summary(goals: readonly Goal[], met: number): string {
  if (goals.length === 0) return '';
  const short = goals.length - met;
  const words = short === 0 ? `All ${goals.length} goals are met.` : `${met} of ${goals.length} goals are met.`;
  return `<section><h2>Goals</h2><p>${words} A figure from a machine that is shared needs a reader: look at the
stolen time beside it before you believe it.</p>${goalTable(goals)}</section>`;
}

function section(report: Finished): string {
  const { bench, settings, rows, goals, seconds, stolen } = report;
  const plots = (report.plots ?? []).map(
    (plot) => `<figure><figcaption>${escapeText(plot.title)}</figcaption>${renderPlot(plot)}</figure>`,
  );
  const charts = (report.charts ?? []).map(
    (chart) => `<figure><figcaption>${escapeText(chart.title)}</figcaption>${renderChart(chart)}</figure>`,
  );
  const share = typeof stolen === 'number' ? `${formatNumber(stolen)} %` : stolen;
  return `<section id="${escapeText(bench)}">
<h2>${escapeText(bench)}</h2>
<p>${escapeText(settings)}. It took ${formatNumber(seconds)} s, of which the host gave ${share} to others.</p>
${[...plots, ...charts].join('\n')}
${table(rows)}
${goals.length === 0 ? '' : goalTable(goals)}
</section>`;
}

function goalTable(goals: readonly Goal[]): string {
  const lines = goals.map(
    ({ claim, measured, isMet }) =>
      `<tr><td><span class="${isMet ? 'met' : 'short'}">${isMet ? 'met' : 'SHORT'}</span></td>` +
      `<th>${escapeText(claim)}</th><td>${escapeText(measured)}</td></tr>`,
  );
  return `<div class="wide"><table class="goals">${lines.join('\n')}</table></div>`;
}

/** Empty cells stay empty: a missing figure is not a zero. */
function table(rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const columns = columnsOf(rows);
  const head = columns.map((column) => `<th>${escapeText(column)}</th>`).join('');
  const lines = rows.map((row) => {
    const [first, ...others] = columns.map((column) => escapeText(formatCell(row[column])));
    return `<tr><th>${first}</th>${others.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${lines.join('\n')}</tbody></table></div>`;
}

const LIGHT = ['#2563c9', '#c2410c', '#15803d', '#a21caf', '#0e7490', '#b91c1c', '#854d0e', '#4b5563'];
const DARK = ['#7aa8ff', '#fb923c', '#4ade80', '#e879f9', '#22d3ee', '#f87171', '#facc15', '#9ca3af'];

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f27; --soft: #667085; --paper: #fff; --line: #e4e7ec; --faint: #f3f4f7;
  --met: #15803d; --short: #b42318; ${colors(LIGHT)} }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ee; --soft: #98a2b3; --paper: #14171d; --line: #2b303b;
  --faint: #1b1f27; --met: #4ade80; --short: #fda29b; ${colors(DARK)} } }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 60rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 1rem; font-size: 1.7rem; }
h2 { margin: 2.6rem 0 .4rem; padding-top: 1rem; font-size: 1.2rem; border-top: 1px solid var(--line); }
p { margin: .3rem 0 1rem; color: var(--soft); max-width: 48rem; }
dl { display: flex; flex-wrap: wrap; gap: .6rem 2rem; margin: 0; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; }
figure { margin: 1rem 0 1.5rem; }
figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--line); stroke-width: 1; }
.minor { stroke-opacity: .45; }
polyline { fill: none; stroke-linejoin: round; }
[class^=curve] { stroke-width: 2; }
${LIGHT.map((_, index) => `.curve${index} { stroke: var(--c${index}); }`).join('\n')}
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0 1rem; width: 100%; font-size: .87rem; }
td, th { padding: .3rem .6rem; border-bottom: 1px solid var(--line); font-weight: 400; text-align: right;
  font-variant-numeric: tabular-nums; }
th:first-child, .goals td:first-child, .goals th { text-align: left; }
thead th { color: var(--soft); font-size: .8rem; vertical-align: bottom; }
tbody tr:nth-child(even) { background: var(--faint); }
.goals td:first-child { width: 4rem; }
.met { color: var(--met); }
.short { color: var(--short); font-weight: 700; }
`;

function colors(palette: readonly string[]): string {
  return palette.map((color, index) => `--c${index}: ${color};`).join(' ');
}
