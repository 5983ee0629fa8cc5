/** Writes the documents that follow from declarations: shared/wire/RECORDS.md and data/docs/metrics.md. */
import { writeFileSync } from 'node:fs';
import { METRICS_PAGE, metricsPage } from './metricsPage.ts';
import { RECORDS_PAGE, recordsPage } from './page.ts';

writeFileSync(RECORDS_PAGE, recordsPage());
writeFileSync(METRICS_PAGE, metricsPage());
