/**
 * Renders a document as HTML. In addition to Markdown:
 * - a link to another document leads to its page; a link to a source file, which the exchange does not serve, is plain
 *   text;
 * - a route, an error code and the number of a rule link to their explanation;
 * - comments, and the marks by which commands are run (CONTRIBUTING.md), are left out.
 */
import { posix } from 'node:path';
import { Marked, type Tokens } from 'marked';
import { anchorOf, codeBlock, escaped, table } from './docsHtml.ts';

type Heading = { readonly depth: number; readonly text: string; readonly anchor: string };
type Rendered = { readonly html: string; readonly headings: readonly Heading[] };

export type Links = {
  /** Returns the page of a document, by its path from the root of the project. */
  readonly pageOf: (path: string) => string | undefined;
  /** Returns the place in the reference of an operation such as `POST /v1/orders`. */
  readonly operationOf: (name: string) => string | undefined;
  readonly errorOf: (code: string) => string | undefined;
  readonly ruleOf: (number: string) => string | undefined;
};

const RULE = /\bRULES\.md \d+\.\d+/g;
/** Rules and glossary name a rule by its number alone: in brackets, or as in "those of 8.2". */
const BARE_RULE = /(?:\bRULES\.md |(?<=\((?:[^()]*[ ,])?)|(?<=\b(?:in|of|as) ))\d+\.\d+(?!\d)/g;
const HAS_BARE_RULES = /^shared\/(?:rules\/\d|GLOSSARY)/;
const SERVED = /^\/(?:docs|openapi\.json|asyncapi\.json|llms(?:-full)?\.txt)(?:[/#]\S*)?$/;
/** The heads of tables in which people look up rows. */
const LOOKED_UP = ['setting', 'metric'];
const NAME = /^`(\w+)`$/;
const OUTSIDE = /^[a-z]+:/;

/** @param path path of the document, from the root of the project */
export function rendered(text: string, path: string, links: Links): Rendered {
  const headings: Heading[] = [];
  const rule = HAS_BARE_RULES.test(path) ? BARE_RULE : RULE;
  /** Addresses of rows that name a setting or a metric. */
  const used = new Set<string>();
  // A link contains no other links.
  let isInLink = false;
  const linked = (write: () => string): string => {
    isInLink = true;
    const html = write();
    isInLink = false;
    return html;
  };
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: title }: Tokens.Heading): string {
        const anchor = unusedAnchor(anchorOf(title), headings);
        headings.push({ depth, text: title.replaceAll('`', ''), anchor });
        const inner = linked(() => this.parser.parseInline(tokens));
        return `<h${depth} id="${anchor}"><a href="#${anchor}">${inner}</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const inner = linked(() => this.parser.parseInline(tokens));
        const address = addressOf(href, path, links);
        return address === undefined ? inner : `<a href="${escaped(address)}">${inner}</a>`;
      },
      code({ text: code }: Tokens.Code): string {
        return `${codeBlock(code)}\n`;
      },
      codespan({ text: code }: Tokens.Codespan): string {
        const address = SERVED.test(code) ? code : (links.operationOf(code) ?? links.errorOf(code));
        const html = `<code>${escaped(code)}</code>`;
        return isInLink || address === undefined ? html : `<a href="${escaped(address)}">${html}</a>`;
      },
      table(token: Tokens.Table): string {
        const cells = (row: Tokens.TableCell[]): string[] => row.map((cell) => this.parser.parseInline(cell.tokens));
        const isLookedUp = LOOKED_UP.includes(token.header[0].text);
        const ids = token.rows.map(([first]) => (isLookedUp ? rowAnchor(first.text, used) : undefined));
        return `${table(cells(token.header), token.rows.map(cells), ids)}\n`;
      },
      html(): string {
        return '';
      },
      text(token: Tokens.Text | Tokens.Escape): string {
        if ('tokens' in token && token.tokens !== undefined) return this.parser.parseInline(token.tokens);
        return isInLink ? escaped(token.text) : withRules(escaped(token.text), rule, links);
      },
    },
  });
  return { html: marked.parse(text, { async: false }), headings };
}

/** Returns the same document as Markdown for programs: links lead to the pages, and marks and comments are left out. */
export function plainOf(text: string, path: string, links: Links): string {
  return text
    .replaceAll(/<!--[\s\S]*?-->\n?/g, '')
    .replaceAll(/^( *```\w*) .*$/gm, '$1')
    .replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (_, title: string, href: string) => {
      const address = addressOf(href, path, links);
      if (address === undefined) return title;
      return `[${title}](${address.replace(/^(\/docs\/[a-z0-9-]+)(#|$)/, '$1.md$2')})`;
    });
}

/** The second heading with the same words gets a number, as on GitHub. */
function unusedAnchor(anchor: string, headings: readonly Heading[]): string {
  const same = headings.filter((heading) => heading.anchor.replace(/-\d+$/, '') === anchor).length;
  return same === 0 ? anchor : `${anchor}-${same}`;
}

/** The first row of a page about a name has that name as its address. */
function rowAnchor(cell: string, used: Set<string>): string | undefined {
  const name = NAME.exec(cell)?.[1].toLowerCase();
  if (name === undefined || used.has(name)) return undefined;
  used.add(name);
  return name;
}

/** Undefined if the exchange does not serve the target. */
function addressOf(href: string, path: string, { pageOf }: Links): string | undefined {
  if (OUTSIDE.test(href) || href.startsWith('#') || SERVED.test(href)) return href;
  const [file, anchor] = href.split('#');
  const page = pageOf(posix.join(posix.dirname(path), file));
  return page === undefined || anchor === undefined ? page : `${page}#${anchor}`;
}

function withRules(html: string, pattern: RegExp, { ruleOf }: Links): string {
  return html.replaceAll(pattern, (found) => {
    const address = ruleOf(found.replace('RULES.md ', ''));
    return address === undefined ? found : `<a href="${address}">${found}</a>`;
  });
}
