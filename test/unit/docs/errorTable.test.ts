/** The table of RULES.md 6.8 is the table of errors: every row, in the order of precedence. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ERRORS } from '../../../shared/base/errors.ts';

/** The rows of the table as the code has them: one for each message. */
function tableRows(): string[] {
  const rules = readFileSync(new URL('../../../shared/rules/06-errors.md', import.meta.url), 'utf8');
  const section = rules.slice(rules.indexOf('## 6.8 '), rules.indexOf('## 6.9 '));
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => {
      const [, code, status, messages] = line.split('|').map((cell) => cell.trim());
      return messages!.split(' · ').map((message) => `${status} ${code!.slice(1, -1)} ${message}`);
    });
}

test('RULES.md 6.8 has every error, with its status and its message, in the order of precedence', () => {
  const rows = Object.values(ERRORS).map(({ status, code, message }) => `${status} ${code} ${message}`);
  assert.deepEqual(tableRows(), rows);
});
