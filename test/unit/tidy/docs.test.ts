/** The documents: the links, files, folders, commands and rules that they name exist. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { CHAPTERS, citedIn } from '../../docs/rules.ts';
import { assertClean, documents, ROOT, sources, tracked } from './sources.ts';

const files = tracked();
const folders = new Set(files.flatMap(foldersOf));

/** A page of contributing/ fits a screen. */
const MAX_PAGE_LINES = 40;

/** Folders that a running exchange makes. */
const MADE_LATER = ['data/live/', 'live/', 'private/', 'node_modules/'];

test('every link in a document leads to a file, and to a heading of it', () => {
  assertClean(documents, ({ path, text }) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target)
      .filter((target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(path, target)),
  );
});

test('every source file and folder that a document names exists', () => {
  assertClean(documents, ({ path, text }) =>
    [...text.matchAll(/`([\w./-]+(?:\.(?:ts|mjs|md|sql)|\/))`/g)]
      .map(([, name]) => name)
      .filter((name) => !MADE_LATER.includes(name) && !isNamedRightly(path, name)),
  );
});

test('the pages of how to add something are short, and name a commit that there is', () => {
  const pages = documents.filter(({ path }) => /^contributing\/(?!README)/.test(path));
  const isWhole = git('rev-parse', '--is-shallow-repository') === 'false';
  assertClean(pages, ({ lines, text }) => [
    ...(lines.length - 1 > MAX_PAGE_LINES ? [`${lines.length - 1} lines`] : []),
    ...(isWhole ? commitsIn(text) : []).filter((commit) => !isInHistory(commit)).map(([hash]) => `commit ${hash}`),
  ]);
  assertClean(pages, ({ text }) => (commitsIn(text).length > 0 ? [] : ['no commit']));
});

test('every npm script that a document gives exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assertClean(documents, ({ text }) =>
    [...text.matchAll(/\bnpm run ([\w:]+)/g)].map(([, script]) => script).filter((script) => !(script in scripts)),
  );
});

test('every rule that code or a document cites exists', () => {
  const rules = new Set(CHAPTERS.flatMap((chapter) => chapter.rules.map(({ number }) => number)));
  assertClean([...sources, ...documents], ({ text }) => citedIn(text).filter((number) => !rules.has(number)));
});

test('the rules of a chapter have its number and follow each other, so that none has the number of another', () => {
  for (const [index, { file, rules }] of CHAPTERS.entries()) {
    assert.equal(Number(file.slice(0, 2)), index + 1);
    const numbers = rules.map(({ number }) => number.split('.').map(Number));
    assert.deepEqual([...new Set(numbers.map(([chapter]) => chapter))], [index + 1], file);
    for (const [at, [, number]] of numbers.entries()) assert.ok(at === 0 || number! > numbers[at - 1]![1]!, file);
  }
});

function commitsIn(text: string): string[][] {
  return [...text.matchAll(/^A real one: `(\w+)` (.+)\.$/gm)].map(([, hash, words]) => [hash, words]);
}

/** A commit of a branch that was rebased is in the repository of its author, and in no clone. */
function isInHistory([hash, words]: string[]): boolean {
  return git('log', '-1', '--pretty=%s', hash!) === words && git('merge-base', hash!, 'HEAD').startsWith(hash!);
}

/** Empty if there is no such thing. */
function git(...args: string[]): string {
  return spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout.trim();
}

function leadsSomewhere(document: string, target: string): boolean {
  const [file, heading] = target.split('#');
  const path = file === '' ? document : normalize(join(dirname(document), file));
  if (!existsSync(join(ROOT, path))) return false;
  return heading === undefined || headingsOf(readFileSync(join(ROOT, path), 'utf8')).includes(heading);
}

/** Headings as the addresses that GitHub gives them. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** A name is a path from the document's folder or from the root; without any folder it is a file somewhere below. */
function isNamedRightly(document: string, name: string): boolean {
  const room = dirname(document);
  const paths = [normalize(join(room, name)), normalize(name)];
  if (name.endsWith('/')) return paths.some((path) => folders.has(path));
  if (paths.some((path) => files.includes(path))) return true;
  const isBelow = (path: string): boolean => room === '.' || path.startsWith(`${room}/`);
  return !name.includes('/') && files.some((path) => isBelow(path) && basename(path) === name);
}

/** a/b/c.ts → a/, a/b/ */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`);
}
