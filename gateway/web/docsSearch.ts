/**
 * The index of the documents: each heading, rule, error, setting, metric, command and route with its text, in the order
 * of the pages. For readers without scripts, the page of the search lists the names as links. A script
 * (browser/docsSearch.ts) loads the texts when the search is opened, so no other page waits for them.
 */
import type { Entry } from './browser/docsSearch.ts';
import { escaped } from './docsHtml.ts';
import type { Content } from './docsLayout.ts';

export const SEARCH_PAGE = '/docs/search';

/** Matches the beginning of a part of a page: a heading, or a table row that has an address. */
const PART = /<(?<tag>h[1-6]|tr)(?: [^>]*?)? ?id="(?<anchor>[^"]+)"[^>]*>/g;
const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' };
/** Kinds by the beginning of the address; a table row has the kind that its page lists. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^\/docs\/rules-\d/, 'Rule'],
  [/^\/docs\/errors#[a-z_]+$/, 'Error'],
  [/^\/docs\/settings#[a-z_]+$/, 'Setting'],
  [/^\/docs\/metrics#exchange_/, 'Metric'],
  [/^\/docs\/cli#pmx/, 'Command'],
  [/^\/docs\/records/, 'Record'],
  [/^\/docs\/api\/schemas/, 'Schema'],
  [/^\/docs\/api\/stream/, 'Message'],
  [/^\/docs\/api/, 'Route'],
];

/** Returns the parts of a page; the text before the first part is a part of its own. */
export function entriesOf({ href, title: pageTitle, html }: Content): Entry[] {
  // Examples and lists of errors are collapsed, and name things that other pages explain.
  const shown = html.replaceAll(/<details>[\s\S]*?<\/details>/g, '');
  const marks = [...shown.matchAll(PART)];
  const first = plain(shown.slice(0, marks[0]?.index));
  const parts = marks.map((mark, index): Entry => {
    const { tag, anchor } = mark.groups!;
    const end = tag === 'tr' ? shown.indexOf('</tr>', mark.index) : marks[index + 1]?.index;
    const part = shown.slice(mark.index, end);
    const [name, text] = parted(part, tag === 'tr' ? '</td>' : `</${tag}>`);
    const address = `${href}#${anchor}`;
    return { kind: kindOf(address), title: plain(name), page: pageTitle, href: address, text: plain(text) };
  });
  if (first === '') return parts;
  return [{ kind: kindOf(href), title: pageTitle, page: pageTitle, href, text: first }, ...parts];
}

/** Returns a list of everything, by kind, in which a browser without scripts can find a name. */
export function searchHtml(entries: readonly Entry[], indexAddress: string): string {
  const lists = [...Map.groupBy(entries, ({ kind }) => kind)].map(([kind, list]) => {
    const items = list.map(({ title, page, href }) => {
      const where = title === page ? '' : ` <span class="quiet">${escaped(page)}</span>`;
      return `<li><a href="${escaped(href)}">${escaped(title)}</a>${where}</li>`;
    });
    return `<h2 id="${kind.toLowerCase()}">${kind}</h2><ul>${items.join('\n')}</ul>`;
  });
  return `<h1>Search</h1><div id="search" data-index="${indexAddress}"></div>
<div id="everything"><p>Everything that the documents name. A browser finds words on this page.</p>
${lists.join('\n')}</div>`;
}

function kindOf(address: string): string {
  return KINDS.find(([pattern]) => pattern.test(address))?.[1] ?? 'Guide';
}

function parted(html: string, at: string): [string, string] {
  const index = html.indexOf(at);
  return [html.slice(0, index), html.slice(index)];
}

function plain(html: string): string {
  const text = html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/&(?:amp|lt|gt|quot);/g, (entity) => ENTITIES[entity]);
  return text.replaceAll(/\s+/g, ' ').trim();
}
