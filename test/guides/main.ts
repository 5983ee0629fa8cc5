/**
 * `npm run guides`: runs every command of README.md and of the documents in data/docs, each document in a fresh copy of
 * the project with a server of its own. `npm run guides -- FILE …` runs these alone. CONTRIBUTING.md says how commands
 * are marked. Ends with 1 if one failed, and says where: file and line.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { outcomesOf } from './document.ts';
import { guides } from './guides.ts';
import { ROOT } from './project.ts';

const counts = { passed: 0, failed: 0, skipped: 0 };
const paths = process.argv.length > 2 ? process.argv.slice(2) : guides();
for (const path of paths) {
  try {
    for await (const { line, kind, reason } of outcomesOf(readFileSync(join(ROOT, path), 'utf8'))) {
      counts[kind]++;
      console.log(`${kind}  ${path}:${line}${reason === '' ? '' : `  ${reason}`}`);
    }
  } catch (error) {
    counts.failed++;
    console.log(`failed  ${path}:${(error as Error).message}`);
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed === 0 ? 0 : 1);
