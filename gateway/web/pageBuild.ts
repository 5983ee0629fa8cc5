/**
 * Makes the files of the page from `gateway/web/browser/`. This is the entry file of a thread that ends afterwards, so
 * that neither stripping types (shared/base/stripTypes.ts says why) nor compressing takes time of the gateway thread.
 *
 * There is no bundler: each module is a file that the browser loads by itself. The name of the file contains the hash
 * of its content, so it may be cached for ever; the import map of the document says which file belongs to which module.
 * Modules import each other by the names of that map, so the hash of a module does not depend on the modules that it
 * imports.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { init, parse } from 'es-module-lexer';
import { packageFile } from '../../shared/base/packages.ts';
import { fileOf, KEPT } from './encode.ts';
import type { BuiltPage, DocumentName, PageFile, PageOptions } from './pageFiles.ts';
import { styleText } from './styles.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The files of packages, wherever these are installed. */
const PACKAGES = 'node_modules/';
const CHARTS_STYLE = 'node_modules/uplot/dist/uPlot.min.css';
/** The entry module of each document. */
const DOCUMENTS: Readonly<Record<DocumentName, DocumentSource>> = {
  trading: {
    html: 'gateway/web/browser/index.html',
    entry: 'gateway/web/browser/main.ts',
    styles: ['site', 'trading', 'markets', 'ticket'],
  },
  operations: {
    html: 'gateway/web/browser/ops/index.html',
    entry: 'gateway/web/browser/ops/main.ts',
    styles: ['ops/ops'],
  },
};
const ICON = 'gateway/web/browser/icon.svg';

/** The names by which modules import packages, and the files that browsers load for them. */
const LIBRARIES: Readonly<Record<string, string>> = {
  htm: 'node_modules/htm/dist/htm.module.js',
  'htm/preact': 'node_modules/htm/preact/index.module.js',
  preact: 'node_modules/preact/dist/preact.mjs',
  'preact/hooks': 'node_modules/preact/hooks/dist/hooks.mjs',
  uplot: 'node_modules/uplot/dist/uPlot.iife.min.js',
};
/** uPlot has no minified module: its script declares this variable. */
const SCRIPT_EXPORTS: Readonly<Record<string, string>> = { uplot: '\nexport default uPlot;\n' };

/** Each file of these packages is a module that runs in browsers as it is. */
const NOBLE = '@noble/';

/** Comments that have lines of their own. */
const COMMENT = /^[ \t]*(?:\/\/.*|\/\*[\s\S]*?\*\/)[ \t]*$/gm;

const HASH_LENGTH = 10;
const SCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

type DocumentSource = {
  readonly html: string;
  readonly entry: string;
  /** The style sheets of its own, the first of which names the file. */
  readonly styles: readonly string[];
};

type Module = {
  /** The name by which modules import it: a path from the root of the project, or a library. */
  readonly name: string;
  readonly text: string;
  /** Modules that are needed before it can run, without those that it imports later. */
  readonly needs: readonly string[];
  readonly laterNeeds: readonly string[];
};

/** The documents share most files: each is made once. */
function build(options: PageOptions): BuiltPage {
  const files = new Map<string, PageFile>();
  const add = (name: string, extension: string, contentType: string, text: string): string => {
    const stem = basename(name).replace(/\.[^.]+$/, '');
    const path = `${stem}.${hash('sha256', text).slice(0, HASH_LENGTH)}.${extension}`;
    if (!files.has(path)) files.set(path, fileOf(path, contentType, KEPT, text));
    return `/assets/${path}`;
  };
  const trading = documentOf(DOCUMENTS.trading, options, add);
  const operations = documentOf(DOCUMENTS.operations, options, add);
  return { documents: { trading, operations }, files: [...files.values()] };
}

/** @returns the path of the file */
type AddFile = (name: string, extension: string, contentType: string, text: string) => string;

