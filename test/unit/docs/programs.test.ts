/** The table of the five programs counts the lines that are there, of every page (npm run docs). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PROGRAMS_PAGE, withLines } from '../../docs/programs.ts';

const page = readFileSync(PROGRAMS_PAGE, 'utf8');

test('the lines of each program in each language are those of its page', () => {
  assert.equal(page, withLines(page));
});

test('a page of programs that has lost the place of its table is refused', () => {
  assert.throws(() => withLines(page.replaceAll('<!-- end of lines -->', '')), /no place for the table/);
});
