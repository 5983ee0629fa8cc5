/**
 * Makes the pages of the documents. This is the entry file of a thread that ends afterwards, so that rendering and
 * compressing take no time of the gateway thread. Guides are data/docs and the files that its list names
 * (docsContents.ts); the references are made from the documents of the interface, the catalogue of errors from the
 * error table.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { GROUPS } from '../../shared/client/cli/groups.ts';
import { referencePage } from '../../shared/client/cli/written/reference.ts';
import type { Entry } from './browser/docsSearch.ts';
import { type Guide, INDEX_PATH, sectionsOf } from './docsContents.ts';
import { errorsPage } from './docsErrorsPage.ts';
import { type DocumentsOptions, NOT_FOUND_PATH } from './docsFiles.ts';
import { type Assets, type Content, type NavSection, POLICY, pageHtml } from './docsLayout.ts';
import { type Links, plainOf, rendered } from './docsMarkdown.ts';
import { Reference, type ReferencePage } from './docsReference.ts';
import { CITATIONS_PATH, RULES_PAGE, RULES_PATH, rulesOf } from './docsRules.ts';
import { entriesOf, SEARCH_PAGE, searchHtml } from './docsSearch.ts';
import { streamPage } from './docsStreamReference.ts';
import { fileOf, KEPT } from './encode.ts';
import type { PageFile } from './pageFiles.ts';
import { styleText } from './styles.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const PLAIN = 'text/plain; charset=utf-8';
/** Pages have fixed addresses, and change with the program. */
const CHECKED = 'no-cache';
const HASH_LENGTH = 10;
/** Pages made from tables of the program; the files with these names say so. */
const ERRORS_PATH = 'data/docs/errors.md';
const COMMANDS_PATH = 'data/docs/cli.md';
const NOT_FOUND = '<h1>Nothing here</h1><p>No document has this address. <a href="/docs">All documents</a></p>';

class Builder {
  readonly files: PageFile[] = [];
  readonly #entries: Entry[] = [];
  readonly #index = source(INDEX_PATH);
  readonly #sections = sectionsOf(this.#index);
  readonly #guides: readonly Guide[] = this.#sections.flatMap(({ guides }) => guides);
  readonly #rules = rulesOf(source(RULES_PATH));
  /** All guides and the chapters of the rules, which the list of documents does not name one by one. */
  readonly #all: readonly Guide[] = [...this.#guides, ...this.#rules.chapters];
  readonly #pages = new Map(this.#all.map(({ path, slug }) => [path, `/docs/${slug}`]));
  readonly #reference: Reference;
  readonly #references: readonly ReferencePage[];
  readonly #errors: string;
  readonly #commands = referencePage(GROUPS);
  readonly #codes: ReadonlySet<string>;
  readonly #assets: Assets;

