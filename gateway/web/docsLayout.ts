/** The frame of every page of the documents: head, navigation, content. */
import { escaped } from './docsHtml.ts';

/** An entry of the navigation; below the entry of the displayed page stand the parts of the page. */
type NavItem = { readonly href: string; readonly title: string };
export type NavSection = { readonly title: string; readonly items: readonly NavItem[] };

export type Content = {
  readonly href: string;
  readonly title: string;
  readonly html: string;
  readonly parts: readonly NavItem[];
  /** The navigation entry below which the page's parts stand; by default its own. */
  readonly under?: string;
};

export type Assets = { readonly style: string; readonly script: string; readonly icon: string };

/** Scripts and styles come only from files of the exchange, and nothing comes from anywhere else. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function pageHtml(content: Content, navigation: readonly NavSection[], assets: Assets): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(content.title)} · Open prediction exchange</title>
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
<script type="module" src="${assets.script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><a class="brand" href="/">Open prediction exchange</a>
<nav aria-label="Main"><a href="/">Markets</a> <a href="/docs"${current('/docs', content)}>Documents</a>
<a href="/docs/api"${current('/docs/api', content)}>API</a>
<a href="/docs/search"${current('/docs/search', content)} aria-keyshortcuts="/">Search</a></nav>
<a class="to-contents" href="#contents">Contents</a></header>
<div class="columns">
<main id="main" tabindex="-1">
${content.html}
</main>
<nav id="contents" aria-label="Documents">
${navigation.map((section) => sectionHtml(section, content)).join('\n')}
</nav>
</div>
</body>
</html>
`;
}

function sectionHtml({ title, items }: NavSection, content: Content): string {
  const entries = items.map(({ href, title: name }) => {
    const parts = href === (content.under ?? content.href) ? partsHtml(content.parts) : '';
    return `<li><a href="${escaped(href)}"${current(href, content)}>${escaped(name)}</a>${parts}</li>`;
  });
  return `<p class="section">${escaped(title)}</p><ul>${entries.join('\n')}</ul>`;
}

function partsHtml(parts: readonly NavItem[]): string {
  const entries = parts.map(({ href, title }) => `<li><a href="${escaped(href)}">${escaped(title)}</a></li>`);
  return entries.length === 0 ? '' : `<ul class="parts">${entries.join('')}</ul>`;
}

function current(href: string, content: Content): string {
  return href === content.href ? ' aria-current="page"' : '';
}
