/**
 * The rules by chapter (shared/rules/), and what follows from them: the list in shared/RULES.md, a line for each rule,
 * and shared/rules/CITATIONS.md, from each rule to the files that cite it. A citation is "RULES.md 2.3" anywhere in a
 * file, or "2.3:" at the beginning of a test's title.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { tracked } from '../unit/tidy/sources.ts';

const ROOT = new URL('../../', import.meta.url);
const FOLDER = new URL('shared/rules/', ROOT);

export const INDEX_PAGE = new URL('shared/RULES.md', ROOT);
export const CITATIONS_PAGE = new URL('CITATIONS.md', FOLDER);

type Rule = { readonly number: string; readonly title: string; readonly anchor: string };
type Chapter = { readonly file: string; readonly title: string; readonly rules: readonly Rule[] };

const MARK = '<!-- rules: npm run docs writes this list -->';
const CITED = /\bRULES\.md (\d+\.\d+(?:(?:, | and | or | to )\d+\.\d+)*)/g;
const TITLED = /^ *test\(\s*['"`](\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*):/gm;
/** Matches the end of a line in a comment or paragraph that continues in the next line. */
const LINE_END = /\n *(?:\*|\/\/|--|#)? */g;
const PRODUCTION = /^(?:engine|gateway|shared|data\/schema)\/.*\.(?:ts|mjs|as|sql|py)$/;
const TESTS = /^test\/.*\.ts$/;

const CITATIONS_HEAD = `# Where the rules are carried out and tested

\`npm run docs\` writes this page from the citations in the sources: the files that say "RULES.md" and the number of the
rule, and the tests whose title begins with it. A dash stands where no file does.
`;

export const CHAPTERS: readonly Chapter[] = readdirSync(FOLDER)
  .filter((name) => /^\d\d-[a-z]+\.md$/.test(name))
  .sort()
  .map((file) => chapterOf(file, readFileSync(new URL(file, FOLDER), 'utf8')));

/** @param text of the index as it is: what stands before its list stays */
export function rulesIndex(text: string): string {
  const [head] = text.split(MARK);
  const lists = CHAPTERS.map(({ file, title, rules }) => {
    const lines = rules.map((rule) => `- [${rule.number}](rules/${file}#${rule.anchor}) ${rule.title}`);
    return `## ${title}\n\n${lines.join('\n')}\n`;
  });
  return `${head}${MARK}\n\n${lists.join('\n')}`;
}

export function citationsPage(): string {
  const code = citers(PRODUCTION);
  const tests = citers(TESTS);
  const tables = CHAPTERS.map(({ file, title, rules }) => {
    const rows = rules.map(({ number, anchor, title: name }) => {
      const cells = [code, tests].map((by) => (by.get(number) ?? []).map(link).join(' · ') || '–');
      return `| [${number}](${file}#${anchor}) ${name} | ${cells.join(' | ')} |`;
    });
    return `## ${title}\n\n| rule | code | tests |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [CITATIONS_HEAD, ...tables].join('\n');
}

/** The numbers of the rules that a text cites, each once. */
export function citedIn(text: string): string[] {
  const joined = text.replaceAll(LINE_END, ' ');
  const lists = [...joined.matchAll(CITED), ...text.matchAll(TITLED)].map(([, list]) => list!);
  return [...new Set(lists.flatMap(numbersOf))];
}

/** `8.4, 8.17 to 8.19` → 8.4, 8.17, 8.18, 8.19; between two ends there are numbers that no rule has. */
function numbersOf(list: string): string[] {
  return list.split(/, | and | or /).flatMap((part) => {
    const [first, last] = part.split(' to ');
    const [chapter, from] = first!.split('.').map(Number);
    const to = last === undefined ? from! : Number(last.split('.')[1]);
    const numbers = Array.from({ length: to - from! + 1 }, (_, index) => `${chapter}.${from! + index}`);
    return numbers.filter((number, index) => index === 0 || index === to - from! || isRule(number));
  });
}

function isRule(number: string): boolean {
  return CHAPTERS.some(({ rules }) => rules.some((rule) => rule.number === number));
}

/** The files whose path is like this, by the rules that they cite. */
function citers(pattern: RegExp): Map<string, string[]> {
  const byRule = new Map<string, string[]>();
  for (const path of tracked()
    .filter((each) => pattern.test(each))
    .sort()) {
    for (const number of citedIn(readFileSync(new URL(path, ROOT), 'utf8'))) {
      byRule.set(number, [...(byRule.get(number) ?? []), path]);
    }
  }
  return byRule;
}

function chapterOf(file: string, text: string): Chapter {
  const [, title] = /^# (.+)$/m.exec(text)!;
  const rules = [...text.matchAll(/^## (?<number>\d+\.\d+) (?<title>.+)$/gm)].map(({ groups }) => ({
    number: groups!['number']!,
    title: groups!['title']!,
    anchor: anchorOf(`${groups!['number']} ${groups!['title']}`),
  }));
  return { file, title: title!, rules };
}

/** The anchor that GitHub makes from a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

function link(path: string): string {
  return `[${path}](../../${path})`;
}
