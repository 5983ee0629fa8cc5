/** Formats the output of `journal verify` and `journal repair`: a table of the shards, and advice for damaged ones. */
import type { DatabaseFinding } from './databases.ts';
import { countsIn } from './givenUp.ts';
import type { Findings } from './inspect.ts';
import { type Plan, planRepair } from './plan.ts';
import { table } from './table.ts';

const HEADINGS = ['shard', 'records', 'mark', 'snapshots', 'replayed', 'state'];
const NONE = '-';

export function isSound({ problem, snapshots }: Findings): boolean {
  return problem === null && snapshots.every(({ damage }) => damage === null);
}

/**
 * @param databases the databases beside the journals, if they were checked too
 * @returns the report, and true if everything is sound.
 */
export function describeShards(
  all: readonly Findings[],
  databases: readonly DatabaseFinding[] = [],
): { readonly text: string; readonly isSound: boolean } {
  const lines = table([HEADINGS, ...all.map(rowOf)]);
  const beside = table(databases.map(({ name, state }) => [name, state]));
  const problems = databases.flatMap(({ problem }) => (problem === null ? [] : [`problem: ${problem}`]));
  const first = all.find((findings) => !isSound(findings));
  if (first !== undefined) {
    const wrong = [first.problem?.text, ...first.snapshots.map(({ damage }) => damage)].find((text) => text != null);
    problems.push(`problem: ${wrong}`, ...howToProceed(planRepair(first)));
  }
  const end = problems.length === 0 ? ['ok'] : ['', ...problems];
  return { text: [...lines, ...beside, ...end].join('\n'), isSound: problems.length === 0 };
}

export function howToProceed({ findings, hopeless, needsConsent, effects, leaving }: Plan): string[] {
  const command = `npm run admin -- journal repair --shard ${findings.file.shard}`;
  if (hopeless !== null) {
    const isNothing = leaving.length === 0;
    const left = `${countsIn(findings, leaving)} can be read: \`${command} --accept-loss\` writes them to a file`;
    return [`nothing here can repair that: ${hopeless}`, ...(isNothing ? [] : [left])];
  }
  const steps = effects.map((effect) => `  ${effect}`);
  if (!needsConsent) return [`\`${command}\` can repair that:`, ...steps];
  return ['restore the data directory from a backup if there is one, or accept what', `\`${command} --accept-loss\``]
    .concat('does:')
    .concat(steps);
}

function rowOf(findings: Findings): string[] {
  const { file, first, last, checkedTo, mark, snapshots, replayedFrom, problem } = findings;
  const good = snapshots.filter(({ damage }) => damage === null).map((snapshot) => snapshot.file.sequence);
  const damaged = snapshots.length - good.length;
  return [
    String(file.shard),
    last === 0 ? NONE : `${first}-${last}`,
    mark === null ? NONE : String(mark.sequence),
    [...good, ...(damaged === 0 ? [] : [`${damaged} damaged`])].join(', ') || NONE,
    replayedFrom === null ? NONE : `${replayedFrom + 1}-${checkedTo}`,
    problem === null ? (damaged === 0 ? 'ok' : 'snapshot') : problem.kind,
  ];
}
