/**
 * Invariants have labels, `LEVELS-1`: defined once, in the header of the file that keeps them, as a line
 *
 *   LEVELS-1  A level's occupancy bit is set exactly when its queue is non-empty.
 *
 * and cited by assertions, comments and tests.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertClean, documents, linesLike, production, sources } from './sources.ts';

const DEFINITION = /^ \* {2,3}([A-Z][A-Z-]*[A-Z]-\d+) {2}\S/gm;
const LABEL = /\b[A-Z][A-Z-]*[A-Z]-\d+\b/g;
/** Names of standards look like labels. */
const STANDARD = /^(AES|CRC|EIP|SHA|UTF)-/;

/** The files that define each label: one, where all is well. */
const definitions = new Map<string, string[]>();
for (const { path, text } of sources) {
  for (const [, label] of text.matchAll(DEFINITION)) {
    definitions.set(label, [...(definitions.get(label) ?? []), path]);
  }
}

test('every label is defined once', () => {
  const twice = [...definitions].filter(([, paths]) => paths.length > 1);
  assert.deepEqual(twice, []);
});

test('the labels of one file have one prefix, and no other file uses it', () => {
  const owners = new Map<string, Set<string>>();
  for (const [label, paths] of definitions) {
    const prefix = label.replace(/-\d+$/, '');
    owners.set(prefix, new Set([...(owners.get(prefix) ?? []), ...paths]));
  }
  const shared = [...owners].filter(([, paths]) => paths.size > 1).map(([prefix, paths]) => [prefix, ...paths]);
  assert.deepEqual(shared, []);
});

test('every cited label is defined', () => {
  assertClean([...sources, ...documents], ({ text }) => {
    const cited = [...text.matchAll(LABEL)].map(([label]) => label);
    return cited.filter((label) => !STANDARD.test(label) && !definitions.has(label));
  });
});

test('every label names its concept', () => {
  const lettered = /^\s*(?:\*|\/\/|\/\*\*).*(?<![\w.#-])(?!V8\b)[A-Z]\d{1,2}(?![\w-])/;
  assertClean(sources, (source) => linesLike(source, lettered));
});

test('an assertion cites its label, or begins with the concept it is about', () => {
  const message = /^(?:[A-Z][A-Z-]*[A-Z]-\d+|[a-z][\w -]*): /;
  const asserted = /\bassert\([^;]*?'((?:[^'\\]|\\.)*)',?\s*\);/g;
  assertClean(production, ({ text }) =>
    [...text.matchAll(asserted)].map(([, said]) => said).filter((said) => !message.test(said)),
  );
});
