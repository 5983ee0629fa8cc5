/** The documents (gateway/web/): pages for people at `/docs`, the same as Markdown, and lists for language models. */

import type { Call } from '../http/call.ts';
import { okFile } from '../http/respond.ts';
import { type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { DocumentFiles } from './docsFiles.ts';

const FILE = { method: 'GET', access: 'public', limit: 'page', probe: true, isFile: true } as const;
const PAGE = { ...FILE, answers: { 200: { type: 'string' } }, contentType: 'text/html' } as const;
const NAME = { type: 'string', examples: ['signing'] } as const;
const NOT_FOUND = 404;

const SPECS: readonly RouteSpec[] = [
  { ...PAGE, path: '/docs', summary: 'The list of the documents.' },
  { ...PAGE, path: '/docs/:page', params: { page: NAME }, summary: 'A guide, or with .md the same as Markdown.' },
  { ...PAGE, path: '/docs/api/:page', params: { page: NAME }, summary: 'A chapter of the reference.' },
  { ...PAGE, path: '/docs/assets/:file', params: { file: NAME }, summary: 'A file that pages of documents load.' },
  { ...PAGE, path: '/llms.txt', contentType: 'text/plain', summary: 'The list of the documents for language models.' },
  { ...PAGE, path: '/llms-full.txt', contentType: 'text/plain', summary: 'All documents in one text.' },
];

export function documentRoutes(files: DocumentFiles): Route[] {
  return SPECS.map((spec) => route(spec, (call) => show(call, files)));
}

/** The path of the request is in the list, or there is no such document. */
async function show(call: Call, files: DocumentFiles): Promise<void> {
  const file = await files.file(call.path);
  if (file === undefined) okFile(call, await files.notFound(), call.headers.acceptEncoding, NOT_FOUND);
  else okFile(call, file, call.headers.acceptEncoding);
}
