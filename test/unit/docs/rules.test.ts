/** The list of the rules and the page of who cites them follow from the chapters and the sources (npm run docs). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CHAPTERS, CITATIONS_PAGE, citationsPage, citedIn, INDEX_PAGE, rulesIndex } from '../../docs/rules.ts';

test('RULES.md has a line for each rule, which leads to it (npm run docs)', () => {
  const index = readFileSync(INDEX_PAGE, 'utf8');
  assert.equal(rulesIndex(index), index);
  const rules = CHAPTERS.flatMap((chapter) => chapter.rules);
  assert.ok(rules.length >= 371);
  assert.equal([...index.matchAll(/^- \[\d+\.\d+\]/gm)].length, rules.length);
});

test('CITATIONS.md has the files that cite each rule (npm run docs)', () => {
  assert.equal(readFileSync(CITATIONS_PAGE, 'utf8'), citationsPage());
});

test('a citation is found in lists, in ranges, across the lines of a comment and in titles of tests', () => {
  const cite = 'RULES.md';
  assert.deepEqual(citedIn(`(${cite} 8.4, 8.17 to 8.19 and 2.10)`), ['8.4', '8.17', '8.18', '8.19', '2.10']);
  assert.deepEqual(citedIn(` * a sentence (${cite}\n * 18.8; JOIN-2)`), ['18.8']);
  assert.deepEqual(citedIn(`// as ${cite} 2.3,\n// 2.4 says`), ['2.3', '2.4']);
  assert.deepEqual(citedIn("  test('16.10: the rows of the table', () => {"), ['16.10']);
  assert.deepEqual(citedIn('at 0.65, or 1.5 times as many'), []);
});
