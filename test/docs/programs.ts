/** The table of data/docs/programs.md: how many lines each of the five programs takes in each language. */
import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../data/docs/', import.meta.url);
export const PROGRAMS_PAGE = new URL('programs.md', FOLDER);
const PAGES = /^programs(?:-\w+)?\.md$/;
const TABLE = /(?<=<!-- lines: npm run docs writes this table -->\n)[\s\S]*?(?=\n<!-- end of lines -->)/;
const TITLE = /^# Five programs (?:in|with) (.+)$/m;
const FILE = /^```\w+ (?:\S+ )*file=(\w+)\.\w+.*\n([\s\S]*?)^```$/gm;
/** A reader writes these: the part that all share, and the five. */
const PARTS = ['account', 'maker', 'taker', 'statement', 'backfill', 'recovery'] as const;

/** Returns the page with today's table in place of the old one. */
export function withLines(page: string): string {
  if (!TABLE.test(page)) throw new Error('programs.md: there is no place for the table');
  const rows = readdirSync(FOLDER)
    .filter((name) => PAGES.test(name))
    .toSorted()
    .map(rowOf);
  const head = ['| in | shared | maker | taker | statement | backfill | recovery |', '|---|---|---|---|---|---|---|'];
  return page.replace(TABLE, () => [...head, ...rows].join('\n'));
}

function rowOf(name: string): string {
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const title = TITLE.exec(text)?.[1];
  const lines = new Map([...text.matchAll(FILE)].map(([, stem, block]) => [stem!, linesOf(block!)]));
  const missing = PARTS.filter((part) => !lines.has(part));
  if (title === undefined || missing.length > 0) throw new Error(`${name}: no title, or no ${missing.join(', ')}`);
  return `| [${title}](${name}) | ${PARTS.map((part) => lines.get(part)).join(' | ')} |`;
}

/** Lines that are empty do not count, comments do. */
function linesOf(block: string): number {
  return block.split('\n').filter((line) => line.trim() !== '').length;
}
