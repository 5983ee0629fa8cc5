/**
 * The next version of the project, in a folder of its own: its journals have rows of one format more, which it writes
 * once the cluster is raised to it. Everything else is as it is here.
 */
import { ProjectCopy } from './projectCopy.ts';

export const NEXT_JOURNAL = 4;
const NEXT = { version: '99.0.0', journal: `{ newest: ${NEXT_JOURNAL}, oldest: 3 }` };

/** @returns the folder. */
export function nextVersion(): string {
  const copy = new ProjectCopy();
  const { version } = JSON.parse(copy.read('package.json')) as { version: string };
  copy.change('package.json', `"version": "${version}"`, `"version": "${NEXT.version}"`);
  copy.change('shared/base/formats.ts', 'journal: { newest: 3, oldest: 3 }', `journal: ${NEXT.journal}`);
  return copy.root;
}
