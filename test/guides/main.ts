/**
 * `npm run guides`: runs every command of README.md and of the documents in data/docs, each document in a fresh copy of
 * the project with a server of its own. `npm run guides -- FILE …` runs these alone. CONTRIBUTING.md says how commands
 * are marked. Prints how long each took, and each section. Ends with 1 if one
 * failed, and says where: file and line.
 */
import { outcomesOf } from './document.ts';
import { guides } from './guides.ts';

/** A document waits for its servers half of the time. */
const AT_A_TIME = 3;

const counts = { passed: 0, failed: 0, skipped: 0 };
const left = process.argv.length > 2 ? process.argv.slice(2) : guides();

/** Documents one after the other, with what became of each printed when it ends. */
async function runDocuments(): Promise<void> {
  for (let path = left.shift(); path !== undefined; path = left.shift()) {
    const lines: string[] = [];
    const sections = new Map<string, number>();
    try {
      for await (const { line, section, tookMs, kind, reason } of outcomesOf(path)) {
        counts[kind]++;
        sections.set(section, (sections.get(section) ?? 0) + tookMs);
        lines.push(`${kind}  ${path}:${line}  ${seconds(tookMs)}${reason === '' ? '' : `  ${reason}`}`);
      }
    } catch (error) {
      counts.failed++;
      lines.push(`failed  ${path}:${(error as Error).message}`);
    }
    for (const [section, tookMs] of sections) lines.push(`${seconds(tookMs).padStart(9)}  ${path}, ${section}`);
    if (lines.length > 0) console.log(lines.join('\n'));
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

await Promise.all(Array.from({ length: AT_A_TIME }, runDocuments));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed === 0 ? 0 : 1);
