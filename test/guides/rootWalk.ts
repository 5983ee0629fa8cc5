/**
 * The steps of documents that change a machine, in the order in which one who puts the exchange into production
 * follows them, all on one machine (rootMachine.ts): blocks with the mark `root`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, blocksOf } from './blocks.ts';
import type { Outcome } from './document.ts';
import { differenceIn } from './printed.ts';
import { ROOT } from './project.ts';
import { RootMachine } from './rootMachine.ts';

const DOCUMENTS = ['deploy', 'operating', 'backup', 'upgrade', 'keys', 'incidents', 'metrics'];
const SHOWN_LINES = 40;

/** A line of a block with a figure, which the walk passes on. */
const MEASURED = /^measured: .*$/m;

/** Its name in place of a document's. */
export const ON_MACHINE = 'machine';

/** Stops at the first failure. */
export async function* rootOutcomes(): AsyncGenerator<Outcome> {
  const steps = DOCUMENTS.map((name) => `data/docs/${name}.md`).flatMap((path) => {
    const blocks = blocksOf(readFileSync(join(ROOT, path), 'utf8'));
    return blocks.filter(({ marks }) => marks.root).map((block) => ({ path, block }));
  });
  const missing = RootMachine.missing();
  const machine = missing ?? (await RootMachine.start());
  if (typeof machine === 'string') {
    for (const { path, block } of steps) yield { path, ...placeOf(block), tookMs: 0, kind: 'skipped', reason: machine };
    return;
  }
  try {
    for (const { path, block } of steps) {
      const startMs = performance.now();
      const outcome = await outcomeOf(machine, block);
      yield { path, ...placeOf(block), tookMs: performance.now() - startMs, ...outcome };
      if (outcome.kind === 'failed') return;
    }
  } finally {
    machine.end();
  }
}

function placeOf({ line, section }: Block): Pick<Outcome, 'line' | 'section'> {
  return { line, section: `${section} (as root)` };
}

/** For a block that passed, the reason is a figure that it has measured. */
async function outcomeOf(
  machine: RootMachine,
  { language, text, marks }: Block,
): Promise<Pick<Outcome, 'kind' | 'reason'>> {
  const failed = (reason: string) => ({ kind: 'failed', reason }) as const;
  let measured = '';
  const parts = language === 'console' ? text.split(/^(?=\$ )/m) : [text];
  for (const part of parts) {
    const [, command, shown = ''] =
      language === 'console' ? (/^\$ ((?:.*\\\n)*.*)\n?([\s\S]*)$/.exec(part) ?? []) : ['', part];
    const { code, all } = await machine.run(command!);
    const last = all.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
    if (code !== marks.exit) return failed(`${command}\nended with ${code} instead of ${marks.exit}:\n${last}`);
    const line = shown === '' ? null : differenceIn(all, shown);
    if (line !== null) return failed(`this line was not printed: ${line}\nprinted were:\n${last}`);
    measured = MEASURED.exec(all)?.[0] ?? measured;
  }
  return { kind: 'passed', reason: measured };
}
