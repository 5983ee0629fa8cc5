/** The tables of data/docs/polymarket.md: its settings, and what is covered of each official client. */
import { POLYMARKET_SETTINGS } from '../../gateway/programs/polymarket/settings.ts';
import { SCENARIO } from '../peers/scenario.ts';

export const POLYMARKET_PAGE = new URL('../../data/docs/polymarket.md', import.meta.url);
const place = (name: string): RegExp =>
  new RegExp(`(?<=<!-- ${name}: npm run docs writes this table -->\\n)[\\s\\S]*?(?=\\n<!-- end of ${name} -->)`);

/** Returns the page with today's tables in place of the old ones. */
export function withPolymarketTables(page: string): string {
  const tables = { settings: settingsTable(), methods: methodsTable() };
  return Object.entries(tables).reduce((text, [name, table]) => {
    if (!place(name).test(text)) throw new Error(`polymarket.md: there is no place for the table of ${name}`);
    return text.replace(place(name), () => table);
  }, page);
}

function settingsTable(): string {
  const rows = Object.entries(POLYMARKET_SETTINGS).map(
    ([name, [fallback, about]]) => `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${about} |`,
  );
  return ['| setting | default | |', '|---|---|---|', ...rows].join('\n');
}

/** A method is covered if one of its calls in the scenario succeeds. */
function methodsTable(): string {
  const methods = [...new Set(SCENARIO.map(({ method }) => method))];
  const rows = methods.map((method) => {
    const calls = SCENARIO.filter((row) => row.method === method);
    const isAnswered = calls.some(({ expect }) => typeof expect === 'function');
    const has = (version: 1 | 2): string => {
      if (!calls.some(({ of }) => of === undefined || of === version)) return 'not there';
      return isAnswered ? 'yes' : 'error 501';
    };
    return `| \`${method}\` | ${has(1)} | ${has(2)} |`;
  });
  return ['| method | clob-client 5.8 | clob-client-v2 1.1 |', '|---|---|---|', ...rows].join('\n');
}
