/**
 * The rules as pages. Their list, shared/RULES.md, names the chapters and the place of each rule in them; this module
 * reads only the list.
 */
import { posix } from 'node:path';
import type { Guide } from './docsContents.ts';

export const RULES_PATH = 'shared/RULES.md';
export const CITATIONS_PATH = 'shared/rules/CITATIONS.md';
export const RULES_PAGE = '/docs/rules';

type Rules = {
  /** The chapters in order, and the page that lists the files citing each rule. */
  readonly chapters: readonly Guide[];
  /** The address of a rule by its number. */
  readonly places: ReadonlyMap<string, string>;
};

const CHAPTER = /^## (?<title>.+)\n\n- \[\d+\.\d+\]\((?<target>[^#)]+)#/gm;
const RULE = /^- \[(?<number>\d+\.\d+)\]\((?<target>[^#)]+)#(?<anchor>[^)]+)\)/gm;
const CITATIONS = { title: 'Where the rules are carried out and tested', target: 'rules/CITATIONS.md' };

/** @param index the text of shared/RULES.md */
export function rulesOf(index: string): Rules {
  const chapters = [...index.matchAll(CHAPTER)].map(({ groups }) => ({
    title: groups!.title!,
    target: groups!.target!,
  }));
  const places = [...index.matchAll(RULE)].map(({ groups }) => {
    const { number, target, anchor } = groups!;
    return [number!, `/docs/${slugOf(target!)}#${anchor}`] as const;
  });
  const guides = [...chapters, CITATIONS].map(({ title, target }) => {
    return { slug: slugOf(target), title, about: '', path: posix.join(posix.dirname(RULES_PATH), target) };
  });
  return { chapters: guides, places: new Map(places) };
}

/** `rules/17-chain.md` is "rules-17-chain". */
function slugOf(target: string): string {
  return target.replace(/\.md$/, '').replaceAll('/', '-').toLowerCase();
}
