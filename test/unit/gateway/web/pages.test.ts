/** All pages of the documents: every document is one, no link is dead, nothing comes from elsewhere. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openApiText } from '../../../../gateway/http/openapiRoutes.ts';
import { asyncApiDocument } from '../../../../gateway/stream/asyncapi.ts';
import type { Entry, Found } from '../../../../gateway/web/browser/docsSearch.ts';
import { sectionsOf } from '../../../../gateway/web/docsContents.ts';
import { DocumentFiles } from '../../../../gateway/web/docsFiles.ts';
import type { PageFile } from '../../../../gateway/web/pageFiles.ts';
import { routeTable } from '../../../../gateway/wiring/routeTable.ts';
import { CHAPTERS } from '../../../docs/rules.ts';
import { anything } from '../../../support/anything.ts';

const FOLDER = new URL('../../../../data/docs/', import.meta.url);
/** Served by other routes. */
const ELSEWHERE = ['/', '/openapi.json', '/asyncapi.json'];
const MAX_PAGE_BYTES = 90_000;

const openApi = String(await openApiText(routeTable(anything))());
const files = new DocumentFiles(async () => ({ openApi, asyncApi: JSON.stringify(asyncApiDocument()) }));
const sections = sectionsOf(readFileSync(new URL('README.md', FOLDER), 'utf8'));

type Page = { readonly file: PageFile; readonly text: string; readonly links: readonly string[] };

type SearchModule = {
  readonly ENTRIES: readonly Entry[];
  readonly searchOver: (entries: readonly Entry[]) => (query: string) => Found[];
};

/** Every file that is reached from these paths. */
async function crawl(...starts: string[]): Promise<{ pages: Map<string, Page>; missing: string[] }> {
  const pages = new Map<string, Page>();
  const missing: string[] = [];
  const queue = starts.map((path) => ({ path, from: 'the start' }));
  for (const { path, from } of queue) {
    if (pages.has(path) || ELSEWHERE.includes(path)) continue;
    const file = await files.file(path);
    if (file === undefined) {
      missing.push(`${from} → ${path}`);
      continue;
    }
    const text = Buffer.from(file.plain).toString();
    const links = linksOf(path, file, text);
    pages.set(path, { file, text, links });
    for (const link of links) if (link.startsWith('/')) queue.push({ path: link.split('#')[0]!, from: path });
  }
  return { pages, missing };
}

function linksOf(path: string, { contentType }: PageFile, text: string): string[] {
  if (contentType.startsWith('text/html')) {
    const links = [...text.matchAll(/\b(?:href|src)="([^"]*)"/g)].map(([, link]) => link!.replaceAll('&amp;', '&'));
    return links.map((link) => (link.startsWith('#') ? path + link : link));
  }
  const isMarkdown = contentType.startsWith('text/markdown') || path.startsWith('/llms');
  return isMarkdown ? [...text.matchAll(/\]\((\/[^)\s]*)\)/g)].map(([, link]) => link!) : [];
}

const { pages, missing } = await crawl('/docs', '/llms.txt', '/llms-full.txt');
const html = [...pages].filter(([, { file }]) => file.contentType.startsWith('text/html'));

test('every document of data/docs is in the list, and so is a page and in the list for language models', () => {
  const guides = sections.flatMap((section) => section.guides);
  const listed = guides.map(({ path }) => path);
  for (const name of readdirSync(FOLDER).filter((name) => name.endsWith('.md') && name !== 'README.md')) {
    assert.ok(listed.includes(`data/docs/${name}`), `${name} is not in data/docs/README.md`);
  }
  for (const { path, slug, title } of guides) {
    assert.ok(existsSync(new URL(`../../${path}`, FOLDER)), path);
    assert.ok(pages.has(`/docs/${slug}`) && pages.has(`/docs/${slug}.md`), slug);
    assert.ok(pages.get('/llms.txt')!.text.includes(`- [${title}](/docs/${slug}.md): `), title);
  }
  assert.equal(new Set(guides.map(({ slug }) => slug)).size, guides.length);
});

test('no link is dead, in pages, in Markdown, and in the lists for language models', () => {
  assert.deepEqual(missing, []);
  const dead: string[] = [];
  for (const [path, { links }] of html) {
    for (const link of links) {
      const [target, anchor] = link.split('#');
      const found = pages.get(target!);
      if (anchor !== undefined && found !== undefined && !found.text.includes(` id="${anchor}"`)) {
        dead.push(`${path} → ${link}`);
      }
    }
  }
  assert.deepEqual(dead, []);
});

