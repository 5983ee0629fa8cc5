/**
 * `npm run guides`: runs every command of README.md and of the documents in data/docs, each document in a fresh copy of
 * the project with a server of its own, and the steps that change a machine on a machine made for them (rootWalk.ts).
 * `npm run guides -- FILE …` runs these alone, `npm run guides -- machine` that one. CONTRIBUTING.md says how commands
 * are marked. Prints how long each took, and each section, and the blocks that no run executes. Ends with 1 if one
 * failed, and says where: file and line.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf } from './blocks.ts';
import { outcomesOf } from './document.ts';
import { guides } from './guides.ts';
import { ROOT } from './project.ts';
import { ON_MACHINE, rootOutcomes } from './rootWalk.ts';

/** A document waits for its servers, and for what rings, most of the time. */
const AT_A_TIME = 3;
/** These take a quarter of an hour on the clock, each step after the other: they begin first. */
const LONGEST = [ON_MACHINE, ...['drills', 'disasters', 'cluster', 'cash'].map((name) => `data/docs/${name}.md`)];

const counts = { passed: 0, failed: 0, skipped: 0 };
const isAll = process.argv.length === 2;
const left = isAll ? [...new Set([...LONGEST, ...guides()])] : process.argv.slice(2);

/** Documents one after the other, with what became of each printed when it ends. */
async function runDocuments(): Promise<void> {
  for (let path = left.shift(); path !== undefined; path = left.shift()) {
    const lines: string[] = [];
    const sections = new Map<string, number>();
    try {
      const outcomes = path === ON_MACHINE ? rootOutcomes() : outcomesOf(path);
      for await (const { line, section, tookMs, kind, reason, path: place = path } of outcomes) {
        counts[kind]++;
        sections.set(section, (sections.get(section) ?? 0) + tookMs);
        lines.push(`${kind}  ${place}:${line}  ${seconds(tookMs)}${reason === '' ? '' : `  ${reason}`}`);
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

/** Blocks that no run executes, each with its reason. */
function neverRun(): string[] {
  return guides().flatMap((path) => {
    const blocks = blocksOf(readFileSync(join(ROOT, path), 'utf8')).filter(({ marks }) => marks.norun !== null);
    return blocks.map(({ line, marks }) => `not run  ${path}:${line}  ${marks.norun}`);
  });
}

await Promise.all(Array.from({ length: AT_A_TIME }, runDocuments));
if (isAll) console.log(neverRun().join('\n'));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed === 0 ? 0 : 1);