  constructor({ openApi, asyncApi }: DocumentsOptions) {
    this.#pages.set(INDEX_PATH, '/docs');
    this.#reference = new Reference(JSON.parse(openApi), errorPlace);
    this.#errors = errorsPage((code) => this.#reference.answering(code));
    this.#codes = new Set([...this.#errors.matchAll(/^## (\w+)$/gm)].map(([, code]) => code!));
    this.#references = [...this.#reference.pages(), streamPage(JSON.parse(asyncApi))];
    this.#assets = {
      style: this.#asset('docs.css', 'text/css; charset=utf-8', styleText(['docs'])),
      script: this.#asset('docs.js', 'text/javascript; charset=utf-8', script('gateway/web/browser/docs.ts')),
      icon: this.#asset('icon.svg', 'image/svg+xml', source('gateway/web/browser/icon.svg')),
    };
  }

  build(): void {
    this.#guide({ slug: '', title: 'Documents', about: '', path: INDEX_PATH }, this.#index);
    for (const guide of this.#all) this.#guide(guide, this.#textOf(guide));
    for (const page of this.#references) {
      const href = `/docs/${page.path}`;
      const parts = page.parts.map(({ anchor, text }) => ({ href: `${href}#${anchor}`, title: text }));
      const content = { href, title: page.title, html: page.html, parts };
      this.#page(content);
      this.#entries.push(...entriesOf(content));
    }
    this.#search();
    this.#page({ href: NOT_FOUND_PATH, title: 'Nothing here', html: NOT_FOUND, parts: [] });
    this.#forLanguageModels();
  }

  #guide(guide: Guide, text: string): void {
    const { html, headings } = rendered(text, guide.path, this.#links());
    const href = guide.slug === '' ? '/docs' : `/docs/${guide.slug}`;
    const parts = headings
      .filter(({ depth }) => depth === 2)
      .map(({ anchor, text: title }) => ({ href: `${href}#${anchor}`, title }));
    const under = this.#rules.chapters.includes(guide) ? RULES_PAGE : href;
    const content = { href, title: guide.title, html, parts, under };
    this.#page(content);
    // Rows of this page say where rules are cited, not what they say.
    if (guide.path !== CITATIONS_PATH) this.#entries.push(...entriesOf(content));
    if (guide.slug !== '') this.#add(`${href}.md`, MARKDOWN, plainOf(text, guide.path, this.#links()));
  }

  #page(content: Content): void {
    this.#add(content.href, HTML, pageHtml(content, this.#navigation(), this.#assets), POLICY);
  }

  /** The texts are in a file that only the page of the search loads. */
  #search(): void {
    const program = script('gateway/web/browser/docsSearch.ts');
    const module = `${program}export const ENTRIES = ${JSON.stringify(this.#entries)};\n`;
    const index = this.#asset('docsSearch.js', 'text/javascript; charset=utf-8', module);
    this.#page({ href: SEARCH_PAGE, title: 'Search', html: searchHtml(this.#entries, index), parts: [] });
  }

  /** The files of https://llmstxt.org: the list, and all documents in one text. */
  #forLanguageModels(): void {
    const lists = this.#sections.map(({ title, guides }) => {
      const entries = guides.map(({ slug, title: name, about }) => `- [${name}](/docs/${slug}.md): ${about}`);
      return `## ${title}\n\n${entries.join('\n')}`;
    });
    const interfaces = [
      '## Interface',
      '',
      '- [OpenAPI 3.1](/openapi.json): every route, with its schemas, examples, errors, limits and units.',
      '- [AsyncAPI 3.0](/asyncapi.json): every message of the WebSocket stream.',
    ].join('\n');
    const about = '> A central limit order book for binary prediction markets: HTTP and WebSocket, signed orders.';
    const head = `# Open prediction exchange\n\n${about}`;
    this.#add('/llms.txt', PLAIN, `${[head, ...lists, interfaces].join('\n\n')}\n`);
    const texts = this.#all.map((guide) => plainOf(this.#textOf(guide), guide.path, this.#links()));
    this.#add('/llms-full.txt', PLAIN, `${[head, ...texts].join('\n\n')}\n`);
  }

  #navigation(): NavSection[] {
    const [start, ...more] = this.#sections.map(({ title, guides }) => {
      return { title, items: guides.map(({ slug, title: name }) => ({ href: `/docs/${slug}`, title: name })) };
    });
    const items = this.#references.map(({ path, title }) => ({ href: `/docs/${path}`, title }));
    return [start!, { title: 'Reference', items }, ...more];
  }

  #links(): Links {
    return {
      pageOf: (path) => this.#pages.get(path),
      operationOf: (name) => this.#reference.placeOf(name),
      ruleOf: (number) => this.#rules.places.get(number),
      errorOf: (code) => (this.#codes.has(code) ? errorPlace(code) : undefined),
    };
  }

  #textOf({ path }: Guide): string {
    if (path === COMMANDS_PATH) return this.#commands;
    return path === ERRORS_PATH ? this.#errors : source(path);
  }

  #asset(name: string, contentType: string, text: string): string {
    const path = `/docs/assets/${name.replace('.', `.${hash('sha256', text).slice(0, HASH_LENGTH)}.`)}`;
    this.files.push(fileOf(path, contentType, KEPT, text));
    return path;
  }

  #add(path: string, contentType: string, text: string, policy = ''): void {
    this.files.push(fileOf(path, contentType, CHECKED, text, policy));
  }
}

function errorPlace(code: string): string {
  return `/docs/errors#${code.toLowerCase()}`;
}

function source(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function script(path: string): string {
  return stripTypeScriptTypes(source(path));
}

const builder = new Builder(workerData);
builder.build();
parentPort!.postMessage(builder.files);
