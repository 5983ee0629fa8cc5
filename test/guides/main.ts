/**
 * `npm run guides`: runs every command of README.md and of the documents in data/docs, each document in a fresh copy of
 * the project with a server of its own, and the steps that change a machine on a machine made for them (rootWalk.ts).
 * `npm run guides -- FILE …` runs these alone, `npm run guides -- machine` that one. CONTRIBUTING.md says how commands
 * are marked. Prints how long each took, and each section, and the blocks that no run executes. Ends with 1 if one
 * failed, and says where: file and line. With `--repeat-failed` a document that fails is repeated alone, and counts
 * only if it fails again.
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

const args = process.argv.slice(2);
const repeatsFailed = args.includes('--repeat-failed');
const named = args.filter((argument) => !argument.startsWith('--'));
const isAll = named.length === 0;

class Documents {
  readonly failed: string[] = [];
  readonly counts = { passed: 0, failed: 0, skipped: 0 };

  async run(paths: readonly string[], atATime: number): Promise<this> {
    const left = [...paths];
    await Promise.all(Array.from({ length: atATime }, () => this.#runMany(left)));
    return this;
  }

  /** Runs documents one after the other, and prints the outcomes of each when it ends. */
  async #runMany(left: string[]): Promise<void> {
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      const failedBefore = this.counts.failed;
      const lines: string[] = [];
      const sections = new Map<string, number>();
      try {
        const outcomes = path === ON_MACHINE ? rootOutcomes() : outcomesOf(path);
        for await (const { line, section, tookMs, kind, reason, path: place = path } of outcomes) {
          this.counts[kind]++;
          sections.set(section, (sections.get(section) ?? 0) + tookMs);
          lines.push(`${kind}  ${place}:${line}  ${seconds(tookMs)}${reason === '' ? '' : `  ${reason}`}`);
        }
      } catch (error) {
        this.counts.failed++;
        lines.push(`failed  ${path}:${(error as Error).message}`);
      }
      if (this.counts.failed > failedBefore) this.failed.push(path);
      for (const [section, tookMs] of sections) lines.push(`${seconds(tookMs).padStart(9)}  ${path}, ${section}`);
      if (lines.length > 0) console.log(lines.join('\n'));
    }
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

const { counts, failed } = await new Documents().run(
  isAll ? [...new Set([...LONGEST, ...guides()])] : named,
  AT_A_TIME,
);
if (isAll) console.log(neverRun().join('\n'));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(failed.length === 0 || (repeatsFailed && (await passWhenRepeated(failed))) ? 0 : 1);

/** A busy machine fails a document that waits for something. It counts only if it fails alone as well. */
async function passWhenRepeated(paths: readonly string[]): Promise<boolean> {
  console.log(`\nrepeated alone: ${paths.join(', ')}`);
  const again = await new Documents().run(paths, 1);
  const unsteady = paths.filter((path) => !again.failed.includes(path));
  if (unsteady.length > 0) console.log(`\nunsteady, passed when repeated: ${unsteady.join(', ')}`);
  return again.failed.length === 0;
}