const { ENTRIES, searchOver } = await searchModule();

/** The file that the page of the search names, as a browser loads it. */
async function searchModule(): Promise<SearchModule> {
  const [, address] = /data-index="([^"]+)"/.exec(pages.get('/docs/search')!.text)!;
  assert.match(address!, /^\/docs\/assets\/docsSearch\.[0-9a-f]{10}\.js$/);
  const file = (await files.file(address!))!;
  assert.equal(file.contentType, 'text/javascript; charset=utf-8');
  return import(`data:text/javascript;base64,${Buffer.from(file.plain).toString('base64')}`);
}

test('the search leads to places that there are, and its page without scripts to the same', () => {
  const listed = new Set(pages.get('/docs/search')!.links);
  for (const { href, title } of ENTRIES) {
    const [path, anchor] = href.split('#');
    assert.ok(title !== '' && listed.has(href), href);
    assert.ok(pages.has(path!), href);
    assert.ok(anchor === undefined || pages.get(path!)!.text.includes(` id="${anchor}"`), href);
  }
});

test('a number of a rule, a code, a setting, a metric, a command and a route are found first by their name', () => {
  const search = searchOver(ENTRIES);
  for (const [words, place] of [
    ['17.31', '/docs/rules-17-chain#1731-what-is-traded-is-deployed'],
    ['insufficient_balance', '/docs/errors#insufficient_balance'],
    ['MAX_OPEN_ORDERS', '/docs/settings#max_open_orders'],
    ['exchange_commit_seconds', '/docs/metrics#exchange_commit_seconds'],
    ['pmx place', '/docs/cli#pmx-place'],
    ['POST /v1/orders/batch', '/docs/api/orders#placeOrders'],
    ['when the fee moves', '/docs/rules-02-book#24-when-the-fee-moves'],
  ] as const) {
    assert.equal(search(words)[0]!.entry.href, place, words);
  }
});

test('every rule has a place in the search, and nearly each is among the first three for a sentence of its own', () => {
  const rules = ENTRIES.filter(({ kind, title }) => kind === 'Rule' && /^\d+\.\d+ /.test(title));
  assert.equal(
    rules.length,
    CHAPTERS.reduce((sum, chapter) => sum + chapter.rules.length, 0),
  );
  const search = searchOver(ENTRIES);
  const asked = rules.filter((_, index) => index % 9 === 0);
  const lost = asked.filter(({ text, href }) => {
    const [sentence] = text.match(/[A-Z][^.:;]{60,200}/) ?? [];
    return (
      sentence !== undefined &&
      !search(sentence)
        .slice(0, 3)
        .some(({ entry }) => entry.href === href)
    );
  });
  assert.ok(lost.length <= 1, lost.map(({ title }) => title).join('\n'));
});

test('every operation, message and error has its place in the reference', () => {
  const ids = new Set(html.flatMap(([, { text }]) => [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)));
  const { paths } = JSON.parse(openApi);
  const operations = Object.values<Record<string, { operationId: string }>>(paths).flatMap((each) =>
    Object.values(each),
  );
  assert.ok(operations.length > 100);
  for (const { operationId } of operations) assert.ok(ids.has(operationId), operationId);
  for (const message of ['subscribe', 'book_delta', 'order_status']) assert.ok(ids.has(message), message);
});

test('a page loads its files from the exchange alone, and has no script, style or frame of its own (CSP)', () => {
  assert.ok(html.length > 25);
  for (const [path, { file, text }] of html) {
    const loaded = [...text.matchAll(/<(?:link|script|img)[^>]*(?:href|src)="([^"]+)"/g)].map(([, address]) => address);
    assert.equal(loaded.length, 3, path);
    for (const address of loaded) assert.match(address!, /^\/docs\/assets\/[\w]+\.[0-9a-f]{10}\.(?:css|js|svg)$/, path);
    assert.doesNotMatch(text, /<script(?! type="module" src=")|<style|<iframe|<img| style="| on[a-z]+="/, path);
    assert.match(file.policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /);
    assert.doesNotMatch(file.policy, /unsafe|http/);
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(ids, [...new Set(ids)], `${path} uses an id twice`);
    assert.ok(file.brotli.length < MAX_PAGE_BYTES, `${path}: ${file.brotli.length}`);
  }
});

test('files with a hash in their name are kept for ever, and pages are asked for again', () => {
  for (const [path, { file }] of pages) {
    const isKept = path.startsWith('/docs/assets/');
    assert.equal(file.cacheControl, isKept ? 'public, max-age=31536000, immutable' : 'no-cache', path);
  }
});
