/**
 * The list of the documents. It is written once, in data/docs/README.md: the navigation of the pages, their addresses
 * and `/llms.txt` are made from it, so a document is published by naming it there.
 */
import { posix } from 'node:path';

export type Guide = {
  /** The last segment of its address; empty for the list itself. */
  readonly slug: string;
  readonly title: string;
  /** One sentence. */
  readonly about: string;
  /** The path from the root of the project. */
  readonly path: string;
};

type Section = { readonly title: string; readonly guides: readonly Guide[] };

export const INDEX_PATH = 'data/docs/README.md';

const SECTION = /^## (.+)$/;
const ENTRY = /^- \[(?<title>[^\]]+)\]\((?<target>[^)#]+\.md)\): (?<about>.+)$/;

/** @param index the text of data/docs/README.md */
export function sectionsOf(index: string): Section[] {
  const sections: { title: string; guides: Guide[] }[] = [];
  for (const line of unwrapped(index)) {
    const title = SECTION.exec(line)?.[1];
    const { groups } = ENTRY.exec(line) ?? {};
    if (title !== undefined) sections.push({ title, guides: [] });
    if (groups !== undefined) sections.at(-1)!.guides.push(guideOf(groups));
  }
  return sections;
}

function guideOf({ title, target, about }: Record<string, string>): Guide {
  const path = posix.join(posix.dirname(INDEX_PATH), target);
  return { slug: slugOf(path), title, about, path };
}

/** `data/docs/money.md` is "money"; the README of a folder is named after the folder. */
function slugOf(path: string): string {
  const name = posix.basename(path, '.md');
  return (name === 'README' ? posix.basename(posix.dirname(path)) : name).toLowerCase();
}

/** Joins the continuation lines of an entry to its first line. */
function unwrapped(text: string): string[] {
  return text.replaceAll(/\n {2}(?=\S)/g, ' ').split('\n');
}
