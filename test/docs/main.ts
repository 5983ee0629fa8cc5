/** Writes the documents that follow from the code (npm run docs). */
import { readFileSync, writeFileSync } from 'node:fs';
import { ALERTS_FILE, alertsFile } from './alerts.ts';
import { POLYMARKET_PAGE, withPolymarketTables } from './polymarket.ts';
import { PROGRAMS_PAGE, withLines } from './programs.ts';
import { pythonFiles } from './python/main.ts';
import { ROOMS_PAGE, roomsPage } from './rooms.ts';
import { CITATIONS_PAGE, citationsPage, INDEX_PAGE, rulesIndex } from './rules.ts';
import { SETTINGS_PAGE, withSettings } from './settings.ts';

writeFileSync(ALERTS_FILE, alertsFile());
writeFileSync(ROOMS_PAGE, roomsPage());
writeFileSync(INDEX_PAGE, rulesIndex(readFileSync(INDEX_PAGE, 'utf8')));
writeFileSync(CITATIONS_PAGE, citationsPage());
writeFileSync(SETTINGS_PAGE, withSettings(readFileSync(SETTINGS_PAGE, 'utf8')));
writeFileSync(POLYMARKET_PAGE, withPolymarketTables(readFileSync(POLYMARKET_PAGE, 'utf8')));
writeFileSync(PROGRAMS_PAGE, withLines(readFileSync(PROGRAMS_PAGE, 'utf8')));
for (const [path, text] of await pythonFiles()) writeFileSync(path, text);
