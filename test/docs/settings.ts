/** The table of data/docs/settings.md: every setting of .env.example, with its default and what is said about it. */
import { readFileSync } from 'node:fs';

const EXAMPLE = new URL('../../.env.example', import.meta.url);
export const SETTINGS_PAGE = new URL('../../data/docs/settings.md', import.meta.url);
const TABLE = /(?<=<!-- settings: npm run docs writes this table -->\n)[\s\S]*?(?=\n<!-- end of settings -->)/;

/** The page with today's table in the place of the one that it has. */
export function withSettings(page: string): string {
  if (!TABLE.test(page)) throw new Error('settings.md: there is no place for the table');
  return page.replace(TABLE, () => tableOf(readFileSync(EXAMPLE, 'utf8')));
}

/** A comment is about the settings below it, up to the next comment. */
function tableOf(example: string): string {
  const rows = ['| setting | default | |', '|---|---|---|'];
  let about: string[] = [];
  let isNew = true;
  for (const line of example.split('\n')) {
    const [, name, value = ''] = /^#([A-Z_]+)=(.*)$/.exec(line) ?? [];
    const [, comment] = /^# (.*)$/.exec(line) ?? [];
    if (comment !== undefined) {
      about = isNew ? [comment] : [...about, comment];
      isNew = false;
    }
    if (name === undefined) continue;
    const words = isNew ? '″' : about.join(' ').replaceAll('|', '\\|');
    rows.push(`| \`${name}\` | ${value === '' ? '' : `\`${value}\``} | ${words} |`);
    isNew = true;
  }
  return rows.join('\n');
}
