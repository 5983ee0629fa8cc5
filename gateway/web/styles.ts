/** The style sheets of a document as one file, because the first paint waits for all of them. */
import { readFileSync } from 'node:fs';

/** Style sheets that every document begins with. */
const SHARED = ['tokens', 'base', 'components'];

/** @param names the document's own style sheets, in `gateway/web/browser/` */
export function styleText(names: readonly string[]): string {
  return [...SHARED, ...names].map((name) => readFileSync(fileOf(name), 'utf8')).join('');
}

function fileOf(name: string): URL {
  return new URL(`./browser/${name}.css`, import.meta.url);
}
