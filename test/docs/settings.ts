/** The tables of data/docs/settings.md: every setting of .env.example, with its default and its comment. */
import { readFileSync } from 'node:fs';

const EXAMPLE = new URL('../../.env.example', import.meta.url);
export const SETTINGS_PAGE = new URL('../../data/docs/settings.md', import.meta.url);
const TABLE = /(?<=<!-- settings: npm run docs writes this table -->\n)[\s\S]*?(?=\n<!-- end of settings -->)/;

type Setting = {
  readonly name: string;
  readonly fallback: string;
  /** The comment above the setting, or above the group of settings to which it belongs. */
  readonly about: string;
  /** The heading above it. */
  readonly group: string;
  /** It is the first below its comment. */
  readonly isFirst: boolean;
};

/** Returns the page with today's tables in place of the old ones. */
export function withSettings(page: string): string {
  if (!TABLE.test(page)) throw new Error('settings.md: there is no place for the table');
  return page.replace(TABLE, () => tablesOf(readSettings()));
}

/**
 * A comment applies to the settings below it, up to the next comment; an empty line ends a comment that applies to
 * none.
 */
export function readSettings(): Setting[] {
  const settings: Setting[] = [];
  let about: string[] = [];
  let group = '';
  let isFirst = true;
  for (const line of readFileSync(EXAMPLE, 'utf8').split('\n')) {
    const [, heading] = /^## (.*)$/.exec(line) ?? [];
    const [, comment] = /^# (.*)$/.exec(line) ?? [];
    const [, name, fallback = ''] = /^#([A-Z_]+)=(.*)$/.exec(line) ?? [];
    if (heading !== undefined) group = heading;
    if (line === '') about = [];
    if (comment !== undefined) {
      about = isFirst ? [...about, comment] : [comment];
      isFirst = true;
    }
    if (name === undefined) continue;
    settings.push({ name, fallback, about: about.join(' '), group, isFirst });
    isFirst = false;
  }
  return settings;
}

function tablesOf(settings: readonly Setting[]): string {
  const groups = [...new Set(settings.map(({ group }) => group))];
  return groups
    .map((group) => {
      const rows = settings.filter((setting) => setting.group === group).map(rowOf);
      return [`### ${group}`, '', '| setting | default | |', '|---|---|---|', ...rows].join('\n');
    })
    .join('\n\n');
}

function rowOf({ name, fallback, about, isFirst }: Setting): string {
  const words = isFirst ? about.replaceAll('|', '\\|') : '″';
  return `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${words} |`;
}
