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

/** A document waits for its servers half of the time. */
const AT_A_TIME = 3;

const counts = { passed: 0, failed: 0, skipped: 0 };
const left = process.argv.length > 2 ? process.argv.slice(2) : guides();

/** Documents one after the other, with what became of each printed when it ends. */
async function runDocuments(): Promise<void> {
  for (let path = left.shift(); path !== undefined; path = left.shift()) {
    const lines: string[] = [];
    try {
      for await (const { line, kind, reason } of outcomesOf(readFileSync(join(ROOT, path), 'utf8'))) {
        counts[kind]++;
        lines.push(`${kind}  ${path}:${line}${reason === '' ? '' : `  ${reason}`}`);
      }
    } catch (error) {
      counts.failed++;
      lines.push(`failed  ${path}:${(error as Error).message}`);
    }
    if (lines.length > 0) console.log(lines.join('\n'));
  }
}

await Promise.all(Array.from({ length: AT_A_TIME }, runDocuments));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed === 0 ? 0 : 1);
