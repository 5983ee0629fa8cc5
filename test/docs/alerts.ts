/** gateway/web/browser/ops/alerts.ts: what the operations page knows of the alerts, as data/deploy declares them. */
import { alertRules } from '../support/alertRules.ts';

export const ALERTS_FILE = new URL('../../gateway/web/browser/ops/alerts.ts', import.meta.url);

/** A line that begins with the word would be taken for an export of this file. */
const EXPORT = 'export';
const HEAD = `/**
 * The alerts of data/deploy/prometheus/rules.yml: how urgent each is, the section of incidents.md that says what to do,
 * its bound, and for how long it has to hold. \`npm run docs\` writes this file.
 */
${EXPORT} type Alert = {
  /** \`page\` needs a person now, \`ticket\` within a working day. */
  readonly severity: 'page' | 'ticket';
  readonly runbook: string;
  /** The number that the alert compares with; null if it compares with a metric. */
  readonly bound: number | null;
  /** It rings when its condition has held for this long. */
  readonly lastsSec: number;
};

const alert = (severity: Alert['severity'], runbook: string, bound: number | null, lastsSec = 0): Alert => {
  return { severity, runbook, bound, lastsSec };
};

${EXPORT} const ALERTS = {
`;
/** A comparison with a number, or a product of numbers; times a metric it is a share of that. */
const BOUND = /[<>=]=? *((?:[\d.]+(?:e\d+)?)(?: \* [\d.]+(?:e\d+)?)*)(?![\d.]*[a-z_])/g;

export function alertsFile(): string {
  const rows = alertRules()
    .filter(({ severity }) => severity !== 'none')
    .map(({ name, severity, anchor, expr, forSec }) => {
      const lasts = forSec === 0 ? '' : `, ${forSec}`;
      return `  ${name}: alert('${severity}', '${anchor}', ${boundOf(expr)}${lasts}),\n`;
    });
  return `${HEAD}${rows.join('')}};\n`;
}

/** The last one, because what comes before it says when the alert applies at all. */
function boundOf(expr: string): number | null {
  const product = [...expr.matchAll(BOUND)].at(-1)?.[1];
  if (product === undefined) return null;
  return product.split(' * ').reduce((all, factor) => all * Number(factor), 1);
}
