/** The table in the document of all metrics, data/docs/metrics.md, from their declarations. What is above it stays. */
import { readFileSync } from 'node:fs';
import { METRICS } from '../../gateway/operator/metricTable.ts';

export const METRICS_PAGE = new URL('../../data/docs/metrics.md', import.meta.url);

const TABLE = '| metric | type | labels | meaning |\n|---|---|---|---|\n';

export function metricsPage(): string {
  const [text] = readFileSync(METRICS_PAGE, 'utf8').split(TABLE);
  const rows = Object.entries(METRICS).map(([name, { type, help, labels }]) => {
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(' ')} | ${help} |`;
  });
  return `${text}${TABLE}${rows.join('\n')}\n`;
}
