/** Writes the documents that follow from the code (npm run docs). */
import { readFileSync, writeFileSync } from 'node:fs';
import { errorsPage } from '../../gateway/web/docsErrorsPage.ts';
import { GROUPS } from '../../shared/client/cli/groups.ts';
import { referencePage } from '../../shared/client/cli/written/reference.ts';
import { PROGRAMS_PAGE, withLines } from './programs.ts';
import { pythonFiles } from './python/main.ts';
import { ROOMS_PAGE, roomsPage } from './rooms.ts';
import { CITATIONS_PAGE, citationsPage, INDEX_PAGE, rulesIndex } from './rules.ts';
import { SETTINGS_PAGE, withSettings } from './settings.ts';

writeFileSync(new URL('../../data/docs/errors.md', import.meta.url), errorsPage());
writeFileSync(ROOMS_PAGE, roomsPage());
writeFileSync(new URL('../../data/docs/cli.md', import.meta.url), referencePage(GROUPS));
writeFileSync(INDEX_PAGE, rulesIndex(readFileSync(INDEX_PAGE, 'utf8')));
writeFileSync(CITATIONS_PAGE, citationsPage());
writeFileSync(SETTINGS_PAGE, withSettings(readFileSync(SETTINGS_PAGE, 'utf8')));
writeFileSync(PROGRAMS_PAGE, withLines(readFileSync(PROGRAMS_PAGE, 'utf8')));
for (const [path, text] of await pythonFiles()) writeFileSync(path, text);
