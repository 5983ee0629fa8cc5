/** Writes shared/wire/RECORDS.md (npm run records). */
import { writeFileSync } from 'node:fs';
import { RECORDS_PAGE, recordsPage } from './page.ts';

writeFileSync(RECORDS_PAGE, recordsPage());