function documentOf(document: DocumentSource, { isDemo, providers }: PageOptions, add: AddFile): PageFile {
  const { html, entry, styles } = document;
  const modules = new Map<string, Module>();
  const atOnce = walk(entry, modules);
  const imports: Record<string, string> = {};
  for (const { name, text } of modules.values()) imports[name] = add(name, 'js', SCRIPT, text);
  const sheet = add(`${styles[0]}.css`, 'css', CSS, (styleText(styles) + source(CHARTS_STYLE)).replace(COMMENT, ''));
  const icon = add(ICON, 'svg', 'image/svg+xml', source(ICON));
  const map = JSON.stringify({ imports });
  const head = [
    `<meta name="demo" content="${isDemo ? 'on' : 'off'}">`,
    `<meta name="providers" content="${providers.join(' ')}">`,
    `<link rel="icon" href="${icon}" type="image/svg+xml">`,
    `<link rel="stylesheet" href="${sheet}">`,
    `<script type="importmap">${map}</script>`,
    ...atOnce.map((name) => `<link rel="modulepreload" href="${imports[name]}">`),
    `<script type="module" src="${imports[entry]}"></script>`,
  ];
  const text = source(html).replace('<!-- files -->', head.join('\n'));
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash('sha256', map, 'base64')}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return fileOf('', 'text/html; charset=utf-8', 'no-cache', text, policy);
}

/** @returns the names of the modules that are needed before the first one can run */
function walk(entry: string, modules: Map<string, Module>): string[] {
  const atOnce = new Set([entry]);
  for (const name of atOnce) for (const needed of visit(name, modules).needs) atOnce.add(needed);
  const later = new Set([...modules.values()].flatMap(({ laterNeeds }) => laterNeeds));
  for (const name of later) {
    const { needs, laterNeeds } = visit(name, modules);
    for (const needed of [...needs, ...laterNeeds]) later.add(needed);
  }
  return [...atOnce];
}

function visit(name: string, modules: Map<string, Module>): Module {
  let module = modules.get(name);
  if (module === undefined) {
    module = read(name);
    modules.set(name, module);
  }
  return module;
}

/** Imports are written as names of the import map. */
function read(name: string): Module {
  const path = LIBRARIES[name] ?? name;
  const raw = source(path).replace(/\n\/\/# sourceMappingURL=.*/, '');
  const code = (path.endsWith('.ts') ? withoutComments(stripTypeScriptTypes(raw)) : raw) + (SCRIPT_EXPORTS[name] ?? '');
  const needs: string[] = [];
  const laterNeeds: string[] = [];
  let text = '';
  let end = 0;
  for (const found of parse(code)[0]) {
    if (found.type === 'import-meta' || found.specifier === undefined) continue;
    const isLater = found.type === 'dynamic';
    const needed = resolve(found.specifier, path);
    (isLater ? laterNeeds : needs).push(needed);
    // The position of a dynamic import includes its quotes.
    text += code.slice(end, found.start) + (isLater ? `'${needed}'` : needed);
    end = found.end;
  }
  return { name, text: text + code.slice(end), needs, laterNeeds };
}

/** They are for those who read the sources. The lines keep their numbers. */
function withoutComments(code: string): string {
  return code.replace(COMMENT, (comment) => comment.replace(/[^\n]+/g, ''));
}

function resolve(specifier: string, importer: string): string {
  if (specifier.startsWith('.')) return relative(ROOT, join(ROOT, dirname(importer), specifier));
  if (specifier in LIBRARIES) return specifier;
  if (specifier.startsWith(NOBLE)) return `node_modules/${specifier}`;
  throw new Error(`page: ${importer} imports ${specifier}, which browsers have no file for`);
}

function source(path: string): string {
  const isOfPackage = path.startsWith(PACKAGES);
  return readFileSync(isOfPackage ? packageFile(path.slice(PACKAGES.length)) : join(ROOT, path), 'utf8');
}

await init;
parentPort!.postMessage(build(workerData));
