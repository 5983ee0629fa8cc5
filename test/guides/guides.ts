/** The documents whose commands are run: guides that people follow, and every other document with marked commands. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './project.ts';

const FOLLOWED = /^(?:README\.md|data\/docs\/.*\.md)$/;
const MARKED = /^(?:```\w+ (?:.* )?run\b|<!-- run\b)/m;

export function guides(): string[] {
  const args = ['ls-files', '-co', '--exclude-standard', '*.md'];
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(ROOT, path)))
    .filter((path) => FOLLOWED.test(path) || MARKED.test(readFileSync(join(ROOT, path), 'utf8')));
}
