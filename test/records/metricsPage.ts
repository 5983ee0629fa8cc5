/** The tables of the document of all metrics, data/docs/metrics.md, from their declarations and the alerts' own. */
import { readFileSync } from 'node:fs';
import { METRICS } from '../../gateway/operator/metricTable.ts';
import { alertRules } from '../support/alertRules.ts';

export const METRICS_PAGE = new URL('../../data/docs/metrics.md', import.meta.url);

const TABLE = '| metric | type | labels | meaning |\n|---|---|---|---|\n';

const ALERTS = '| alert | severity | brought about by | tried with | section |\n|---|---|---|---|---|\n';
/** The files whose tests have real programs bring alerts about. */
const REAL = [
  'fault/alertCauses',
  'fault/alertPages',
  'fault/failingDiskPages',
  'fault/fullDiskPages',
  'fault/restartPages',
  'cluster/alertCauses',
  'chain/alertCauses',
  'api/alerts',
].map((path) => new URL(`../${path}.test.ts`, import.meta.url));

/** Everything but the tables stays. */
export function metricsPage(): string {
  const [text] = readFileSync(METRICS_PAGE, 'utf8').split(TABLE);
  const [before, after] = text!.split(ALERTS);
  const real = REAL.map((file) => readFileSync(file, 'utf8')).join();
  const alerts = alertRules().map(({ name, severity, by, anchor }) => {
    const tried = new RegExp(`['"]${name}[\\\\'"]`).test(real) ? 'a real exchange' : 'series';
    const section = `[${anchor.replaceAll('-', ' ')}](incidents.md#${anchor})`;
    return `| ${name} | ${severity} | ${by.join(', ')} | ${tried} | ${section} |`;
  });
  const rest = after!.replace(/^(\|.*\n)*/, '');
  const rows = Object.entries(METRICS).map(([name, { type, help, labels }]) => {
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(' ')} | ${help} |`;
  });
  return `${before}${ALERTS}${alerts.join('\n')}\n${rest}${TABLE}${rows.join('\n')}\n`;
}
